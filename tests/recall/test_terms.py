"""Text into search terms: the same word ends up as the same term, and no text makes it fail."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.language.stems import stem
from memoryd.language.tokens import MOST_CHARACTERS, is_stop, is_unspaced, pairs_of, split, token_count
from memoryd.recall.concepts import terms_with_concepts
from memoryd.recall.terms import CONCEPT, PIECE, pieces_of, terms_of

TEXTS = st.text(max_size=200) | st.lists(
    st.sampled_from(
        ["release", "Releases", "getUserName", "the", "und", "发布时间", "リリース", "x", "K8sクラスタ", "no"]
    ),
    max_size=9,
).map(" ".join)


@pytest.mark.parametrize(
    "forms",
    [
        ("release", "releases", "released", "releasing"),
        ("deploy", "deploys", "deployed", "deploying"),
        ("policy", "policies"),
        ("stop", "stops", "stopped", "stopping"),
        ("class", "classes"),
        ("pass", "passes", "passed", "passing"),
        ("install", "installs", "installed", "installing"),
        ("merge", "merges", "merged", "merging"),
        ("quick", "quickly"),
    ],
)
def test_forms_of_a_word_are_one_term(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize("word", ["is", "bus", "css", "k8s", "3des", "größes", "обновлений", "ring", "bed"])
def test_what_is_short_has_digits_or_is_no_english_stays(word: str) -> None:
    assert stem(word) == word


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("getUserName", ["get", "user", "name"]),
        ("user_name-v2/main.py", ["user", "name", "v2", "main", "py"]),
        ("\uff26\uff35\uff2c\uff2c width", ["full", "width"]),
        ("ﬁle Straße", ["file", "straße"]),
        ("k8sクラスタを再起動", ["k8s", "クラスタを再起動"]),
        ("发布v2版本", ["发布", "v2", "版本"]),
        ("cafe\u0301", ["café"]),
        ("a\x00b \ud800 c", ["a", "b", "c"]),
        ("🙂 -- ___ …", []),
        ("", []),
    ],
)
def test_split(text: str, words: list[str]) -> None:
    assert split(text) == words


def test_words_that_tell_nothing_are_no_terms() -> None:
    found = terms_of("please do it for us, und bitte pour moi, por favor")
    assert found == {"favor": 1}
    assert all(map(is_stop, ("the", "und", "pour", "por")))


def test_a_term_is_counted_as_often_as_it_stands_there() -> None:
    assert terms_of("release, Released: RELEASES; branch") == {"releas": 3, "branch": 1}


def test_a_run_without_spaces_is_searched_by_its_pairs() -> None:
    assert terms_of("发布时间") == {"发布": 1, "布时": 1, "时间": 1}
    assert pairs_of("发") == ["发"]


def test_words_of_one_stem_or_with_a_typo_share_most_of_their_pieces() -> None:
    for one, other in (("rechnungsnummer", "rechnungsnummern"), ("integration", "integartion")):
        ours, theirs = set(pieces_of(one)), set(pieces_of(other))
        assert len(ours & theirs) >= len(ours) / 2
    assert not set(pieces_of("parser")) & set(pieces_of("branch"))
    assert pieces_of(f"{CONCEPT}17") == pieces_of("发布") == ()


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("?!", 0),
        ("release", 1),
        ("release it", 2),
        ("发", 1),
        ("发布", 1),
        ("为什么", 1),
        ("发布时间", 2),
        ("发布时间是什么", 3),
        ("fix 发", 2),
        ("リリース", 2),
    ],
)
def test_a_prompt_is_counted_in_words_and_four_characters_without_spaces_are_two(text: str, count: int) -> None:
    assert token_count(text) == count


@given(TEXTS)
def test_no_text_fails_and_every_word_is_in_its_plainest_form(text: str) -> None:
    for word in split(text):
        assert word
        assert is_unspaced(word) or not any(map(is_unspaced, word))
    found = terms_of(text)
    assert all(times > 0 and term and not term.isspace() for term, times in found.items())
    assert all(len(piece) <= len(PIECE) + 4 for term in found for piece in pieces_of(term))


@given(TEXTS)
def test_both_ways_to_the_words_of_a_text_agree(text: str) -> None:
    """A memory is searched by the one, a prompt asks by the other."""
    assert terms_with_concepts(text).keys() == terms_of(text).keys()


@given(TEXTS, TEXTS)
def test_terms_of_two_texts_are_those_of_both(one: str, other: str) -> None:
    assert terms_of(f"{one}\n{other}") == terms_of(one) + terms_of(other)


def test_what_stands_too_far_behind_is_not_searched() -> None:
    assert terms_of(f"{'x ' * (MOST_CHARACTERS // 2)}needle").keys() == {"x"}
