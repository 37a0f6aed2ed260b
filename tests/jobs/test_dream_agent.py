"""A dream by a model: whatever it does, a proposal comes only of what it ended, and the memories themselves stay untouched."""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clock import iso
from memoryd.config import Budget
from memoryd.engines.base import DreamSession, Signal
from memoryd.engines.model import dream_brief
from memoryd.engines.model.engine import UnfinishedError
from memoryd.errors import EngineRestsError, EngineStoppedError
from memoryd.jobs.dream import DreamRunner
from memoryd.language.evidence import evidence_of
from memoryd.memory.commit import commit
from memoryd.memory.directory import open_directory
from memoryd.memory.document import body_of
from memoryd.memory.guards import RefusedError
from memoryd.memory.snapshot import DirectorySnapshot
from memoryd.model import Changeset, Exchange, FileChange, Group, Progress, Proposal, UserMessage
from memoryd.review.context import ReviewContext
from memoryd.review.meaning import Question
from memoryd.review.review import Review
from memoryd.security.redact import redact
from memoryd.state import dreams, history, inbox
from tests.jobs.dream_workspace import rejecting
from tests.jobs.model_answers import NOTHING, content, held, in_turn, remarks, spent, with_model
from tests.jobs.workspace import NOW
from tests.keeping_model import first_text, results_in, said_in
from tests.messages_protocol import pieces
from tests.messages_server import Reply, Status, call, judged, last_text, text, tool_results
from tests.transcript import Session, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from memoryd.jobs.dream import DreamOutcome as Outcome
    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.model_workspace import ModelWorkspace
    from tests.messages_server import Answer, Block, Request

LATER = "from now on reviews may have 300 changed lines at most"
TOKEN = "ghp_" + "a1B2c3D4e5" * 4
MOCKS = content(
    "No mocks of the database in integration tests.\n\n**Why:** a mocked migration passed and failed in production.",
    name="no-mocks",
    description='"No mocks of the database"',
)
QUOTE_MOCKS = "no mocks of the database in integration tests, they use a real database"
REAL = content("Integration tests use a real database.", name="real-db", description='"Tests use a real database"')
BOTH = content(
    "No mocks of the database in integration tests. Integration tests use a real database.\n\n"
    "**Why:** a mocked migration passed and failed in production.",
    name="no-mocks",
    description='"No mocks: tests use a real database"',
)
MERGE_AWAY = call("Write", {"file_path": "feedback_db.md", "content": "", "quote": "", "kept_in": "feedback_mocks.md"})
SIZE = content()
NEW = content("Reviews may have 300 changed lines at most.")
FREEZE = content(
    "The merge freeze begins on Thursday.", name="freeze", description='"A merge freeze begins"', type="project"
)


def writes(name: str, written: str, quote: str = "", **options: str) -> Block:
    return call("Write", {"file_path": name, "content": written, "quote": quote, **options})


def edits(name: str, old: str, new: str, quote: str = "") -> Block:
    return call("Edit", {"file_path": name, "old_string": old, "new_string": new, "quote": quote})


def said(words: str, number: int = 1, answer: str = "", session: str = "s") -> Exchange:
    return Exchange(UserMessage(session, f"m{number}", NOW - 1000 + number, words, answer))


class Dream:
    """A project with memories, a repository and sessions, and a model to consolidate them."""

    def __init__(self, model_workspace: ModelWorkspace, root: Path) -> None:
        self.model_workspace, self.root = model_workspace, root
        self.told: list[Progress] = []
        self.memory = model_workspace.memory
        self.memory.mkdir(parents=True)
        root.mkdir()

    def keep(self, **files: str) -> None:
        for name, words in files.items():
            (self.memory / f"{name}.md").write_text(words)

    def session(self, *turns: str, name: str = "past") -> DreamSession:
        session = Session(name, cwd=str(self.root / "services/api"))
        path = write(
            self.model_workspace.paths.transcripts_root, session, b"".join(session.turn(words) for words in turns)
        )
        return DreamSession(session.id, "claude-code", str(path), NOW - 50, path.stat().st_size)

    def run(
        self,
        *exchanges: Exchange,
        sessions: Sequence[DreamSession] = (),
        instructions: Sequence[str] = (),
        changed: Sequence[str] = (),
        project_root: str = "",
        deadline: float = NOW + 2700,
        tell: Callable[[Progress], None] | None = None,
    ) -> Proposal:
        before = self.untouched()
        engine = self.model_workspace.with_model()
        database, memory_dir = self.model_workspace.database, str(self.memory)
        job = dreams.begin(database, memory_dir, str(self.root), engine.name, NOW)
        signal = Signal(
            job.id,
            NOW,
            exchanges,
            instructions,
            sessions=sessions,
            changed=changed,
            project_root=project_root or str(self.root),
            deadline=deadline,
            tell=tell or self.told.append,
        )
        snapshot = DirectorySnapshot(database, memory_dir)
        context = ReviewContext(
            "dream",
            snapshot,
            signal.messages,
            NOW,
            instructions,
            lambda evidence: history.is_refused(database, memory_dir, evidence),
        )
        try:
            return engine.dream(snapshot, signal, Review(context, engine.meaning_asker(signal, memory_dir)))
        finally:
            engine.close()
            assert self.untouched() == before
            assert not os.path.exists(self.model_workspace.paths.place_for(str(self.memory), "dreams"))

    def untouched(self) -> dict[str, tuple[bytes, int, int]]:
        """Everything that a dream may look at and never change."""
        return {
            str(path): (path.read_bytes(), path.stat().st_mtime_ns, path.stat().st_ino)
            for place in (self.memory, self.root, Path(self.model_workspace.paths.transcripts_root))
            for path in place.rglob("*")
            if path.is_file()
        }

    def bodies(self) -> dict[str, str]:
        return {
            path.name: body_of(path.read_bytes()) for path in self.memory.glob("[a-z]*.md") if path.name != "MEMORY.md"
        }

    def answers(self) -> list[tuple[str, bool]]:
        """What the model was told about the calls of its last turn but one."""
        results = tool_results(self.model_workspace.server.requests[-1])
        return [(str(result["content"]), bool(result.get("is_error"))) for result in results]


