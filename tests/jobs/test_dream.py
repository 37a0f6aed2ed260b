"""A dream changes what it may, all of it or nothing, and leaves the lock as its outcome says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Dream
from memoryd.engines.evidence import quoted
from memoryd.errors import BusyError
from memoryd.jobs.dream_gates import due
from memoryd.jobs.interruption import LONGEST_SECONDS, OverdueError
from memoryd.memory.commit import commit, reindex
from memoryd.memory.directory import open_directory
from memoryd.memory.history import undoing
from memoryd.model import Changeset, Evidence, FileChange, Group, Revision
from memoryd.state import dreams, history
from tests.jobs.bedroom import DAY, NOW, Engine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Exchange, Progress
    from tests.jobs.bedroom import Bedroom

PORT = "The gateway listens on port 8080."
PROXY = "Timeouts of the proxy are 30 seconds."
MERGED = Revision(
    "merged",
    "Merging two gateway notes",
    ("project_gateway.md", "project_proxy.md"),
    "project",
    "",
    PORT,
    f"{PORT} {PROXY}",
)
ARCHIVED = Revision("expired", "Archiving the freeze", ("project_freeze.md",))


def furnish(bedroom: Bedroom) -> None:
    bedroom.remember("project_gateway.md", PORT)
    bedroom.remember("project_proxy.md", PROXY)
    bedroom.remember("project_freeze.md", "No merges from 2020-03-09 to 2020-03-27.")
    bedroom.lock(NOW - 2 * DAY)
    bedroom.dream(Engine(lambda _: []))  # which makes the index
    bedroom.lock(NOW - 2 * DAY)


def engine(*revisions: Revision) -> Engine:
    return Engine(lambda _: revisions)


def test_without_a_signal_not_a_byte_changes(bedroom: Bedroom) -> None:
    furnish(bedroom)
    before = bedroom.state()
    bedroom.say("what does a mutex do?")
    dreamt = bedroom.dream(engine())
    assert (dreamt.outcome, dreamt.revised, dreamt.change_id) == ("succeeded_no_output", (), None)
    assert bedroom.state() == before
    assert bedroom.lock_state() == (b"", bedroom.clock.at)
    assert bedroom.turns() == ["succeeded_no_output"]


def test_a_merge_changes_both_files_and_the_index_and_can_be_undone(bedroom: Bedroom) -> None:
    furnish(bedroom)
    before = bedroom.state()
    dreamt = bedroom.dream(engine(MERGED, ARCHIVED))
    assert dreamt.outcome == "succeeded"
    assert [one[0] for one in dreamt.revised] == ["merged", "expired"]
    assert sorted(bedroom.state()) == ["MEMORY.md", "project_gateway.md"]
    text = bedroom.state()["project_gateway.md"][0].decode()
    assert PORT in text
    assert PROXY in text
    assert "mergedFrom: project_proxy.md" in text
    assert b"project_proxy.md" not in bedroom.state()["MEMORY.md"][0]
    assert bedroom.undo()
    assert bedroom.state() == before


def test_what_was_undone_is_not_done_again(bedroom: Bedroom) -> None:
    furnish(bedroom)
    bedroom.dream(engine(MERGED, ARCHIVED))
    bedroom.undo()
    before = bedroom.state()
    assert bedroom.dream(engine(MERGED, ARCHIVED)).outcome == "succeeded_no_output"
    assert bedroom.state() == before
    bedroom.remember("project_proxy.md", PROXY + " They are set in proxy.toml.")  # another thing by now
    again = MERGED._replace(body=MERGED.body + " They are set in proxy.toml.")
    assert bedroom.dream(engine(again)).outcome == "succeeded"


TIMEOUTS = "the timeouts of the proxy are 30 seconds from now on"


def learn_timeouts(bedroom: Bedroom) -> None:
    bedroom.remember("project_gateway.md", PORT)
    bedroom.lock(NOW - 2 * DAY)
    bedroom.say(TIMEOUTS)

    def learn(exchanges: Sequence[Exchange]) -> list[Revision]:
        evidence = quoted(TIMEOUTS, [exchange.said for exchange in exchanges])
        assert evidence is not None
        body = "The timeouts of the proxy are 30 seconds."
        return [Revision("learnt", "Noting timeouts", (), "project", "proxy", body, body, (evidence,))]

    assert bedroom.dream(Engine(learn)).outcome == "succeeded"


def test_a_merge_inherits_the_evidence_of_its_sources_and_undo_gives_it_back(bedroom: Bedroom) -> None:
    learn_timeouts(bedroom)
    assert bedroom.turns() == ["succeeded"]
    (piece,) = history.evidence_of(bedroom.database, str(bedroom.memory), "project_proxy.md")
    merged = MERGED._replace(body=f"{PORT} The timeouts of the proxy are 30 seconds.")
    assert bedroom.dream(engine(merged)).revised
    assert history.evidence_of(bedroom.database, str(bedroom.memory), "project_gateway.md") == [piece]
    bedroom.undo()
    assert history.evidence_of(bedroom.database, str(bedroom.memory), "project_proxy.md") == [piece]


def test_a_revision_that_loses_something_is_left_out_and_the_others_are_made(bedroom: Bedroom) -> None:
    furnish(bedroom)
    lossy = Revision("updated", "Tidying", ("project_proxy.md",), "project", "", "The proxy", "There is a proxy.")
    dreamt = bedroom.dream(engine(lossy, ARCHIVED))
    assert [one[0] for one in dreamt.revised] == ["expired"]
    assert {one.fate for one in dreamt.refused} >= {"lost"}
    assert PROXY.encode() in bedroom.state()["project_proxy.md"][0]
    assert dreamt.job_id is not None
    noted = dreams.fates_of(bedroom.database, dreamt.job_id)
    assert {one.fate for one in noted} >= {"lost", "expired"}


def test_an_engine_that_loses_much_is_refused_as_a_whole(bedroom: Bedroom) -> None:
    furnish(bedroom)
    for number in range(4):
        bedroom.remember(f"project_{number}.md", f"Server {number} has {number} disks.")
    bedroom.dream(engine())  # makes the index
    bedroom.lock(NOW - 2 * DAY)
    before = bedroom.state()
    emptied = [Revision("merged", "Tidying", (f"project_{number}.md",)) for number in range(4)]
    dreamt = bedroom.dream(engine(ARCHIVED, *emptied))
    assert dreamt.outcome == "refused(no fact lost)"
    assert len(dreamt.refused) >= 4
    assert bedroom.state() == before
    assert bedroom.lock_state() == (b"", NOW - 2 * DAY)
    assert dreams.remembered(bedroom.database, str(bedroom.memory)).failures == 1


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("pinned.md", "---\nname: p\ndescription: d\ntype: project\nmetadata: {pinned: true}\n---\nStay.\n"),
        ("notes.md", "just my notes\n"),
        ("broken.md", "---\nname: [\n---\nBroken.\n"),
    ],
)
def test_pinned_and_foreign_files_stay_whatever_the_engine_wants(bedroom: Bedroom, name: str, text: str) -> None:
    furnish(bedroom)
    bedroom.put(name, text)
    wants = Revision("updated", "Taking over", (name,), "project", "", "d", "Stay.\njust my notes\nBroken.\n")
    dreamt = bedroom.dream(engine(wants))
    assert bedroom.state()[name][0] == text.encode()
    assert dreamt.revised == ()
    merged = MERGED._replace(files=("project_gateway.md", name), body=PORT)
    dreamt = bedroom.dream(engine(merged))
    assert bedroom.state()[name][0] == text.encode()
    assert dreamt.revised == ()
    assert dreamt.refused


@pytest.mark.parametrize(
    "body",
    [
        "The key of the gateway is sk-ant-api03-" + "q8" * 30 + ".",
        "x" * 70_000,
    ],
)
def test_a_guard_refuses_what_no_memory_may_hold(bedroom: Bedroom, body: str) -> None:
    furnish(bedroom)
    before = bedroom.state()
    evidence = Evidence("s", "m", body, "h", NOW)
    wants = Revision("learnt", "Noting it", (), "project", "key", "The key", body, (evidence,))
    dreamt = bedroom.dream(engine(wants))
    assert dreamt.outcome.startswith("refused") or dreamt.refused
    assert bedroom.state() == before


def test_a_new_memory_needs_words_of_the_user(bedroom: Bedroom) -> None:
    furnish(bedroom)
    before = bedroom.state()
    wants = Revision("learnt", "Inventing", (), "project", "made-up", "The moon is a server", "The moon is a server.")
    assert bedroom.dream(engine(wants)).revised == ()
    assert bedroom.state() == before


def test_a_request_to_stop_ends_it_and_the_lock_is_as_before(bedroom: Bedroom) -> None:
    furnish(bedroom)
    before = bedroom.state()

    def stop(_: Progress) -> None:
        for job in dreams.unfinished(bedroom.database):
            dreams.request_stop(bedroom.database, job.id)

    dreamt = bedroom.dream(engine(MERGED), stop)
    assert dreamt.outcome == "killed"
    assert bedroom.state() == before
    assert bedroom.lock_state() == (b"", NOW - 2 * DAY)
    assert dreams.remembered(bedroom.database, str(bedroom.memory)).failures == 0


def test_a_dream_that_takes_too_long_ends_itself(bedroom: Bedroom) -> None:
    furnish(bedroom)

    def dawdle(_: Sequence[Exchange]) -> list[Revision]:
        bedroom.clock.at += LONGEST_SECONDS + 1
        return [MERGED]

    before = bedroom.state()
    with pytest.raises(OverdueError):
        bedroom.dream(Engine(dawdle))
    assert bedroom.state() == before
    assert bedroom.jobs()[-1] == ("dream", "failed")


def test_a_lock_that_somebody_took_meanwhile_ends_it(bedroom: Bedroom) -> None:
    furnish(bedroom)
    before = bedroom.state()

    def lose_it(_: Sequence[Exchange]) -> list[Revision]:
        (bedroom.memory / ".consolidate-lock").write_text(str(os.getpid()))
        bedroom.put(".consolidate-lock", str(os.getppid()), bedroom.clock.at)
        return [MERGED]

    with pytest.raises(BusyError, match="by now"):
        bedroom.dream(Engine(lose_it))
    assert bedroom.state() == before
    assert bedroom.lock_state() == (str(os.getppid()).encode(), bedroom.clock.at)
    assert bedroom.jobs()[-1] == ("dream", "skipped(lock_held)")


def test_a_trial_changes_nothing_and_takes_no_lock(bedroom: Bedroom) -> None:
    furnish(bedroom)
    before, lock = bedroom.state(), bedroom.lock_state()
    bedroom.say("from now on, use tabs")
    dreamt = bedroom.dream(engine(MERGED), is_trial=True)
    assert "-" + PROXY in dreamt.diff
    assert (bedroom.state(), bedroom.lock_state()) == (before, lock)
    assert bedroom.turns() == [None]


def test_passages_of_the_index_move_into_a_memory_and_come_back(bedroom: Bedroom) -> None:
    passage = "## Billing\n\nThe billing run starts at 20:00 and is never restarted by hand.\n"
    furnish(bedroom)
    entries = bedroom.state()["MEMORY.md"][0].decode()
    bedroom.put("MEMORY.md", f"# Memory\n\n{passage}\n{entries}")
    before = bedroom.state()
    assert bedroom.dream(engine()).outcome == "succeeded"
    text = bedroom.state()["MEMORY.md"][0].decode()
    assert text.count("20:00") == 1  # in the entry
    bedroom.undo()
    assert bedroom.state() == before
    assert bedroom.dream(engine()).outcome == "succeeded_no_output"


def test_words_moved_out_of_an_index_that_was_edited_since_come_back_at_its_end(bedroom: Bedroom) -> None:
    passage = "Deploys happen on Tuesdays at 09:00 only.\n"
    furnish(bedroom)
    bedroom.put("MEMORY.md", passage + bedroom.state()["MEMORY.md"][0].decode())
    assert [one[0] for one in bedroom.dream(engine()).revised] == ["moved"]
    edited = "# My notes\n" + bedroom.state()["MEMORY.md"][0].decode()
    bedroom.put("MEMORY.md", edited)
    bedroom.undo()
    text = bedroom.state()["MEMORY.md"][0].decode()
    assert text.startswith("# My notes\n")
    assert text.endswith(passage)
    assert text.count("Tuesdays") == 1


def test_a_long_entry_is_cut_only_where_the_memory_says_what_it_said(bedroom: Bedroom) -> None:
    furnish(bedroom)
    long = (
        "the gateway listens on a port, which is port 8080, and the gateway listens there, on port 8080, all the time, "
    )
    entries = (
        f"- [Gateway](project_gateway.md) — {long}{long}\n- [Proxy](project_proxy.md) — {long}{long}\n"
        "- [Freeze](project_freeze.md) — no merges\n"
    )
    bedroom.put("MEMORY.md", entries)
    bedroom.dream(engine())
    gateway, proxy, _ = bedroom.state()["MEMORY.md"][0].decode().splitlines()
    assert len(gateway) <= 150
    assert gateway.startswith("- [Gateway](project_gateway.md) — the gateway listens on")
    assert proxy == entries.splitlines()[1]


def test_sessions_that_the_last_dream_had_seen_are_not_read_again(bedroom: Bedroom) -> None:
    furnish(bedroom)
    read: list[str] = []

    def note(exchanges: Sequence[Exchange]) -> list[Revision]:
        read.extend(exchange.said.text for exchange in exchanges)
        return []

    bedroom.say("from now on, use tabs")
    bedroom.dream(Engine(note))
    bedroom.clock.at += DAY
    bedroom.say("never use mocks")
    bedroom.dream(Engine(note))
    assert read == ["from now on, use tabs", "never use mocks"]


def update(bedroom: Bedroom, said: str, body: str) -> Engine:
    def revise(exchanges: Sequence[Exchange]) -> list[Revision]:
        evidence = quoted(said, [exchange.said for exchange in exchanges])
        assert evidence is not None
        return [Revision("updated", "Updating", ("project_gateway.md",), "project", "", body, body, (evidence,))]

    bedroom.say(said)
    return Engine(revise)


def test_newer_words_change_a_memory_whose_last_change_was_undone(bedroom: Bedroom) -> None:
    furnish(bedroom)
    bedroom.dream(update(bedroom, "the gateway listens on port 9090 now", "The gateway listens on port 9090."))
    bedroom.undo()
    bedroom.clock.at += DAY
    later = update(bedroom, "the gateway listens on port 7070 now", "The gateway listens on port 7070.")
    assert [one[0] for one in bedroom.dream(later).revised] == ["updated"]


def test_words_that_came_to_nothing_wait_for_extraction(bedroom: Bedroom) -> None:
    furnish(bedroom)
    lossy = update(bedroom, "remember that the gateway has a twin", "There is a twin.")
    assert bedroom.dream(lossy).revised == ()
    assert bedroom.turns() == [None]


def test_one_memory_that_no_guard_lets_pass_does_not_stop_the_others(bedroom: Bedroom) -> None:
    furnish(bedroom)
    bedroom.put("project_bare.md", "---\nname: bare\ntype: project\n---\nA bare note.\n")
    bare = Revision("dated", "Dating", ("project_bare.md",), "project", "", "", "A bare note.\nA bare note.\n")
    dreamt = bedroom.dream(engine(bare, ARCHIVED))
    assert [one[0] for one in dreamt.revised] == ["expired"]
    assert "refused(valid frontmatter)" in {one.fate for one in dreamt.refused}


def test_a_line_of_the_index_that_tells_the_old_value_is_made_anew_under_its_title(bedroom: Bedroom) -> None:
    furnish(bedroom)
    text = bedroom.state()["MEMORY.md"][0].decode().replace("[Project gateway]", "[The GATEWAY]")
    bedroom.put("MEMORY.md", text)
    bedroom.dream(update(bedroom, "the gateway listens on port 9090 now", "The gateway listens on port 9090."))
    index = bedroom.state()["MEMORY.md"][0].decode()
    assert "- [The GATEWAY](project_gateway.md) — The gateway listens on port 9090.\n" in index


def test_a_lock_that_is_no_file_keeps_only_its_own_project_from_dreaming(bedroom: Bedroom) -> None:
    furnish(bedroom)
    bedroom.say("the first sight of the project")
    bedroom.clock.at += DAY
    for number in range(5):
        bedroom.say(f"session {number}")
    bedroom.clock.at += DAY
    lock = bedroom.memory / ".consolidate-lock"
    config = bedroom.config._replace(dream=Dream(least_hours=1))
    assert list(due(bedroom.database, bedroom.paths, config, bedroom.clock.at)) == [(str(bedroom.memory), "/code/acme")]
    lock.unlink()
    lock.mkdir()
    os.utime(lock, (0, 0))
    bedroom.clock.at += DAY
    assert list(due(bedroom.database, bedroom.paths, config, bedroom.clock.at)) == []


def test_a_memory_whose_line_in_the_index_says_more_is_not_merged_away(bedroom: Bedroom) -> None:
    furnish(bedroom)
    text = bedroom.state()["MEMORY.md"][0].decode()
    line = "- [Proxy](project_proxy.md) — timeouts; ask Mina before touching, never 60"
    bedroom.put("MEMORY.md", "\n".join(line if "project_proxy" in one else one for one in text.split("\n")))
    dreamt = bedroom.dream(engine(MERGED))
    assert dreamt.revised == ()
    assert line in {one.statement for one in dreamt.refused}
    assert line in bedroom.state()["MEMORY.md"][0].decode()


def test_an_undo_after_a_later_change_puts_a_persons_line_back_as_well(bedroom: Bedroom) -> None:
    furnish(bedroom)
    text = bedroom.state()["MEMORY.md"][0].decode()
    line = "- [The proxy, handle with care](project_proxy.md) — timeouts of 30 seconds"
    bedroom.put("MEMORY.md", "\n".join(line if "project_proxy" in one else one for one in text.split("\n")))
    assert bedroom.dream(engine(MERGED)).change_id is not None
    change = history.last_undoable(bedroom.database, str(bedroom.memory))
    bedroom.remember("project_new.md", "A later memory.")
    with open_directory(str(bedroom.memory)) as directory:
        reindex(bedroom.database, directory, bedroom.clock.at)
        assert change is not None
        commit(bedroom.database, directory, undoing(bedroom.database, change), bedroom.clock.at)
    index = bedroom.state()["MEMORY.md"][0].decode()
    assert line in index
    assert "project_new.md" in index


def test_forgetting_a_memory_after_an_undone_merge_leaves_the_other_its_evidence(bedroom: Bedroom) -> None:
    learn_timeouts(bedroom)
    bedroom.dream(engine(MERGED._replace(body=f"{PORT} The timeouts of the proxy are 30 seconds.")))
    bedroom.undo()
    memory = str(bedroom.memory)
    assert history.evidence_of(bedroom.database, memory, "project_gateway.md") == []
    with open_directory(memory) as directory:
        state = directory.read("project_gateway.md")
        assert state is not None
        gone = Group((FileChange("project_gateway.md", state.data, None, state.mtime_ns),), "")
        commit(bedroom.database, directory, Changeset("forget", "", (gone,)), bedroom.clock.at)
    assert [one.quote for one in history.evidence_of(bedroom.database, memory, "project_proxy.md")] == [TIMEOUTS]


def test_of_a_log_that_is_too_long_the_newest_whole_lines_are_read(bedroom: Bedroom) -> None:
    """A line that the bound cuts in two could hide half a secret from the redaction."""
    furnish(bedroom)
    day = bedroom.memory / "logs" / "2033" / "05" / "2033-05-17.md"
    day.parent.mkdir(parents=True)
    lines = [f"- 10:00 user: always check gate {number:06} before the night shift" for number in range(20_000)]
    day.write_text("\n".join(lines) + "\n")
    os.utime(day, (bedroom.clock.at, bedroom.clock.at))
    read: list[str] = []

    def note(exchanges: Sequence[Exchange]) -> list[Revision]:
        read.extend(exchange.said.text for exchange in exchanges)
        return []

    bedroom.dream(Engine(note))
    assert 0 < len(read) < len(lines)
    assert read[-1] == "always check gate 019999 before the night shift"
    assert all(text.startswith("always check gate ") for text in read)


def test_an_index_that_is_left_alone_is_not_taken_apart(bedroom: Bedroom) -> None:
    furnish(bedroom)
    prose = "The billing run starts at 20:00 and is never restarted by hand.\n\n"
    bedroom.put("MEMORY.md", prose + "x" * (4 << 20))
    assert bedroom.dream(engine()).revised == ()
