"""Words change a memory only where they are meant, meant of this very thing, and of all of it."""

from __future__ import annotations

import pytest

from memoryd.engines import selfcheck
from memoryd.engines.certainty import is_meant, is_taken_back
from memoryd.engines.evidence import evidence_of
from memoryd.engines.offline.dream import consolidate
from memoryd.model import Said, Shelved

NOW = 1_794_900_000.0
WRITTEN = NOW - 900_000


def told_after(memory: str, *said: str) -> str:
    """What a memory says after a dream on these words, said one after the other in one session."""
    description = memory.split(". ", maxsplit=1)[0].rstrip(".")
    shelf = [Shelved("a.md", "project", description, f"\n{memory}\n", written_at=WRITTEN, as_of=WRITTEN)]
    messages = [Said("s", f"m{at}", NOW - 5000 + 60 * at, text) for at, text in enumerate(said)]
    for revision in consolidate(shelf, "", messages, (), NOW):
        if not revision.files or selfcheck.is_refused(selfcheck.fates_of(revision, shelf, NOW)):
            continue
        if revision.evidence and is_taken_back(revision.evidence[-1], messages):
            continue
        return revision.body.strip()
    return memory


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ("The post room sorts on Thursdays.", "The print room sorts on Tuesdays now."),
        ("The quota is 50 for a person.", "The quota of the Norlund API is 80 for a person now."),
        ("The feeder line has 8 rollers. The stacker line has 8 rollers.", "The feeder line has 16 rollers now."),
        ("Parcels cost 4.90 EUR. Insured parcels cost 4.90 EUR.", "Parcels cost 5.90 EUR now."),
        ("Loans last 30 days. Maps are lent for a day.", "Loans last 14 days now for films."),
        ("The largest scan is 20 MB.", "The largest scan is 50 MB now on the upper floor."),
        ("A scan has 20 MB for guests and 100 MB for members.", "A scan has 200 MB now for members."),
        ("The quota is 50 for a person.", "The quota is 80 for a person now, but only on the spare server."),
        ("The bridge takes 100 cars a minute.", "The bridge takes 6000 cars an hour now."),
        ("The post room sorts on Thursdays.", "I wish the post room sorted on Tuesdays now"),
        ("The post room sorts on Thursdays.", "The post room sorts on Tuesdays now, doesn't it"),
        ("The post room sorts on Thursdays.", "Pretend the post room sorts on Tuesdays now. What breaks?"),
        ("The quota is 50 for a person.", "Change the test so that the quota is 80 for a person now."),
        ("The quota is 50 for a person.", "Someone on a forum: the quota is 80 for a person now. Nonsense."),
        ("The quota is 50 for a person.", "We set the quota to 80 for a person now but rolled it back at once."),
    ],
)
def test_what_was_said_of_another_thing_of_a_part_or_not_in_earnest_leaves_the_old_value(
    memory: str, said: str
) -> None:
    assert told_after(memory, said).startswith(memory)


@pytest.mark.parametrize(
    "later", ["revert that, it's back to 50", "oops no, it is still 50", "I was wrong, that was the other server"]
)
def test_what_is_taken_back_later_changes_nothing(later: str) -> None:
    memory = "The quota is 50 for a person."
    assert told_after(memory, "The quota is 80 for a person now.", later) == memory


@pytest.mark.parametrize(
    ("memory", "said", "after"),
    [
        ("The quota is 50 for a person.", "The quota is 80 for a person now.", "The quota is 80 for a person."),
        (
            "The post room sorts on Thursdays.",
            "The post room sorts on Tuesdays now.",
            "The post room sorts on Tuesdays.",
        ),
        ("Backups run on Sunday.", "backups run on Saturday now.", "Backups run on Saturday."),
    ],
)
def test_plain_words_about_it_change_it(memory: str, said: str, after: str) -> None:
    assert told_after(memory, said) == after


def test_who_says_it_and_how_tells_whether_it_is_meant() -> None:
    assert is_meant("we ship on Tuesdays now")
    assert is_meant("you may add test-only dependencies without asking")
    for text in ("suppose we ship on Tuesdays", "the docs say: ship on Tuesdays", "we ship on Tuesdays, isn't it"):
        assert not is_meant(text), text


def test_words_are_taken_back_by_later_ones_only() -> None:
    said = Said("s", "m", NOW, "we ship on Tuesdays now")
    evidence = evidence_of(said, said.text)
    assert is_taken_back(evidence, [said, Said("s", "n", NOW + 1, "scratch that")])
    assert not is_taken_back(evidence, [Said("s", "l", NOW - 1, "scratch that"), said])
    assert not is_taken_back(evidence, [said, Said("t", "n", NOW + 1, "scratch that")]), "of another session"


@pytest.mark.parametrize(
    "memory",
    [
        "Do not move the archive until 2026-09-01 or until the audit is finished.",
        "The firm was founded in 1998, its lease ran until 2025-12-31.",
        "Copies older than 30 days are deleted tomorrow at 5.",
    ],
)
def test_what_says_more_than_its_end_is_not_archived(memory: str) -> None:
    assert told_after(memory) == memory