def told(proposal: Proposal) -> list[tuple[str, str, list[str]]]:
    """What a proposal comes to, group by group: the reason, the line, the files."""
    return [(group.reason, group.why, [change.name for change in group.changes]) for group in proposal.groups]


def body_in(group: Group) -> str:
    """What the first file of a group would say."""
    return body_of(group.changes[0].after or b"")


@contextmanager
def dreaming_with(
    database: Database,
    paths: Paths,
    tmp_path: Path,
    answer: Callable[[Request], Answer] | Answer,
    *,
    budget: Budget | None = None,
    reviewer: Callable[[Request], Answer] | None = None,
    **settings: Any,
) -> Iterator[Dream]:
    with with_model(
        database, paths, answer, reviewer=reviewer, budget=budget or Budget(usd_per_day=50, usd_per_dream=5), **settings
    ) as model_workspace:
        yield Dream(model_workspace, tmp_path / "project")


# --- what comes of it -------------------------------------------------------------------------------------------------


def test_a_merge_is_one_group_of_both_files(database: Database, paths: Paths, tmp_path: Path) -> None:
    replies = in_turn(
        Reply(
            text("Two notes on one rule."),
            call("Read", {"file_path": "feedback_mocks.md"}),
            call("Read", {"file_path": "feedback_db.md"}),
        ),
        Reply(writes("feedback_mocks.md", BOTH), MERGE_AWAY),
        Reply(text("Merged two notes on the database.")),
    )
    with dreaming_with(database, paths, tmp_path, replies) as dream:
        dream.keep(feedback_mocks=MOCKS, feedback_db=REAL, project_freeze=FREEZE)
        proposal = dream.run()
        assert told(proposal) == [("merged", "Merging two mocks notes", ["feedback_mocks.md", "feedback_db.md"])]
        merged, removed = proposal.groups[0].changes
        assert (body_in(proposal.groups[0]), removed.after) == (BOTH.rpartition("---\n")[2], None)
        assert b"mergedFrom: feedback_db.md" in (merged.after or b"")
        assert (proposal.taken, len(dream.model_workspace.server.reviews)) == (0, 1)
        costs = [progress.usd for progress in dream.told]
        assert costs == sorted(costs)
        assert 0 < costs[0] < costs[-1] < spent(dream.model_workspace).usd  # review comes after the last word
        assert [progress._replace(usd=0) for progress in dream.told] == [
            Progress("orient", "Reading the db note", "Two notes on one rule.", 2),
            Progress("consolidate", "Merging two mocks notes", "", 4, ("feedback_mocks.md", "feedback_db.md")),
            Progress(
                "prune",
                "Finishing the consolidation",
                "Merged two notes on the database.",
                4,
                ("feedback_mocks.md", "feedback_db.md"),
            ),
        ]
        assert (
            dream.model_workspace.server.requests[0].body["model"] == dream.model_workspace.config.anthropic.dream_model
        )


def test_a_merge_into_a_new_file_takes_the_place_of_the_first(database: Database, paths: Paths, tmp_path: Path) -> None:
    names = ("feedback_db.md", "feedback_mocks.md")
    removals = [writes(name, "", kept_in="feedback_tests.md") for name in names]
    with dreaming_with(
        database, paths, tmp_path, in_turn(Reply(writes("feedback_tests.md", BOTH, QUOTE_MOCKS), *removals))
    ) as dream:
        dream.keep(feedback_mocks=MOCKS, feedback_db=REAL)
        (group,) = dream.run(said(QUOTE_MOCKS)).groups
        assert (group.reason, sorted(change.name for change in group.changes)) == ("merged", list(names))
        assert "real database" in body_in(group)


def test_a_copy_of_a_memory_joins_the_one_that_it_is_said_to_be_kept_in(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    copy = writes("feedback_b.md", "", kept_in="feedback_a.md")
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(copy))) as dream:
        dream.keep(feedback_a=REAL, feedback_b=REAL)
        (group,) = dream.run().groups
        assert (group.reason, [change.name for change in group.changes]) == (
            "merged",
            ["feedback_a.md", "feedback_b.md"],
        )
        assert body_in(group) == "Integration tests use a real database.\n"


def test_a_passage_of_the_index_moves_into_a_memory(database: Database, paths: Paths, tmp_path: Path) -> None:
    passage = "The merge freeze begins on Thursday."
    moved = writes("project_freeze.md", FREEZE, from_index=passage)
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(moved))) as dream:
        (dream.memory / "MEMORY.md").write_text(f"# Notes\n\n{passage}\n")
        (group,) = dream.run().groups
        assert (group.reason, group.from_index) == ("moved", (passage,))
        assert f"<index>\n# Notes\n\n{passage}\n</index>" in first_text(dream.model_workspace.server.requests[0])


