"""Which memory a prompt means: found by its words, their forms and pieces, and by concept; and silence where none is."""

from __future__ import annotations

import os
import random
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memoryd.recall.choose import is_worth_asking
from memoryd.recall.index import up_to_date_index
from memoryd.recall.rank import CANDIDATES, FEATURES, candidates, query_of
from memoryd.recall.store import open_store
from tests.recall.memories import FIVE, FREEZE, NOW, RELEASE, ROLE, TESTS, TRACKER, Library, topic

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths

INVOICES, BACKUP, REVIEW = "project_invoices.md", "project_backup.md", "feedback_review.md"
FOREIGN = {
    INVOICES: ("Rechnungsnummern sind fortlaufend", "Lücken in den Rechnungsnummern fallen der Prüfung auf."),
    BACKUP: ("生产数据库每晚三点备份", "备份保存在法兰克福的存储桶里、保留三十天。"),
    REVIEW: ("コードレビューは四百行まで", "レビューは一回につき四百行以下にしてください。"),
}


@pytest.fixture
def library(paths: Paths, tmp_path: Path) -> Library:
    library = Library(paths, tmp_path / "memory")
    library.write(FIVE)
    return library


@pytest.fixture
def languages(library: Library) -> Library:
    library.write(FOREIGN)
    return library


# --- what is found ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("which branch do we release from?", RELEASE),
        ("may I mock the database in integration tests?", TESTS),
        ("where are pipeline bugs tracked?", TRACKER),
        ("is there a merge freeze for the mobile launch", FREEZE),
        ("does the user know statistics and python?", ROLE),
    ],
)
def test_its_own_words_find_a_memory_and_no_other(library: Library, prompt: str, name: str) -> None:
    assert library.sure(prompt) == [name]


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("releasing from which branches?", RELEASE),
        ("merging was frozen before launching mobile", FREEZE),
        ("integartion tests with mocks", TESTS),
        ("a pipelin bug to track", TRACKER),
        ("Datenbankmigration mit Integrationstest", TESTS),
        ("在集成测试里可以 mock 数据库吗", TESTS),
        ("应该从哪个分支发布版本", RELEASE),
        ("どのブランチからリリースしますか", RELEASE),
        ("数据库备份什么时候运行", BACKUP),
        ("when does the production database backup run?", BACKUP),
        ("レビューの行数の上限は", REVIEW),
    ],
    ids=[
        *("form", "forms", "typo", "short-by-one", "compound", "zh-of-en", "zh-of-en-2", "ja-of-en"),
        *("zh", "en-of-zh", "ja"),
    ],
)
def test_other_forms_typos_compounds_and_languages_find_it_surely(languages: Library, prompt: str, name: str) -> None:
    assert languages.sure(prompt)[0] == name


@pytest.mark.parametrize(
    "prompt", ["wie wird die Rechnungsnummer vergeben?", "Rechnungsnumern prüfen", "eine neue Rechnung mit Nummer"]
)
def test_pieces_of_words_rank_what_no_whole_word_finds(languages: Library, prompt: str) -> None:
    assert languages.ranked(prompt)[0] == INVOICES


def test_exact_words_beat_pieces_and_concepts(paths: Paths, tmp_path: Path) -> None:
    library = Library(paths, tmp_path / "memory")
    library.write(
        {
            "concept.md": ("The rollout waits for the night", "Nobody ships during the day."),
            "pieces.md": ("The deployable redeployment", "It is undeployable."),
            "exact.md": ("The deploy waits for the window", "Nobody does that during the day."),
        }
    )
    first, *rest = library.candidates("when does the deploy happen in the window")
    assert first.memory.name == "exact.md"
    assert all(one.probability < first.probability for one in rest)


def test_the_keys_of_a_memory_find_it(paths: Paths, tmp_path: Path) -> None:
    library = Library(paths, tmp_path / "memory")
    library.write(FIVE)
    (library.place / "keyed.md").write_bytes(
        topic("Thursdays at nine", "", keys=["Wartungsfenster", "when may I ship"])
    )
    assert library.ranked("wann ist das Wartungsfenster")[0] == "keyed.md"


@pytest.mark.parametrize("number", [1, 2, 5])
def test_few_memories_are_found_too(paths: Paths, tmp_path: Path, number: int) -> None:
    """With two memories nothing was ever found: a word that one of two has counted as common."""
    library = Library(paths, tmp_path / "memory")
    library.write(dict(list(FIVE.items())[:number]))
    assert library.sure("which branch do we release from?") == [RELEASE]
    assert library.sure("where does the moon rise tonight?") == []


def test_a_word_that_both_of_two_memories_have_finds_both(paths: Paths, tmp_path: Path) -> None:
    library = Library(paths, tmp_path / "memory")
    library.write(
        {
            "one.md": ("The importer reads invoices of suppliers", ""),
            "two.md": ("The importer writes invoices of customers", ""),
        }
    )
    assert sorted(library.sure("how does the importer treat invoices?")) == ["one.md", "two.md"]


def test_one_of_hundreds_is_found(paths: Paths, tmp_path: Path) -> None:
    library = Library(paths, tmp_path / "memory")
    chance = random.Random(7)
    words = "parser cache schema login mobile search report export editor chart queue mailer theme plugin".split()  # noqa: SIM905
    library.write({f"m{number}.md": (" ".join(chance.sample(words, 4)), "") for number in range(300)})
    library.write(FIVE)
    assert library.sure("which branch do we release from?") == [RELEASE]
    assert len(library.ranked("the parser of the mobile search report")) == CANDIDATES


