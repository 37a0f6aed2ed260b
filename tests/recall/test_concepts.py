"""Other words for the same thing, in six languages; and the file of them is what the lists make."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.recall.concepts import (
    FILE,
    concepts_in,
    meanings_by_dictionary,
    meanings_by_halving,
    terms_with_concepts,
)
from memoryd.recall.rank import COMMON_FILE, FEATURES, MODEL_FILE, probability
from memoryd.recall.terms import terms_of
from training.common import common_terms
from training.words import made

TEXTS = st.text(max_size=100) | st.lists(
    st.sampled_from(
        ["roll", "out", "deploy", "rolled", "十一月", "一月", "发布", "unit", "tests", "ausliefern", "the"]
    ),
    max_size=8,
).map(" ".join)


def test_the_file_is_what_the_lists_make() -> None:
    """Whoever edits training/concepts runs `make train`."""
    assert Path(FILE).read_text(encoding="utf-8") == made()


def test_the_words_that_prompts_are_full_of_are_those_of_the_sessions() -> None:
    """Those of the labelled sessions, and by the terms and concepts of now."""
    assert Path(COMMON_FILE).read_text(encoding="utf-8") == common_terms()


def test_both_ways_to_look_a_phrase_up_find_the_same() -> None:
    """Every phrase of the file, and what stands beside it."""
    phrases = [line.split("\t")[0] for line in Path(FILE).read_text(encoding="utf-8").splitlines()]
    beside = (f"{phrase}s" for phrase in phrases[::10])
    shorter = (phrase[:-1] for phrase in phrases[::10])
    for phrase in ("", "\uffff", *phrases, *beside, *shorter):
        assert meanings_by_halving(phrase) == meanings_by_dictionary(phrase), phrase


def test_what_is_left_of_a_common_word_is_something() -> None:
    """Else a prompt of nothing but such words would have no best memory to be compared with."""
    shares = [float(line.split("\t")[1]) for line in Path(COMMON_FILE).read_text(encoding="utf-8").splitlines()]
    assert all(0 < share <= 1 for share in shares)


def test_the_model_has_a_weight_for_every_feature() -> None:
    assert MODEL_FILE.endswith("model.json")
    assert 0 < probability([0.0] * len(FEATURES)) < 0.01


def test_both_files_are_made_without_scikit_learn() -> None:
    """Who tests need not train."""
    code = "import sys, training.common, training.words; print({'numpy', 'scipy', 'sklearn'} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("unit test", "Komponententest"),
        ("unit tests", "单元测试"),
        ("flaky", "たまに失敗"),
        ("customer", "Kunden"),
        ("boss", "上司"),
        ("kubectl", "kubernetes"),
        ("deployed", "roll out"),
        ("tests unitaires", "pruebas unitarias"),
    ],
)
def test_other_words_for_it_are_one_concept(one: str, other: str) -> None:
    assert set(concepts_in(one)) & set(concepts_in(other))


@pytest.mark.parametrize("text", ["", "the and of", "xyzzy", "unit", "月", "\ud800"])
def test_what_names_no_concept(text: str) -> None:
    assert concepts_in(text) == []


def test_a_part_of_a_longer_phrase_names_nothing_by_itself() -> None:
    """November is no January."""
    assert concepts_in("十一月")
    assert not set(concepts_in("十一月")) & set(concepts_in("一月"))


def test_a_phrase_is_named_by_all_of_its_words_and_also_by_other_forms() -> None:
    (number,) = set(concepts_in("unit test"))
    assert terms_with_concepts("our unit tests, please") == {"unit": {number}, "test": {number}}


def test_a_concept_counts_as_often_as_it_is_named() -> None:
    assert concepts_in("deploy, deployed, deploys") == 3 * concepts_in("deploy")


@given(TEXTS)
def test_no_text_fails_and_a_word_has_only_concepts_of_its_text(text: str) -> None:
    all_of_them = set(concepts_in(text))
    found = terms_with_concepts(text)
    assert found.keys() == terms_of(text).keys()
    assert set().union(*found.values()) <= all_of_them