def test_an_update_rests_on_the_words_it_quotes(database: Database, paths: Paths, tmp_path: Path) -> None:
    edit = edits("feedback_size.md", "under 400", "under 300", LATER)
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(edit))) as dream:
        dream.keep(feedback_size=SIZE)
        turn = said(f"well. {LATER}, ok?")
        proposal = dream.run(turn)
        assert told(proposal) == [("updated", "Updating the size note", ["feedback_size.md"])]
        assert body_in(proposal.groups[0]) == "Keep every review under 300 changed lines.\n"
        assert proposal.groups[0].evidence == (("feedback_size.md", evidence_of(turn.said, LATER)),)
        assert (proposal.taken, said_in(dream.model_workspace.server.requests[0])) == (1, [f"well. {LATER}, ok?"])


def test_words_of_a_past_session_can_be_quoted(database: Database, paths: Paths, tmp_path: Path) -> None:
    replies = in_turn(
        Reply(call("Grep", {"pattern": "changed lines", "path": "transcripts"})),
        Reply(edits("feedback_size.md", "under 400", "under 300", LATER)),
    )
    with dreaming_with(database, paths, tmp_path, replies) as dream:
        dream.keep(feedback_size=SIZE)
        session = dream.session("hello", LATER)
        (group,) = dream.run(sessions=[session]).groups
        assert [(piece.session_id, piece.quote) for _, piece in group.evidence] == [(session.session_id, LATER)]
        found = results_in(dream.model_workspace.server.requests[1])[0]
        assert re.fullmatch(rf"transcripts/{session.session_id}\.txt:3:2026-10-18 \d\d:\d\d user: {LATER}", found)
        assert f"- transcripts/{session.session_id}.txt (Wednesday 2033-05-18, " in first_text(
            dream.model_workspace.server.requests[0]
        )
        assert ", in services/api)" in first_text(dream.model_workspace.server.requests[0])
        assert dream.told[0].phase == "gather"
        assert dream.told[0].line == 'Searching for "changed lines"'


def test_a_new_memory_and_a_date_are_told_as_what_they_are(database: Database, paths: Paths, tmp_path: Path) -> None:
    replies = in_turn(
        Reply(
            writes("feedback_size.md", SIZE, "keep every review under 400 changed lines"),
            edits("project_freeze.md", "on Thursday", "on 2026-03-05"),
        )
    )
    with dreaming_with(database, paths, tmp_path, replies) as dream:
        dream.keep(project_freeze=FREEZE)
        os.utime(dream.memory / "project_freeze.md", (1_772_450_000, 1_772_450_000))  # Monday 2026-03-02
        proposal = dream.run(said("please keep every review under 400 changed lines"))
        assert told(proposal) == [
            ("learnt", "Learning the size note", ["feedback_size.md"]),
            ("dated", "Dating the freeze note", ["project_freeze.md"]),
        ]
        assert proposal.groups[0].evidence[0][1].quote == "keep every review under 400 changed lines"


def test_a_removal_that_nothing_takes_in_is_a_group_of_its_own(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    """Whether it has ended is not for the agent to say."""
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(writes("project_freeze.md", "")))) as dream:
        dream.keep(project_freeze=FREEZE, feedback_size=SIZE)
        proposal = dream.run()
        assert told(proposal) == [("expired", "Removing the freeze note", ["project_freeze.md"])]
        assert proposal.groups[0].changes[0].after is None
        assert [progress.phase for progress in dream.told] == ["prune", "prune"]


@pytest.mark.parametrize(
    "replies",
    [
        (),
        (Reply(call("Glob", {"pattern": "*.md"})),),
        (Reply(edits("feedback_size.md", "review under", "review  under")),),
        (Reply(edits("feedback_size.md", "400", "300", LATER)), Reply(edits("feedback_size.md", "300", "400"))),
        (Reply(writes("feedback_new.md", NEW, LATER)), Reply(writes("feedback_new.md", ""))),
    ],
    ids=["nothing", "a look", "white space", "there and back", "made and removed"],
)
def test_what_comes_to_nothing_is_no_proposal(
    database: Database, paths: Paths, tmp_path: Path, replies: tuple[Reply, ...]
) -> None:
    with dreaming_with(database, paths, tmp_path, in_turn(*replies)) as dream:
        dream.keep(feedback_size=SIZE)
        assert dream.run(said(LATER)) == Proposal((), 1)


# --- what it is told --------------------------------------------------------------------------------------------------


def test_it_is_told_what_changed_and_where_to_look(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, NOTHING) as dream:
        dream.keep(feedback_size=SIZE)
        (dream.memory / "logs/2026/10").mkdir(parents=True)
        dream.run(
            said("first of one", 1, session="one"),
            said("first of two", 2, session="two"),
            changed=["- feedback_size.md was written on 2026-10-18"],
            instructions=[f"Use tabs, and {TOKEN}."],
        )
        task = first_text(dream.model_workspace.server.requests[0])
        assert "<today>\nWednesday 2033-05-18\n</today>" in task
        assert "<changed>\n- feedback_size.md was written on 2026-10-18\n</changed>" in task
        for folder in ("logs", "repository", "instructions"):
            assert f"\n{folder}/: " in task
        assert "- [feedback] feedback_size.md (" in task
        assert re.findall(r"^\[[0-9a-f]{6} session\] (\w+)$", task, re.MULTILINE) == ["one", "two"]
        assert TOKEN not in task