# --- silence ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "prompt",
    [
        "thanks, that is all",
        "hello there, how are you?",
        "ok go on",
        "looks good to me, continue",
        "yes please do that",
        "danke, das war alles",
        "merci beaucoup, c'est parfait",
        "好的、谢谢你、继续吧",
        "ありがとう、続けて",
        "why is the sky blue?",
        "write a haiku about the sea",
        "?!",
        "🙂🙂🙂",
        "\x00\ud800 \u202e",
    ],
)
def test_small_talk_and_what_nobody_told_finds_nothing(languages: Library, prompt: str) -> None:
    assert languages.sure(prompt) == []


@pytest.mark.parametrize("prompt", ["release", " Release! ", "", "...", "分支", "为什么"])
def test_a_single_word_is_not_asked_about(prompt: str) -> None:
    assert not is_worth_asking(prompt)


@pytest.mark.parametrize("prompt", ["release it", "发布时间", "リリース"])
def test_two_words_are(prompt: str) -> None:
    assert is_worth_asking(prompt)


# --- as the files are now ---------------------------------------------------------------------------------------------


def test_a_memory_that_was_edited_in_its_place_is_found_by_its_new_words_only(library: Library) -> None:
    assert library.sure("which branch do we release from?") == [RELEASE]
    library.write({RELEASE: ("Lunch orders go through the canteen form", "Before eleven.")})
    assert library.sure("which branch do we release from?") == []
    assert library.sure("how do lunch orders go through the canteen?") == [RELEASE]


def test_a_memory_that_has_gone_never_comes_back(library: Library) -> None:
    """What is left of its terms is nobody's, also when another takes its name or is learnt after it."""
    assert library.ranked("which branch do we release from?")[0] == RELEASE
    os.remove(library.place / RELEASE)
    assert RELEASE not in library.ranked("which branch do we release from?")
    library.write({RELEASE: ("Lunch orders go through the canteen form", ""), "new.md": ("Coffee is on floor two", "")})
    assert library.sure("which branch do we release from?") == []
    library.write(FIVE)
    assert library.sure("which branch do we release from?") == [RELEASE]


def test_many_dead_ones_do_not_hide_a_living_one(paths: Paths, tmp_path: Path) -> None:
    """A dream that merges sixty memories into one leaves sixty better matches behind, of which none is there."""
    library = Library(paths, tmp_path / "memory")
    library.write({f"other{number}.md": (f"Nothing of note, number {number}", "") for number in range(600)})
    library.write({f"m{number}.md": ("Release branch stable", "release branch") for number in range(60)})
    library.write({"living.md": ("Customers get the branch stable in a release", "Some more words beside it.")})
    assert library.ranked("the release branch stable")[0] != "living.md"
    for number in range(60):
        os.remove(library.place / f"m{number}.md")
    assert library.sure("the release branch stable") == ["living.md"]


# --- prompts of any shape ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", [0, 700, 3000, 40_000])
def test_what_is_pasted_between_does_not_hide_the_question(library: Library, before: int) -> None:
    pasted = " ".join(f"at frame{number} in module{number}" for number in range(before // 25))
    assert library.ranked(f"{pasted}\nwhich branch do we release from?")[0] == RELEASE
    assert library.ranked(f"which branch do we release from?\n{pasted}")[0] == RELEASE


def test_a_long_prompt_is_asked_by_its_beginning_and_its_end() -> None:
    prompt = f"alpha {'x' * 1600} middle {'y' * 1600} omega"
    words = query_of(prompt).words.keys()
    assert {"alpha", "omega"} <= words
    assert "middl" not in words
    assert "middl" in query_of(f"alpha {'x' * 1400} middle {'y' * 1400} omega").words


def test_ties_go_to_the_newer_memory_and_then_by_name(paths: Paths, tmp_path: Path) -> None:
    """Whatever order the system lists the files in, and whenever their terms were taken."""
    library = Library(paths, tmp_path / "memory")
    names = [f"{letter}.md" for letter in "qdkzbymaxe"]
    for age, name in enumerate(names):
        library.write({name: ("Release branch stable", "")})
        os.utime(library.place / name, ns=(0, 10**18 - age // 2))
    expected = sorted(names, key=lambda name: (names.index(name) // 2, [-ord(letter) for letter in name]))
    assert library.ranked("the release branch stable") == expected
    os.remove(paths.recall_file)
    assert library.ranked("the release branch stable") == expected


WORDS = st.sampled_from(
    ["release", "branch", "tests", "database", "发布", "the", "Rechnungsnummern", "zz", "user", "レビュー"]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(max_size=60))
def test_for_any_prompt_they_are_in_order_and_each_is_there_once(languages: Library, prompt: str) -> None:
    with closing(open_store(languages.paths)) as store:
        directory = up_to_date_index(store, str(languages.place), NOW)
        assert directory is not None
        found = candidates(store, directory, query_of(prompt))
        assert found == candidates(store, directory, query_of(prompt))
    assert [one.probability for one in found] == sorted((one.probability for one in found), reverse=True)
    assert len({one.memory.name for one in found}) == len(found) <= CANDIDATES
    assert all(0 <= one.probability <= 1 and len(one.values) == len(FEATURES) for one in found)
