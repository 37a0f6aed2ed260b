"""What is committed and what goes into the inbox, by verdict and by what the config wants."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from memoryd.config.parse import REVIEWS
from memoryd.model import FileChange, Group, Verdict
from memoryd.review.verdict import sorted_by_verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

VERDICTS = (
    Verdict("accepted"),
    Verdict("held", "a doubt"),
    Verdict("repairable", "a fault"),
    Verdict("refused", "a rule"),
)
GROUPS = tuple(Group((FileChange(f"{verdict.state}.md", None, b""),), "") for verdict in VERDICTS)
ASKED = 'Nothing is written unasked: review = "all".'


@pytest.mark.parametrize(
    ("mode", "committed", "held"),
    [
        ("doubts", [0], [(1, "held", "a doubt"), (2, "held", "a fault"), (3, "refused", "a rule")]),
        ("all", [], [(0, "held", ASKED), (1, "held", "a doubt"), (2, "held", "a fault"), (3, "refused", "a rule")]),
        ("off", [0], [(1, "dropped", "a doubt"), (2, "dropped", "a fault"), (3, "refused", "a rule")]),
    ],
)
def test_each_verdict_leads_somewhere(
    mode: str, committed: Sequence[int], held: Sequence[tuple[int, str, str]]
) -> None:
    to_commit, kept = sorted_by_verdict(GROUPS, VERDICTS, mode)
    assert to_commit == tuple(GROUPS[number] for number in committed)
    assert kept == tuple((GROUPS[number], state, reason) for number, state, reason in held)


@pytest.mark.parametrize("mode", REVIEWS)
def test_every_mode_of_the_config_is_known(mode: str) -> None:
    to_commit, kept = sorted_by_verdict(GROUPS, VERDICTS, mode)
    assert len(to_commit) + len(kept) == len(GROUPS)


def test_a_verdict_for_each_group() -> None:
    with pytest.raises(ValueError, match="shorter"):
        sorted_by_verdict(GROUPS, VERDICTS[:2], "doubts")