def test_two_dreams_share_all_that_comes_before_the_memories(database: Database, paths: Paths, tmp_path: Path) -> None:
    """To the byte, and with extraction the tools: endpoints cache by that."""
    with dreaming_with(database, paths, tmp_path, NOTHING) as dream:
        dream.keep(feedback_size=SIZE)
        dream.run(said("one"))
        dream.model_workspace.clock.at += 60
        dream.keep(project_freeze=FREEZE)
        dream.run(said("two", 2), changed=["- project_freeze.md"])
        dream.model_workspace.say("three")
        dream.model_workspace.work()
        one, two, extraction = dream.model_workspace.server.requests
        first, second = (
            [part for part in pieces(request.raw) if part.place in ("tools", "system")] for request in (one, two)
        )
        assert first == second
        tools = [[part for part in pieces(request.raw) if part.place == "tools"] for request in (one, extraction)]
        assert len(tools[0]) == 6
        assert tools[0] == tools[1]
        assert two.usage["cache_read_input_tokens"] > 2_500
        system = one.body["system"][0]["text"]
        assert str(tmp_path) not in system
        assert "2033" not in system
        assert remarks(dream.model_workspace) == []


def test_turns_that_do_not_fit_are_not_taken(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, NOTHING, context_window_tokens=12_000) as dream:
        dream.keep(feedback_size=SIZE)
        taken = dream.run(*(said(f"part {number} " + "x" * 2_000, number) for number in range(20))).taken
        assert taken is not None
        assert 1 < taken < 20
        assert len(said_in(dream.model_workspace.server.requests[0])) == taken


def test_a_prompt_that_the_endpoint_finds_too_long_is_sent_with_fewer_turns(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    too_long = Status(400, "invalid_request_error", "prompt is too long: 9000 tokens > 6000 maximum")
    with dreaming_with(database, paths, tmp_path, in_turn(too_long)) as dream:
        taken = dream.run(*(said(f"part {number}", number) for number in range(10))).taken
        assert [len(said_in(request)) for request in dream.model_workspace.server.requests] == [10, taken]
        assert taken == 6


def test_a_model_that_declines_is_refused(database: Database, paths: Paths, tmp_path: Path) -> None:
    declining = dreaming_with(database, paths, tmp_path, Reply(stop_reason="refusal"))
    with declining as dream, pytest.raises(RefusedError, match="does not want to work"):
        dream.run(said("one"))


# --- a model that breaks the rules ------------------------------------------------------------------------------------

PINNED = SIZE.replace("type: feedback\n", "type: feedback\nmetadata:\n  pinned: true\n")
FOREIGN = "Some notes of mine.\n"
HELD = content(f"The deploy token is {TOKEN}.")


@pytest.mark.parametrize(
    ("name", "was", "why"),
    [
        ("pinned", PINNED, "pinned.md is pinned and stays as it is."),
        ("foreign", FOREIGN, "foreign.md is no memory that memoryd understands, and stays as it is."),
        ("typed", SIZE.replace("type: feedback", "type: rule"), "typed.md is no memory that memoryd understands"),
        ("torn", SIZE.replace("---\nKeep", "Keep"), "torn.md is no memory that memoryd understands"),
        ("held", HELD, "`held.md` holds a secret, so only the user edits it."),
    ],
)
def test_what_is_not_to_be_changed_is_not(
    database: Database, paths: Paths, tmp_path: Path, name: str, was: str, why: str
) -> None:
    file = f"{name}.md"
    attempts = [writes(file, BOTH), writes(file, ""), edits(file, was[-5:], "x.\n")]
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(*attempts))) as dream:
        dream.keep(**{name: was})
        assert dream.run() == Proposal((), 0)
        answers = dream.answers()
        assert [is_error for _, is_error in answers] == [True] * 3
        assert why in answers[-1][0]
        assert [kind for kind, _ in remarks(dream.model_workspace)] == ["refused"] * 3


def test_what_is_no_file_is_left_alone(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(writes("odd.md", SIZE)))) as dream:
        (dream.memory / "odd.md").mkdir()
        assert dream.run(said("keep every review under 400 changed lines")) == Proposal((), 1)
        assert "odd.md is left alone" in dream.answers()[0][0]


