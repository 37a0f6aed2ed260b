"""A dream changes what it may, all of it or nothing, and leaves the lock as its outcome says."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from memoryd.config import Dream
from memoryd.engines.offline.engine import OfflineEngine
from memoryd.errors import BusyError, MemorydError
from memoryd.jobs.dream_cancel import LONGEST_SECONDS, OverdueError
from memoryd.jobs.dream_gates import due
from memoryd.jobs.due import due as due_sessions
from memoryd.jobs.due import extract_due
from memoryd.language.evidence import find_quote
from memoryd.memory.commit import commit, reindex
from memoryd.memory.directory import open_directory
from memoryd.memory.history import undoing
from memoryd.model import Changeset, Evidence, FileChange, Group, Revision
from memoryd.state import dreams, history
from memoryd.state.dream_verdicts import NotDone, not_done_by
from tests.jobs.dream_workspace import DAY, NOW, RevisingEngine, rejecting

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoryd.model import Exchange, Progress
    from memoryd.review.meaning import Ask
    from tests.jobs.dream_workspace import DreamWorkspace

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


def furnish(dream_workspace: DreamWorkspace) -> None:
    dream_workspace.remember("project_gateway.md", PORT)
    dream_workspace.remember("project_proxy.md", PROXY)
    dream_workspace.remember("project_freeze.md", "No merges from 2020-03-09 to 2020-03-27.")
    dream_workspace.lock(NOW - 2 * DAY)
    dream_workspace.dream(RevisingEngine(lambda _: []))  # which makes the index
    dream_workspace.lock(NOW - 2 * DAY)


def engine(*revisions: Revision, ask: Ask | None = None) -> RevisingEngine:
    return RevisingEngine(lambda _: revisions, ask)


def no_to(file: str, problem: str) -> Ask:
    """A reviewer who finds something wrong with the changes of one file."""
    return rejecting(lambda shown: problem if f'name="{file}"' in shown else "")


def test_without_a_signal_not_a_byte_changes(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    before = dream_workspace.state()
    dream_workspace.say("what does a mutex do?")
    dreamt = dream_workspace.dream(engine())
    assert (dreamt.outcome, dreamt.revised, dreamt.change_id) == ("succeeded_no_output", (), None)
    assert dream_workspace.state() == before
    assert dream_workspace.lock_state() == (b"", dream_workspace.clock.at)
    assert dream_workspace.turns() == ["seen_by_dream"]


def test_a_merge_changes_both_files_and_the_index_and_can_be_undone(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    before = dream_workspace.state()
    dreamt = dream_workspace.dream(engine(MERGED, ARCHIVED))
    assert dreamt.outcome == "succeeded"
    assert [revision[0] for revision in dreamt.revised] == ["merged", "expired"]
    assert sorted(dream_workspace.state()) == ["MEMORY.md", "project_gateway.md"]
    text = dream_workspace.state()["project_gateway.md"][0].decode()
    assert PORT in text
    assert PROXY in text
    assert "mergedFrom: project_proxy.md" in text
    assert b"project_proxy.md" not in dream_workspace.state()["MEMORY.md"][0]
    assert dream_workspace.undo()
    assert dream_workspace.state() == before


def test_what_was_undone_is_not_done_again(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    dream_workspace.dream(engine(MERGED, ARCHIVED))
    dream_workspace.undo()
    before = dream_workspace.state()
    assert dream_workspace.dream(engine(MERGED, ARCHIVED)).outcome == "succeeded_no_output"
    assert dream_workspace.state() == before
    dream_workspace.remember("project_proxy.md", PROXY + " They are set in proxy.toml.")  # another thing by now
    again = MERGED._replace(body=MERGED.body + " They are set in proxy.toml.")
    assert dream_workspace.dream(engine(again)).outcome == "succeeded"


TIMEOUTS = "the timeouts of the proxy are 30 seconds from now on"


def learn_timeouts(dream_workspace: DreamWorkspace) -> None:
    dream_workspace.remember("project_gateway.md", PORT)
    dream_workspace.lock(NOW - 2 * DAY)
    dream_workspace.say(TIMEOUTS)

    def learn(exchanges: Sequence[Exchange]) -> list[Revision]:
        evidence = find_quote(TIMEOUTS, [exchange.said for exchange in exchanges])
        assert evidence is not None
        body = "The timeouts of the proxy are 30 seconds."
        return [Revision("learnt", "Noting timeouts", (), "project", "proxy", body, body, (evidence,))]

    assert dream_workspace.dream(RevisingEngine(learn)).outcome == "succeeded"


def test_a_merge_inherits_the_evidence_of_its_sources_and_undo_gives_it_back(dream_workspace: DreamWorkspace) -> None:
    learn_timeouts(dream_workspace)
    assert dream_workspace.turns() == ["succeeded"]
    (piece,) = history.evidence_of(dream_workspace.database, str(dream_workspace.memory), "project_proxy.md")
    merged = MERGED._replace(body=f"{PORT} The timeouts of the proxy are 30 seconds.")
    assert dream_workspace.dream(engine(merged)).revised
    assert history.evidence_of(dream_workspace.database, str(dream_workspace.memory), "project_gateway.md") == [piece]
    dream_workspace.undo()
    assert history.evidence_of(dream_workspace.database, str(dream_workspace.memory), "project_proxy.md") == [piece]


def test_what_review_says_no_to_waits_in_the_inbox_and_the_others_are_made(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    lossy = Revision("updated", "Tidying", ("project_proxy.md",), "project", "", "The proxy", "There is a proxy.")
    lost = "The timeouts would be lost."
    dreamt = dream_workspace.dream(engine(lossy, ARCHIVED, ask=no_to("project_proxy.md", lost)))
    assert [reason for reason, _, _ in dreamt.revised] == ["expired"]
    assert dreamt.refused == (NotDone("project_proxy.md", "Tidying", "held", lost),)
    assert PROXY.encode() in dream_workspace.state()["project_proxy.md"][0]
    assert dreamt.job_id is not None
    assert not_done_by(dream_workspace.database, dreamt.job_id) == list(dreamt.refused)
    assert dream_workspace.waiting() == [(("project_proxy.md",), lost)]


def test_a_dream_that_would_remove_much_is_held_as_a_whole(dream_workspace: DreamWorkspace) -> None:
    """Whatever the reviewer says; what has ended by its own date does not go either."""
    furnish(dream_workspace)
    for number in range(8):
        dream_workspace.remember(f"project_{number}.md", f"Server {number} has {number} disks.")
    dream_workspace.dream(engine())  # makes the index
    before = dream_workspace.state()
    emptied = [Revision("merged", "Tidying", (f"project_{number}.md",)) for number in range(8)]
    dreamt = dream_workspace.dream(engine(ARCHIVED, *emptied))
    assert (dreamt.outcome, dreamt.revised, dreamt.change_id) == ("succeeded_no_output", (), None)
    assert {(group.state, group.reason) for group in dreamt.refused} == {
        ("held", "This run would remove 8 of 11 memories.")
    }
    assert dream_workspace.state() == before
    assert len(dream_workspace.waiting()) == 9


@pytest.mark.parametrize(
    ("name", "text", "outcome"),
    [
        (
            "pinned.md",
            "---\nname: p\ndescription: d\ntype: project\nmetadata: {pinned: true}\n---\nStay.\n",
            "succeeded",  # the index has got a line for it
        ),
        ("notes.md", "just my notes\n", "refused(valid frontmatter)"),
        ("broken.md", "---\nname: [\n---\nBroken.\n", "refused(valid frontmatter)"),
    ],
)
def test_pinned_and_foreign_files_stay_whatever_the_engine_wants(
    dream_workspace: DreamWorkspace, name: str, text: str, outcome: str
) -> None:
    furnish(dream_workspace)
    dream_workspace.put(name, text)
    wants = Revision("updated", "Taking over", (name,), "project", "", "d", "Stay.\njust my notes\nBroken.\n")
    dreamt = dream_workspace.dream(engine(wants))
    assert dream_workspace.state()[name][0] == text.encode()
    assert (dreamt.outcome, dreamt.revised) == (outcome, ())
    merged = MERGED._replace(files=("project_gateway.md", name), body=PORT)
    dreamt = dream_workspace.dream(engine(merged))
    assert dream_workspace.state()[name][0] == text.encode()
    assert dreamt.revised == ()
    assert [(group.names, group.state) for group in dreamt.refused] == [(f"project_gateway.md {name}", "refused")]
    assert dream_workspace.waiting() == []


@pytest.mark.parametrize(
    "body",
    [
        "The key of the gateway is sk-ant-api03-" + "q8" * 30 + ".",
        "x" * 70_000,
    ],
)
def test_a_guard_refuses_what_no_memory_may_hold(dream_workspace: DreamWorkspace, body: str) -> None:
    furnish(dream_workspace)
    before = dream_workspace.state()
    evidence = Evidence("s", "m", body, "h", NOW)
    wants = Revision("learnt", "Noting it", (), "project", "key", "The key", body, (evidence,))
    dreamt = dream_workspace.dream(engine(wants))
    assert dreamt.outcome.startswith("refused") or dreamt.refused
    assert dream_workspace.state() == before


def test_a_new_memory_needs_words_of_the_user(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    before = dream_workspace.state()
    wants = Revision("learnt", "Inventing", (), "project", "made-up", "The moon is a server", "The moon is a server.")
    assert dream_workspace.dream(engine(wants)).revised == ()
    assert dream_workspace.state() == before


def test_a_request_to_stop_ends_it_and_the_lock_is_as_before(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    before = dream_workspace.state()

    def stop(_: Progress) -> None:
        for job in dreams.unfinished(dream_workspace.database):
            dreams.request_stop(dream_workspace.database, job.id)

    dreamt = dream_workspace.dream(engine(MERGED), stop)
    assert dreamt.outcome == "killed"
    assert dream_workspace.state() == before
    assert dream_workspace.lock_state() == (b"", NOW - 2 * DAY)
    assert dreams.dream_gate_state(dream_workspace.database, str(dream_workspace.memory)).failures == 0


def test_a_dream_that_takes_too_long_ends_itself(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)

    def dawdle(_: Sequence[Exchange]) -> list[Revision]:
        dream_workspace.clock.at += LONGEST_SECONDS + 1
        return [MERGED]

    before = dream_workspace.state()
    with pytest.raises(OverdueError):
        dream_workspace.dream(RevisingEngine(dawdle))
    assert dream_workspace.state() == before
    assert dream_workspace.jobs()[-1] == ("dream", "failed")


def test_a_lock_that_somebody_took_meanwhile_ends_it(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    before = dream_workspace.state()

    def lose_it(_: Sequence[Exchange]) -> list[Revision]:
        (dream_workspace.memory / ".consolidate-lock").write_text(str(os.getpid()))
        dream_workspace.put(".consolidate-lock", str(os.getppid()), dream_workspace.clock.at)
        return [MERGED]

    with pytest.raises(BusyError, match="by now"):
        dream_workspace.dream(RevisingEngine(lose_it))
    assert dream_workspace.state() == before
    assert dream_workspace.lock_state() == (str(os.getppid()).encode(), dream_workspace.clock.at)
    assert dream_workspace.jobs()[-1] == ("dream", "skipped(lock_held)")


def test_a_trial_changes_nothing_and_takes_no_lock(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    before, lock = dream_workspace.state(), dream_workspace.lock_state()
    dream_workspace.say("from now on, use tabs")
    dreamt = dream_workspace.dream(engine(MERGED), is_trial=True)
    assert "-" + PROXY in dreamt.diff
    assert (dream_workspace.state(), dream_workspace.lock_state()) == (before, lock)
    assert dream_workspace.turns() == [None]


def test_passages_of_the_index_move_into_a_memory_and_come_back(dream_workspace: DreamWorkspace) -> None:
    passage = "## Billing\n\nThe billing run starts at 20:00 and is never restarted by hand.\n"
    furnish(dream_workspace)
    entries = dream_workspace.state()["MEMORY.md"][0].decode()
    dream_workspace.put("MEMORY.md", f"# Memory\n\n{passage}\n{entries}")
    before = dream_workspace.state()
    assert dream_workspace.dream().outcome == "succeeded"
    text = dream_workspace.state()["MEMORY.md"][0].decode()
    assert text.count("20:00") == 1  # in the entry
    dream_workspace.undo()
    assert dream_workspace.state() == before
    assert dream_workspace.dream().outcome == "succeeded_no_output"


def test_words_moved_out_of_an_index_that_was_edited_since_come_back_at_its_end(
    dream_workspace: DreamWorkspace,
) -> None:
    passage = "Deploys happen on Tuesdays at 09:00 only.\n"
    furnish(dream_workspace)
    dream_workspace.put("MEMORY.md", passage + dream_workspace.state()["MEMORY.md"][0].decode())
    assert "moved" in [reason for reason, _, _ in dream_workspace.dream().revised]
    edited = "# My notes\n" + dream_workspace.state()["MEMORY.md"][0].decode()
    dream_workspace.put("MEMORY.md", edited)
    dream_workspace.undo()
    text = dream_workspace.state()["MEMORY.md"][0].decode()
    assert text.startswith("# My notes\n")
    assert text.endswith(passage)
    assert text.count("Tuesdays") == 1


def test_a_long_entry_is_cut_only_where_the_memory_says_what_it_said(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    long = (
        "the gateway listens on a port, which is port 8080, and the gateway listens there, on port 8080, all the time, "
    )
    entries = (
        f"- [Gateway](project_gateway.md) — {long}{long}\n- [Proxy](project_proxy.md) — {long}{long}\n"
        "- [Freeze](project_freeze.md) — no merges\n"
    )
    dream_workspace.put("MEMORY.md", entries)
    dream_workspace.dream(engine())
    gateway, proxy, _ = dream_workspace.state()["MEMORY.md"][0].decode().splitlines()
    assert len(gateway) <= 150
    assert gateway.startswith("- [Gateway](project_gateway.md) — the gateway listens on")
    assert proxy == entries.splitlines()[1]


def test_sessions_that_the_last_dream_had_seen_are_not_read_again(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    read: list[str] = []

    def note(exchanges: Sequence[Exchange]) -> list[Revision]:
        read.extend(exchange.said.text for exchange in exchanges)
        return []

    dream_workspace.say("from now on, use tabs")
    dream_workspace.dream(RevisingEngine(note))
    dream_workspace.clock.at += DAY
    dream_workspace.say("never use mocks")
    dream_workspace.dream(RevisingEngine(note))
    assert read == ["from now on, use tabs", "never use mocks"]


def update(dream_workspace: DreamWorkspace, said: str, body: str) -> RevisingEngine:
    def revise(exchanges: Sequence[Exchange]) -> list[Revision]:
        evidence = find_quote(said, [exchange.said for exchange in exchanges])
        assert evidence is not None
        return [Revision("updated", "Updating", ("project_gateway.md",), "project", "", body, body, (evidence,))]

    dream_workspace.say(said)
    return RevisingEngine(revise)


def test_newer_words_change_a_memory_whose_last_change_was_undone(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    dream_workspace.dream(
        update(dream_workspace, "the gateway listens on port 9090 now", "The gateway listens on port 9090.")
    )
    dream_workspace.undo()
    dream_workspace.clock.at += DAY
    later = update(dream_workspace, "the gateway listens on port 7070 now", "The gateway listens on port 7070.")
    assert [revision[0] for revision in dream_workspace.dream(later).revised] == ["updated"]


def test_words_of_a_refused_change_wait_for_extraction(dream_workspace: DreamWorkspace) -> None:
    """What is held waits in the inbox instead, so its words are done."""
    furnish(dream_workspace)
    said = "remember that the proxy has a twin"
    wants = update(dream_workspace, said, f"The key of the proxy is sk-ant-api03-{'q8' * 30}.")
    assert [group.state for group in dream_workspace.dream(wants).refused] == ["refused"]
    assert dream_workspace.turns() == [None]
    dream_workspace.clock.at += DAY
    later = update(dream_workspace, "the gateway has a twin", "There is a twin.")
    held = RevisingEngine(later.revise, no_to("project_gateway.md", "The port would be lost."))
    assert [group.state for group in dream_workspace.dream(held).refused] == ["held"]
    assert dream_workspace.turns()[1:] == ["succeeded"]


def test_one_memory_that_is_broken_does_not_stop_the_others(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    dream_workspace.put("project_bare.md", "---\nname: bare\ntype: project\n---\nA bare note.\n")
    bare = Revision("dated", "Dating", ("project_bare.md",), "project", "", "", "A bare note.\nA bare note.\n")
    dreamt = dream_workspace.dream(engine(bare, ARCHIVED))
    assert [reason for reason, _, _ in dreamt.revised] == ["expired"]
    assert [(group.names, group.state) for group in dreamt.refused] == [("project_bare.md", "held")]
    assert "`description` must be given" in dreamt.refused[0].reason


def test_a_line_of_the_index_that_tells_the_old_value_is_made_anew_under_its_title(
    dream_workspace: DreamWorkspace,
) -> None:
    furnish(dream_workspace)
    text = dream_workspace.state()["MEMORY.md"][0].decode().replace("[Project gateway]", "[The GATEWAY]")
    dream_workspace.put("MEMORY.md", text)
    dream_workspace.dream(
        update(dream_workspace, "the gateway listens on port 9090 now", "The gateway listens on port 9090.")
    )
    index = dream_workspace.state()["MEMORY.md"][0].decode()
    assert "- [The GATEWAY](project_gateway.md) — The gateway listens on port 9090.\n" in index


def test_a_lock_that_is_no_file_keeps_only_its_own_project_from_dreaming(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    dream_workspace.say("the first sight of the project")
    dream_workspace.clock.at += DAY
    for number in range(5):
        dream_workspace.say(f"session {number}")
    dream_workspace.clock.at += DAY
    lock = dream_workspace.memory / ".consolidate-lock"
    config = dream_workspace.config._replace(dream=Dream(least_hours=1))
    assert list(due(dream_workspace.database, dream_workspace.paths, config, dream_workspace.clock.at)) == [
        (str(dream_workspace.memory), "/code/acme")
    ]
    lock.unlink()
    lock.mkdir()
    os.utime(lock, (0, 0))
    dream_workspace.clock.at += DAY
    assert list(due(dream_workspace.database, dream_workspace.paths, config, dream_workspace.clock.at)) == []


def test_a_memory_whose_line_in_the_index_says_more_is_not_merged_away(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    text = dream_workspace.state()["MEMORY.md"][0].decode()
    line = "- [Proxy](project_proxy.md) — timeouts; ask Mina before touching, never 60"
    dream_workspace.put(
        "MEMORY.md", "\n".join(line if "project_proxy" in entry else entry for entry in text.split("\n"))
    )
    dreamt = dream_workspace.dream(engine(MERGED))
    assert dreamt.revised == ()
    assert [(group.state, group.reason) for group in dreamt.refused] == [
        ("held", f"Only the index says this of it: {line}")
    ]
    assert line in dream_workspace.state()["MEMORY.md"][0].decode()


def test_an_undo_after_a_later_change_puts_a_persons_line_back_as_well(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    text = dream_workspace.state()["MEMORY.md"][0].decode()
    line = "- [The proxy, handle with care](project_proxy.md) — timeouts of 30 seconds"
    dream_workspace.put(
        "MEMORY.md", "\n".join(line if "project_proxy" in entry else entry for entry in text.split("\n"))
    )
    assert dream_workspace.dream(engine(MERGED)).change_id is not None
    change = history.last_undoable(dream_workspace.database, str(dream_workspace.memory))
    dream_workspace.remember("project_new.md", "A later memory.")
    with open_directory(str(dream_workspace.memory)) as directory:
        reindex(dream_workspace.database, directory, dream_workspace.clock.at)
        assert change is not None
        commit(dream_workspace.database, directory, undoing(dream_workspace.database, change), dream_workspace.clock.at)
    index = dream_workspace.state()["MEMORY.md"][0].decode()
    assert line in index
    assert "project_new.md" in index


def test_forgetting_a_memory_after_an_undone_merge_leaves_the_other_its_evidence(
    dream_workspace: DreamWorkspace,
) -> None:
    learn_timeouts(dream_workspace)
    dream_workspace.dream(engine(MERGED._replace(body=f"{PORT} The timeouts of the proxy are 30 seconds.")))
    dream_workspace.undo()
    memory = str(dream_workspace.memory)
    assert history.evidence_of(dream_workspace.database, memory, "project_gateway.md") == []
    with open_directory(memory) as directory:
        state = directory.read("project_gateway.md")
        assert state is not None
        gone = Group((FileChange("project_gateway.md", state.data, None, state.mtime_ns),), "")
        commit(dream_workspace.database, directory, Changeset("forget", "", (gone,)), dream_workspace.clock.at)
    assert [piece.quote for piece in history.evidence_of(dream_workspace.database, memory, "project_proxy.md")] == [
        TIMEOUTS
    ]


def test_a_log_that_is_too_long_for_a_dream_is_read_by_several_whole_lines_each(
    dream_workspace: DreamWorkspace,
) -> None:
    """A line that the bound cuts in two could hide half a secret from the redaction. Until all is read, no day is waited."""
    furnish(dream_workspace)
    day = dream_workspace.memory / "logs" / "2033" / "05" / "2033-05-17.md"
    day.parent.mkdir(parents=True)
    lines = [f"- 10:00 user: always check gate {number:06} before the night shift" for number in range(20_000)]
    day.write_text("\n".join(lines) + "\n")
    os.utime(day, (dream_workspace.clock.at, dream_workspace.clock.at))
    read: list[str] = []

    def note(exchanges: Sequence[Exchange]) -> list[Revision]:
        read.extend(exchange.said.text for exchange in exchanges if "gate" in exchange.said.text)
        return []

    before = dream_workspace.lock_state()
    dream_workspace.dream(RevisingEngine(note))
    assert dream_workspace.lock_state() == before
    assert 0 < len(read) < len(lines)
    for _ in range(2):
        dream_workspace.dream(RevisingEngine(note))
        assert dream_workspace.lock_state() == (b"", dream_workspace.clock.at)
    assert read == [line.partition("user: ")[2] for line in lines]


def test_an_index_that_is_left_alone_is_not_taken_apart(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    prose = "The billing run starts at 20:00 and is never restarted by hand.\n\n"
    dream_workspace.put("MEMORY.md", prose + "x" * (4 << 20))
    assert "moved" not in [reason for reason, _, _ in dream_workspace.dream().revised]


# --- turns that extraction read without result ------------------------------------------------------------------------


class Listener:
    """An engine that notes what it is shown, and may fail."""

    def __init__(self) -> None:
        self.shown: list[list[str]] = []
        self.fails = False

    def __call__(self, exchanges: Sequence[Exchange]) -> list[Revision]:
        self.shown.append([exchange.said.text for exchange in exchanges])
        if self.fails:
            raise MemorydError("The engine is broken.")
        return []


def extract_all(dream_workspace: DreamWorkspace) -> list[str]:
    """What extraction makes of all that waits: the outcomes."""
    paths, now = dream_workspace.paths, dream_workspace.clock.at
    sessions = due_sessions(dream_workspace.database, paths, dream_workspace.config, now, at_once=True)
    done = extract_due(dream_workspace.database, paths, sessions, now, engine=OfflineEngine())
    return [worked.outcome.outcome for worked in done]


def test_turns_without_result_are_shown_to_one_dream(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    listener = Listener()
    session = dream_workspace.say("the parser lives in the shed", "thanks")
    assert extract_all(dream_workspace) == ["succeeded_no_output"]
    assert dream_workspace.turns() == ["succeeded_no_output"] * 2
    listener.fails = True
    with pytest.raises(MemorydError):
        dream_workspace.dream(RevisingEngine(listener))
    assert dream_workspace.turns() == ["succeeded_no_output"] * 2
    listener.fails = False
    dream_workspace.dream(RevisingEngine(listener))
    assert dream_workspace.turns() == ["seen_by_dream"] * 2
    assert listener.shown == [["the parser lives in the shed", "thanks"]] * 2
    assert extract_all(dream_workspace) == []
    dream_workspace.clock.at += DAY
    dream_workspace.go_on(session, "one more thing")
    dream_workspace.dream(RevisingEngine(listener))
    assert listener.shown[2] == ["one more thing"]


def test_a_memory_made_of_such_a_turn_rests_on_it(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    words = "the parser lives in the shed"

    def learn(exchanges: Sequence[Exchange]) -> list[Revision]:
        evidence = find_quote(words, [exchange.said for exchange in exchanges])
        assert evidence is not None
        return [Revision("learnt", "Noting it", (), "project", "parser", words, f"{words}.", (evidence,))]

    dream_workspace.say(words)
    assert extract_all(dream_workspace) == ["succeeded_no_output"]
    assert [reason for reason, _, _ in dream_workspace.dream(RevisingEngine(learn)).revised] == ["learnt"]
    found = history.evidence_of(dream_workspace.database, str(dream_workspace.memory), "project_parser.md")
    assert [piece.quote for piece in found] == [words]
    assert dream_workspace.turns() == ["seen_by_dream"]


def test_such_a_turn_waits_again_where_its_memory_was_edited_meanwhile(dream_workspace: DreamWorkspace) -> None:
    furnish(dream_workspace)
    wants = update(dream_workspace, "the gateway listens on port 9090", "The gateway listens on port 9090.")
    assert extract_all(dream_workspace) == ["succeeded_no_output"]

    def revise(exchanges: Sequence[Exchange]) -> Sequence[Revision]:
        dream_workspace.remember("project_gateway.md", "My own words.")  # after the dream has read it
        return wants.revise(exchanges)

    assert dream_workspace.dream(RevisingEngine(revise)).set_aside == ("project_gateway.md",)
    assert dream_workspace.turns() == [None]
