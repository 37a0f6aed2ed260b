"""Whether a session did something with a memory: named it, or said the same words in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memory.quick_parse import QuickParse
from memoryd.recall.use import is_quoted, odds_factor

RELEASE = QuickParse(
    "a", "Releases are cut from the branch stable", "project", (), "Never from main, customers get stable."
)
BACKUP = QuickParse("b", "", "project", (), "生产数据库每晚三点备份到法兰克福。")


@pytest.mark.parametrize(
    ("memory", "reply", "expected"),
    [
        (RELEASE, "As `project_release.md` says, use stable.", True),
        (RELEASE, "I know that releases are cut from the branch called so.", True),
        (RELEASE, "Releases are, CUT **from** the -- branch", True),
        (RELEASE, "Never from main; customers get what they ordered.", True),
        (RELEASE, "I cut a release from stable.", False),
        (RELEASE, "Releases are cut from", False),
        (RELEASE, "the branch stable Never from", False),
        (RELEASE, "", False),
        (BACKUP, "好的、生产数据库每晚三点运行。", True),
        (BACKUP, "数据库已经备份。", False),
        (QuickParse("", "", None, (), ""), "anything at all, as long as you like", False),
    ],
)
def test_quoted(memory: QuickParse, reply: str, expected: bool) -> None:
    assert is_quoted("project_release.md", memory, [reply]) is expected
    assert is_quoted("project_release.md", memory, ["Something else.", reply]) is expected


def test_without_a_reply_nothing_is() -> None:
    assert not is_quoted("a.md", RELEASE, [])


WORDS = st.lists(st.sampled_from("cut release from the branch stable never main today".split()), max_size=8)  # noqa: SIM905


@given(WORDS, WORDS, WORDS)
def test_five_words_in_a_row_are_a_quotation_wherever_they_stand(
    before: list[str], after: list[str], body: list[str]
) -> None:
    memory = QuickParse("", "", None, (), " ".join([*body, "alpha beta gamma delta epsilon", *body]))
    said = " ".join([*before, "alpha beta gamma delta epsilon", *after])
    assert is_quoted("none.md", memory, [said])
    assert not is_quoted("none.md", memory, [said.replace("gamma", "other")]) or len(body) >= 1


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_past_use_moves_a_memory_within_narrow_limits(sessions: int, used: int) -> None:
    factor = odds_factor(sessions, used)
    assert 0.7 <= factor <= 1.3
    assert (factor > 1) == (used > 0)
    assert (factor < 1) == (used == 0 and sessions >= 5)
    assert odds_factor(sessions + 1, used) <= factor <= odds_factor(sessions, used + 1)