QUOTE = "please keep every review under 400 changed lines"


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (writes("a.md", SIZE, "nobody ever said these words"), "The quote is not in what the user said."),
        (writes("a.md", SIZE, "I will keep all of it in mind"), "The quote is not in what the user said."),
        (writes("a.md", SIZE), "Nobody said 400"),
        (
            writes("a.md", content("Keep every review under 400 changed lines, see https://evil.example/x."), QUOTE),
            "Nobody said https://evil.example/x",
        ),
        (writes("a.md", content(f"Reviews use {TOKEN}."), QUOTE), "`a.md` would hold a secret"),
        (writes("a.md", content("x" * 1_000_000), QUOTE), "`a.md` would be larger than 64 KB"),
        (writes("a.md", "no frontmatter", QUOTE), "The file needs frontmatter"),
        (writes("a.md", content(" "), QUOTE), "The text below the frontmatter is empty or cut off."),
        (writes("MEMORY.md", SIZE, QUOTE), "MEMORY.md is rebuilt by code"),
        (writes("../a.md", SIZE, QUOTE), "leads upwards"),
        (writes("/etc/a.md", SIZE, QUOTE), "is absolute"),
        (writes("repository/a.md", SIZE, QUOTE), "is not at the top level"),
        (writes("transcripts/a.md", SIZE, QUOTE), "is not at the top level"),
        (writes("logs/a.md", SIZE, QUOTE), "is not at the top level"),
        (writes("instructions/1.md", "", QUOTE), "is not at the top level"),
        (
            edits("feedback_mocks.md", "in integration tests", "in integration tests after 17:00", ""),
            "Nobody said 17:00",
        ),
        (
            writes("feedback_mocks.md", content("No mocks of the database in integration tests. […]")),
            "which stands for words that you were not shown",
        ),
        (call("Delete", {"file_path": "feedback_mocks.md"}), ""),
    ],
)
def test_a_write_that_must_not_be_is_refused_with_a_sentence(
    database: Database, paths: Paths, tmp_path: Path, block: Block, why: str
) -> None:
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(block, call("Glob", {"pattern": "*"})))) as dream:
        dream.keep(feedback_mocks=MOCKS)
        assert dream.run(said(QUOTE, answer="I will keep all of it in mind")) == Proposal((), 1)
        if why:
            assert why in dream.answers()[0][0]
            assert dream.answers()[0][1]
        assert TOKEN not in str(remarks(dream.model_workspace))


@pytest.mark.parametrize(
    "block",
    [
        writes("a.md", content("Deploy on Fridays, whoever complains."), QUOTE),
        edits("feedback_mocks.md", "\n\n**Why:** a mocked migration passed and failed in production.", "", QUOTE),
        writes("feedback_mocks.md", "", QUOTE),
    ],
    ids=["other words", "a reason that goes", "another memory"],
)
def test_what_code_cannot_tell_is_a_question_of_meaning(
    database: Database, paths: Paths, tmp_path: Path, block: Block
) -> None:
    def reviewer(request: Request) -> Reply:
        return judged(request, verdict="reject", carried=False, problem="The quote does not carry it.")

    with dreaming_with(database, paths, tmp_path, in_turn(Reply(block)), reviewer=reviewer) as dream:
        dream.keep(feedback_mocks=MOCKS)
        assert len(dream.run(said(QUOTE)).groups) == 1
        assert "The quote does not carry it." in str(dream.model_workspace.server.requests[2].body["messages"][-1])


def test_what_instruction_files_say_is_not_learnt_again(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(writes("a.md", SIZE, QUOTE)))) as dream:
        dream.keep(feedback_mocks=MOCKS)
        rules = ["# Rules\n\n- Keep every review under 400 changed lines\n"]
        dream.run(said(QUOTE), instructions=rules)
        asked = str(dream.model_workspace.server.requests[2].body["messages"][-1])
        assert "a.md: The instruction files say this already: leave it." in asked


def test_what_the_user_took_back_does_not_come_back(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(writes("a.md", SIZE, QUOTE)))) as dream:
        turn = said(QUOTE)
        group = Group((FileChange("a.md", None, SIZE.encode()),), "", (("a.md", evidence_of(turn.said, QUOTE)),))
        with open_directory(str(dream.memory)) as directory:
            commit(database, directory, Changeset("extract", "", (group,)), NOW)
        dream.model_workspace.undo()
        assert history.refused_quotes(database, str(dream.memory), "m1") == [QUOTE]
        assert dream.run(turn) == Proposal((), 1)
        assert "The user took back what these words had led to." in dream.answers()[0][0]


def test_a_model_that_empties_everything_only_asks_for_removals(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    """Each is a group of its own, so that review sees them all."""
    files = {f"feedback_{word}": content(f"Always look at the {word} first.") for word in ("parser", "linter", "index")}
    removals = [writes(f"{name}.md", "") for name in files]
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(*removals))) as dream:
        dream.keep(**files)
        assert {(reason, *names) for reason, _, names in told(dream.run())} == {
            ("expired", f"{name}.md") for name in files
        }


# --- up to the commit -------------------------------------------------------------------------------------------------


def dreamt(dream: Dream) -> Outcome:
    """What the whole job makes of it: gathering, the model, the check of the outcome, the commit."""
    engine = dream.model_workspace.with_model()
    model_workspace = dream.model_workspace
    try:
        dreamer = DreamRunner(
            model_workspace.database,
            model_workspace.paths,
            model_workspace.config,
            model_workspace.clock,
            engine,
            dream.told.append,
        )
        return dreamer.dream(str(dream.memory), "/code/acme")
    finally:
        engine.close()


def test_a_merge_goes_through_the_check_and_the_commit(database: Database, paths: Paths, tmp_path: Path) -> None:
    replies = in_turn(Reply(writes("feedback_mocks.md", BOTH), MERGE_AWAY))
    with dreaming_with(database, paths, tmp_path, replies) as dream:
        dream.keep(feedback_mocks=MOCKS, feedback_db=REAL)
        done = dreamt(dream)
        assert (done.outcome, done.refused) == ("succeeded", ())
        assert done.revised == (("merged", "Merging two mocks notes", ("feedback_mocks.md", "feedback_db.md")),)
        assert dream.bodies() == {"feedback_mocks.md": BOTH.rpartition("---\n")[2]}


