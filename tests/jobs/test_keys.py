"""Keys through the jobs: they come with a memory, are redacted and bounded, and never count as what it says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoryd.clock import iso
from memoryd.jobs.revisions import Drawn, group_of
from memoryd.memory.directory import FileState
from memoryd.memory.document import parse
from memoryd.model import Revision
from tests.jobs.desk import NOW
from tests.jobs.hired import NOTHING, RULE, RULE_MD, content, hired, in_turn, remarks, writes
from tests.jobs.test_dream_agent import dreaming_with, edits, said
from tests.messages_server import Reply, tool_results
from tests.sample import Session

if TYPE_CHECKING:
    from pathlib import Path

    from memoryd.paths import Paths
    from memoryd.state.database import Database
    from tests.jobs.desk import Desk
    from tests.jobs.office import Office

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
KEYS = '"pull request size; how big may a change be; 评审"'
LATER = "from now on 300 changed lines are the limit of a review"
NEWER = "Keep every review under 300 changed lines."


def keyed(keys: str = KEYS, body: str = "Keep every review under 400 changed lines.") -> str:
    return content(body, metadata=f"\n  keys: {keys}")


def kept(office: Office, name: str = RULE_MD) -> tuple[str, ...]:
    return parse((office.memory / name).read_bytes()).keys


# --- extraction -------------------------------------------------------------------------------------------------------


def test_a_memory_gets_the_keys_that_the_model_gives(database: Database, paths: Paths) -> None:
    with hired(database, paths, in_turn(Reply(writes(written=keyed())), NOTHING)) as office:
        office.say(RULE)
        office.work()
        lines = (office.memory / RULE_MD).read_text().splitlines()
        assert f"  keys: {KEYS}" in lines
        assert lines[lines.index(f"  keys: {KEYS}") + 1] == f"  modified: {iso(NOW)}"
        assert parse((office.memory / RULE_MD).read_bytes()).body == "Keep every review under 400 changed lines.\n"


def test_keys_that_make_no_sense_are_dropped_and_the_memory_is_kept(database: Database, paths: Paths) -> None:
    given = f"[[a], {{b: c}}, '{'x' * 100}', 'https://evil.example/x', deploy]"
    with hired(database, paths, in_turn(Reply(writes(written=keyed(given))), NOTHING)) as office:
        office.say(RULE)
        assert office.work() == [("succeeded", (RULE_MD,))]
        assert kept(office) == ("deploy",)
        assert "evil" not in (office.memory / RULE_MD).read_text()


def test_a_secret_among_the_keys_is_never_written(database: Database, paths: Paths) -> None:
    with hired(database, paths, in_turn(Reply(writes(written=keyed(f'"a; {TOKEN}"'))), NOTHING)) as office:
        office.say(RULE)
        office.work()
        assert office.files() == []
        assert [kind for kind, _ in remarks(office)] == ["refused"]


def test_keys_prove_nothing(database: Database, paths: Paths) -> None:
    """What the user never said is refused in a body, also if a key says it."""
    invented = keyed('"deploys happen on fridays at noon"', "Deploys happen on fridays at noon.")
    with hired(database, paths, in_turn(Reply(writes(written=invented)), NOTHING)) as office:
        office.say(RULE)
        assert office.work() == [("succeeded_no_output", ())]
        (result,) = tool_results(office.server.requests[-1])
        assert "That is not what the user said" in result["content"]


def updated(office: Office) -> None:
    office.say(RULE)
    office.work()
    office.say(LATER, session=Session("two"))
    assert office.work() == [("succeeded", (RULE_MD,))]
    assert parse((office.memory / RULE_MD).read_bytes()).body == f"{NEWER}\n"


def test_an_update_replaces_the_keys_or_leaves_them(database: Database, paths: Paths) -> None:
    """A key that goes is no statement that is lost."""
    answers = [Reply(writes(written=keyed())), NOTHING, Reply(writes(LATER, written=keyed('"diff size"', NEWER)))]
    with hired(database, paths, in_turn(*answers)) as office:
        updated(office)
        assert kept(office) == ("diff size",)
        assert remarks(office) == []


def test_an_update_that_says_nothing_of_keys_keeps_them(database: Database, paths: Paths) -> None:
    answers = [Reply(writes(written=keyed())), NOTHING, Reply(writes(LATER, written=content(NEWER)))]
    with hired(database, paths, in_turn(*answers)) as office:
        updated(office)
        assert kept(office) == ("pull request size", "how big may a change be", "评审")


def test_other_keys_alone_are_no_change(database: Database, paths: Paths) -> None:
    answers = [Reply(writes(written=keyed())), NOTHING, Reply(writes(LATER, written=keyed('"other"')))]
    with hired(database, paths, in_turn(*answers)) as office:
        office.say(RULE)
        office.work()
        before = office.memories()
        office.say(LATER, session=Session("two"))
        office.work()
        assert office.memories() == before


def test_the_embedded_engine_writes_names_that_stood_beside_the_words(desk: Desk) -> None:
    desk.say(f"can you fix src/pay/handler.ts with {TOKEN}? from now on, never retry payments automatically")
    ((_, (name,)),) = desk.work()
    document = parse((desk.memory / name).read_bytes())
    assert document.keys == ("handler.ts",)
    assert "handler" not in document.body
    assert "ghp_" not in document.text


# --- dreams -----------------------------------------------------------------------------------------------------------


def file(body: str, keys: str = "") -> FileState:
    given = {"metadata": f"\n  keys: {keys}"} if keys else {}
    return FileState(content(body, **given).encode(), 0, 0o600)


def rewritten(revision: Revision, **files: FileState) -> tuple[str, ...]:
    drawn = Drawn({f"{name}.md": state for name, state in files.items()}, {}, {}, set())
    group = group_of(revision, drawn, set(), NOW)
    assert group is not None
    assert group.changes[0].after is not None
    return parse(group.changes[0].after).keys


def test_a_merge_is_found_by_the_keys_of_all_its_files() -> None:
    merged = Revision("merged", "Merging", ("a.md", "b.md", "c.md"), "feedback", "", "d", "One. Two.\n")
    files = {"a": file("One.", '"x; y"'), "b": file("Two."), "c": file("Two.", "[Y, z]")}
    assert rewritten(merged, **files) == ("x", "y", "z")
    assert rewritten(merged._replace(keys=("new",)), **files) == ("new", "Y", "z")
    many = {name: file("One.", f'"{"; ".join(f"{name}{number}" for number in range(20))}"') for name in "abc"}
    assert len(rewritten(merged, **many)) == 24


def test_what_is_changed_alone_keeps_its_keys_unless_there_are_others() -> None:
    updated = Revision("updated", "Updating", ("a.md",), "feedback", "", "d", "Three.\n")
    assert rewritten(updated, a=file("One.", '"x; y"')) == ("x", "y")
    assert rewritten(updated._replace(keys=("z",)), a=file("One.", '"x; y"')) == ("z",)
    assert rewritten(updated, a=file("One.")) == ()


def test_what_is_learnt_in_a_dream_can_have_keys() -> None:
    learnt = Revision("learnt", "Learning", (), "feedback", "three", "d", "Three.\n", keys=("x", TOKEN))
    assert rewritten(learnt) == ("x",)


def test_an_agent_cannot_make_a_statement_of_a_key(database: Database, paths: Paths, tmp_path: Path) -> None:
    """In a dream nothing but memories and the user's words carry a statement."""
    fact = "The payment gateway moves to Frankfurt in spring."
    edit = edits("feedback_size.md", "changed lines.", f"changed lines. {fact}")
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(edit))) as dream:
        dream.keep(feedback_size=keyed(f'"{fact[:-1]}"'))
        assert dream.run().revisions == ()
        assert [kind for kind, _ in remarks(dream.office)] == ["refused"]


def test_keys_alone_are_no_reason_for_a_revision(database: Database, paths: Paths, tmp_path: Path) -> None:
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(edits("feedback_size.md", "评审", "diff")))) as dream:
        dream.keep(feedback_size=keyed())
        assert dream.run().revisions == ()


def test_the_keys_that_an_agent_gives_in_a_dream_go_on_with_the_memory(
    database: Database, paths: Paths, tmp_path: Path
) -> None:
    with dreaming_with(database, paths, tmp_path, in_turn(Reply(writes(written=keyed())))) as dream:
        (revision,) = dream.run(said(RULE)).revisions
        assert (revision.reason, revision.keys) == ("learnt", ("pull request size", "how big may a change be", "评审"))
        assert "评审" not in revision.body