def test_an_update_goes_through_the_check_and_the_commit(database: Database, paths: Paths, tmp_path: Path) -> None:
    """Also its turn is done, and what it rests on is known."""

    def answer(request: Request) -> Reply:
        first = len(request.body["messages"]) == 1
        return Reply(edits("feedback_size.md", "under 400", "under 300", LATER)) if first else NOTHING

    with dreaming_with(database, paths, tmp_path, answer) as dream:
        dream.keep(feedback_size=SIZE)
        os.utime(dream.memory / "feedback_size.md", (1_700_000_000, 1_700_000_000))
        session = Session()
        path = write(paths.transcripts_root, session, session.prompt(LATER, timestamp=iso(NOW - 60)) + session.reply())
        os.utime(path, (NOW - 60, NOW - 60))
        dream.model_workspace.ingester.ingest(NOW)
        lock = dream.memory / ".consolidate-lock"
        lock.write_text("")
        os.utime(lock, (NOW - 86_400, NOW - 86_400))
        done = dreamt(dream)
        assert (done.outcome, done.refused) == ("succeeded", ())
        assert dream.bodies() == {"feedback_size.md": "Keep every review under 300 changed lines.\n"}
        assert [piece.quote for piece in history.evidence_of(database, str(dream.memory), "feedback_size.md")] == [
            LATER
        ]
        assert dream.model_workspace.outcomes() == ["succeeded"]


def test_what_the_reviewer_rejects_is_told_back_twice_and_then_waits_in_the_inbox(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    """A merge that forgets what it takes in, a sense that is turned, a memory that has not ended; one is repaired."""
    wrong = {"feedback_db.md": "The real database is lost.", "feedback_size.md": "It has not ended."}

    def reviewer(request: Request) -> Reply:
        ask = rejecting(lambda shown: next((why for name, why in wrong.items() if f'name="{name}"' in shown), ""))
        return Reply(text(ask(Question("", last_text(request), {}))))

    replies = in_turn(
        Reply(writes("feedback_mocks.md", BOTH), MERGE_AWAY, writes("feedback_size.md", "")),
        NOTHING,
        Reply(writes("feedback_size.md", SIZE)),
        NOTHING,
    )
    with dreaming_with(database, paths, tmp_path, replies, reviewer=reviewer) as dream:
        dream.keep(feedback_mocks=MOCKS, feedback_db=REAL, feedback_size=SIZE)
        before = dream.bodies()
        done = dreamt(dream)
        assert done.revised == ()
        assert [(group.names, group.state, group.reason) for group in done.refused] == [
            ("feedback_mocks.md feedback_db.md", "held", "The real database is lost.")
        ]
        assert dream.bodies() == before
        (row,) = inbox.waiting(database, str(dream.memory))
        assert row.held.reason == "The real database is lost."
        asked = str(dream.model_workspace.server.requests[2].body["messages"][-1])
        assert "feedback_mocks.md, feedback_db.md: The real database is lost." in asked
        assert "feedback_size.md: It has not ended." in asked


# --- a run that does not come to an end -------------------------------------------------------------------------------


def looking(request: Request) -> Reply:
    return Reply(call("Read", {"file_path": "feedback_size.md", "offset": len(request.body["messages"])}))


def test_a_run_that_uses_all_its_turns_counts_for_nothing(database: Database, paths: Paths, tmp_path: Path) -> None:
    """Not even what it has written: half a merge is a loss. It was told that the end was near."""

    def answer(request: Request) -> Reply:
        first = len(request.body["messages"]) == 1
        return Reply(edits("feedback_size.md", "400", "300", LATER)) if first else looking(request)

    with dreaming_with(database, paths, tmp_path, answer) as dream:
        dream.keep(feedback_size=SIZE)
        with pytest.raises(UnfinishedError, match="came to no end"):
            dream.run(said(LATER))
        assert len(dream.model_workspace.server.requests) == dream_brief.TURNS == len(dream.told)
        hints = [
            str(request.body["messages"][-1]["content"][-1].get("text"))
            for request in dream.model_workspace.server.requests
        ]
        assert [hint[:24] for hint in hints[-4:]] == [
            "None",
            "You have 3 replies left.",
            "You have 2 replies left.",
            "Your next reply is the l",
        ]


def test_a_model_that_repeats_edits_which_change_nothing_is_stopped(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    same = edits("feedback_size.md", "400", "400")
    replies = in_turn(Reply(edits("feedback_size.md", "400", "300", LATER)), Reply(same), Reply(same))
    with dreaming_with(database, paths, tmp_path, replies) as dream:
        dream.keep(feedback_size=SIZE)
        with pytest.raises(UnfinishedError, match="repeats edits that change nothing"):
            dream.run(said(LATER))
        assert len(dream.model_workspace.server.requests) == 3


@pytest.mark.parametrize("reason", ["max_tokens", "model_context_window_exceeded"])
def test_a_reply_that_is_cut_off_ends_it(database: Database, paths: Paths, tmp_path: Path, reason: str) -> None:
    replies = in_turn(Reply(writes("feedback_mocks.md", BOTH)), Reply(writes("feedback_db.md", ""), stop_reason=reason))
    with dreaming_with(database, paths, tmp_path, replies) as dream:
        dream.keep(feedback_mocks=MOCKS, feedback_db=REAL)
        with pytest.raises(UnfinishedError):
            dream.run()
        assert database.query("SELECT 1 FROM steps WHERE reply IS NOT NULL AND id = (SELECT max(id) FROM steps)") == []


def test_a_run_that_takes_too_long_is_given_up(database: Database, paths: Paths, tmp_path: Path) -> None:
    def tell(_: Progress) -> None:
        dream.model_workspace.clock.at += 400

    with dreaming_with(database, paths, tmp_path, looking) as dream:
        dream.keep(feedback_size=SIZE)
        with pytest.raises(UnfinishedError, match="it took too long"):
            dream.run(deadline=NOW + 1_000, tell=tell)
        assert len(dream.model_workspace.server.requests) == 3


def test_a_run_that_gets_too_dear_is_given_up_after_a_word(database: Database, paths: Paths, tmp_path: Path) -> None:
    budget = Budget(usd_per_day=50, usd_per_dream=0.25)
    with dreaming_with(database, paths, tmp_path, looking, budget=budget) as dream:
        dream.keep(feedback_size=content("word\n" * 3_000))
        with pytest.raises(UnfinishedError, match=r"could cost more than the 0\.25 USD"):
            dream.run()
        assert 2 < len(dream.model_workspace.server.requests) < dream_brief.TURNS
        assert spent(dream.model_workspace).usd <= 0.25
        assert "little money left" in str(dream.model_workspace.server.requests[-1].body["messages"][-1])


def test_a_small_dream_fits_into_the_money_that_is_the_default(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    """With a dozen memories: looks at all of them, searches, merges, ends."""
    names = [f"feedback_part_{number}" for number in range(12)]
    replies = in_turn(
        Reply(*(call("Read", {"file_path": f"{name}.md"}) for name in names)),
        Reply(call("Grep", {"pattern": "nothing", "path": "repository"})),
        Reply(call("Grep", {"pattern": "always", "path": "transcripts"})),
        Reply(writes("feedback_mocks.md", BOTH), MERGE_AWAY),
    )
    with dreaming_with(database, paths, tmp_path, replies, budget=Budget()) as dream:
        dream.keep(feedback_mocks=MOCKS, feedback_db=REAL)
        dream.keep(**{name: content(f"Always look at {name} before anything else.") for name in names})
        (group,) = dream.run(said("hello there"), sessions=[dream.session("always", "look")]).groups
        assert group.reason == "merged"


def test_who_is_told_can_stop_it(database: Database, paths: Paths, tmp_path: Path) -> None:
    class StoppedError(Exception):
        pass

    def tell(progress: Progress) -> None:
        if progress.tools > 2:
            raise StoppedError

    with dreaming_with(database, paths, tmp_path, looking) as dream:
        dream.keep(feedback_size=SIZE)
        with pytest.raises(StoppedError):
            dream.run(tell=tell)
        assert len(dream.model_workspace.server.requests) == 3


def test_trouble_at_the_endpoint_is_the_engine_s_not_the_dream_s(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    with dreaming_with(database, paths, tmp_path, Status(529, "overloaded_error", "busy")) as dream:
        with pytest.raises(EngineRestsError):
            dream.run()
        hold = held(dream.model_workspace)
        assert hold is not None
        assert "has trouble" in hold.text


def test_a_key_that_is_refused_stops_the_engine(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, NOTHING) as dream:
        dream.model_workspace.key = "wrong"
        with pytest.raises(EngineStoppedError):
            dream.run()
        hold = held(dream.model_workspace)
        assert hold is not None
        assert hold.reason == "engine_stopped"


# --- what the repository shows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("look", ["Grep", "Read"])
def test_a_correction_rests_on_path_line_and_commit(
    database: Database, paths: Paths, tmp_path: Path, look: str
) -> None:
    """The line that the agent read is its evidence; nobody said it, so it gives the memory no age."""
    commit = "c0ffee" * 6 + "c0ff"
    line = 'lint = "make check"'
    looks = {
        "Grep": call("Grep", {"pattern": "lint =", "path": "repository"}),
        "Read": call("Read", {"file_path": "repository/tools.toml"}),
    }
    new = content("The linters run with `make check`.", type="project")
    answer = in_turn(Reply(looks[look]), Reply(call("Write", {"file_path": "p.md", "content": new, "quote": line})))
    with dreaming_with(database, paths, tmp_path, answer) as dream:
        dream.keep(p=content("The linters run with `make lint`.", type="project"))
        (dream.root / "tools.toml").write_text(f"[tools]\n{line}\n")
        (dream.root / ".git/refs/heads").mkdir(parents=True)
        (dream.root / ".git/objects").mkdir()
        (dream.root / ".git/HEAD").write_text("ref: refs/heads/main\n")
        (dream.root / ".git/refs/heads/main").write_text(f"{commit}\n")
        (group,) = dream.run().groups
        assert (group.reason, body_in(group).strip()) == ("updated", "The linters run with `make check`.")
        ((name, evidence),) = group.evidence
        assert (name, evidence.session_id, evidence.message_id) == ("p.md", "repository", f"tools.toml:2@{commit}")
        assert (evidence.quote, evidence.said_at) == (line, None)
        (question,) = dream.model_workspace.server.reviews
        assert f'<quote repository=\\"tools.toml:2@{commit}\\">'.encode() in question.raw
        assert remarks(dream.model_workspace) == []


# --- long runs --------------------------------------------------------------------------------------------------------


def test_a_long_run_stays_within_the_window(database: Database, paths: Paths, tmp_path: Path) -> None:
    """Old results go when it fills; what the run is about stays, and it comes to its end."""
    names = [f"feedback_long_{number}" for number in range(20)]

    def answer(request: Request) -> Reply:
        number = dream.model_workspace.server.requests.index(request)
        return Reply(call("Read", {"file_path": f"{names[number]}.md"})) if number < len(names) else NOTHING

    with dreaming_with(database, paths, tmp_path, answer, context_window_tokens=24_000) as dream:
        dream.keep(**{name: content(f"{name} " + "and so on\n" * 600) for name in names})
        assert dream.run() == Proposal((), 0)
        requests = dream.model_workspace.server.requests
        assert len(requests) == len(names) + 1
        assert max(len(request.raw) for request in requests) < 24_000 * 4
        assert any(b"has been cleared" in request.raw for request in requests)
        assert all(b"<memories>" in request.raw for request in requests)
        assert remarks(dream.model_workspace) == []


def test_a_large_window_leaves_the_clearing_to_the_endpoint(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(
        database,
        paths,
        tmp_path,
        NOTHING,
        context_window_tokens=500_000,
        budget=Budget(usd_per_day=99, usd_per_dream=99),
    ) as dream:
        dream.run()
        thoughts, results = dream.model_workspace.server.requests[0].body["context_management"]["edits"]
        assert thoughts["keep"] == {"type": "thinking_turns", "value": 1}
        assert (results["trigger"]["value"], results["clear_at_least"]["value"]) == (180_000, 140_000)


def test_an_endpoint_without_it_is_asked_without_it(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(
        database,
        paths,
        tmp_path,
        NOTHING,
        has_cache=False,
        context_window_tokens=500_000,
        budget=Budget(usd_per_day=99, usd_per_dream=99),
    ) as dream:
        assert dream.run() == Proposal((), 0)
        assert ["context_management" in request.body for request in dream.model_workspace.server.requests] == [
            True,
            False,
        ]


# --- secrets ----------------------------------------------------------------------------------------------------------


def test_no_secret_of_any_folder_is_in_a_request(database: Database, paths: Paths, tmp_path: Path) -> None:
    words = f"the token is {TOKEN} there"
    assert TOKEN not in redact(words)

    def answer(request: Request) -> Reply:
        turn = len(request.body["messages"]) // 2
        (transcript,) = re.findall(r"transcripts/\S+\.txt", first_text(request))
        looks = [
            call("Grep", {"pattern": "token", "path": place})
            for place in ("repository", "transcripts", "logs", "instructions")
        ]
        looks += [call("Read", {"file_path": name}) for name in ("repository/a.txt", "instructions/1.md", "logs/d.md")]
        looks += [
            call("Read", {"file_path": transcript, "limit": 40}),
            call("Bash", {"command": "cat repository/a.txt"}),
        ]
        return Reply(text(words), *looks) if turn == 0 else NOTHING

    with dreaming_with(database, paths, tmp_path, answer) as dream:
        (dream.memory / "logs").mkdir()
        for place in (dream.memory / "logs/d.md", dream.root / "a.txt"):
            place.write_text(words)
        dream.run(sessions=[dream.session(words)], instructions=[words])
        last = dream.model_workspace.server.requests[-1]
        results = results_in(last)
        assert len(results) == 9
        assert all("[redacted" in result for result in results), json.dumps(results, indent=1)
        assert not any(TOKEN.encode() in json.dumps(tool_results(request)).encode() for request in [last])
        assert TOKEN not in dream.told[0].text
        assert TOKEN not in first_text(last)


def test_a_session_that_wants_to_be_left_out_is_not_laid_out(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(call("Grep", {"pattern": "walrus"})))) as dream:
        dream.run(sessions=[dream.session("the walrus", "<memoryd-off>")])
        assert "<sessions>\nnone\n</sessions>" in first_text(dream.model_workspace.server.requests[0])
        assert results_in(dream.model_workspace.server.requests[-1]) == ["no matches"]


def test_a_memory_that_has_ended_does_not_join_one_that_only_speaks_of_the_same(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    """Only what the agent says itself ties two memories together."""
    ended = content("The merge freeze begins on 2026-03-05.", type="project")
    near = content("The merge freeze begins whenever the release manager says so.", type="project")
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(writes("project_day.md", "")))) as dream:
        dream.keep(project_day=ended, project_freeze=near)
        assert told(dream.run()) == [("expired", "Removing the day note", ["project_day.md"])]


def test_what_the_user_took_back_goes_with_their_words(database: Database, paths: Paths, tmp_path: Path) -> None:
    words = "forget what I said about the size of reviews"
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(writes("feedback_size.md", "", words)))) as dream:
        dream.keep(feedback_size=SIZE, feedback_other=SIZE)
        turn = said(words)
        proposal = dream.run(turn)
        assert told(proposal) == [("taken_back", "Removing the size note", ["feedback_size.md"])]
        assert proposal.groups[0].evidence == (("feedback_size.md", evidence_of(turn.said, words)),)


def test_the_whole_home_is_no_repository(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, NOTHING) as dream:
        (dream.root / "a.txt").write_text("x")
        for place in (paths.home, os.path.dirname(paths.home), str(dream.root)):
            dream.run(project_root=place, changed=[f"- from {place}"])
        firsts = [
            first_text(request)
            for request in dream.model_workspace.server.requests
            if len(request.body["messages"]) == 1
        ]
        assert ["repository/: " in task for task in firsts] == [False, False, True]
