"""Facts of a session: what is collected from its entries, whatever the number of looks."""

from __future__ import annotations

from memoryd.notes.facts import SessionFacts
from memoryd.notes.hand_back import handed_back
from memoryd.notes.sections import sections_of
from tests.notes.working_session import SECRET, WorkingSession, facts_of


def test_messages_files_commands_and_answers_are_collected() -> None:
    session = WorkingSession()
    facts = facts_of(b"".join(session.long_turn(number) for number in range(1, 4)))
    assert [message.text[:7] for message in facts.messages] == ["step 1:", "step 2:", "step 3:"]
    assert facts.first.startswith("step 1:")
    assert [(file.path, file.reads, file.changes, file.names) for file in facts.files.values()] == [
        (f"src/part{number}.py", 1, 1, (f"part_{number}",)) for number in range(1, 4)
    ]
    command = facts.commands["pytest tests/test_part2.py"]
    assert (command.outcome, command.detail, command.turn) == ("ok", "2 passed in 1.0s", 2)
    assert facts.answer == "Part 3 accepts empty lines now."
    assert [(each.number, each.files, each.calls, each.commands) for each in facts.lines][-1] == (
        3,
        ("src/part3.py",),
        3,
        1,
    )
    assert facts.tokens > 3 * 600


def test_an_error_is_kept_until_the_same_works() -> None:
    session = WorkingSession()
    begin = session.prompt("run the tests") + session.use(
        "Bash", "Exit code 2\nE   assert 1 == 2\n1 failed", is_error=True, command="make test"
    )
    (problem,) = facts_of(begin).problems
    assert (problem.what, problem.error, problem.solved_in) == (
        "`make test`: exit code 2",
        "E   assert 1 == 2\n1 failed",
        0,
    )
    later = session.prompt("again") + session.use("Bash", "3 passed", command="make test")
    (problem,) = facts_of(begin + later).problems
    assert problem.solved_in == 2
    assert facts_of(begin + later).commands["make test"].outcome == "ok"


def test_a_change_that_was_refused_changed_nothing() -> None:
    session = WorkingSession()
    facts = facts_of(
        session.prompt("change it")
        + session.use("Edit", "String not found.\nmore", is_error=True, file_path="/code/acme/a.py", new_string="x")
    )
    assert facts.files["a.py"].changes == 0
    assert facts.lines[-1].files == ()
    assert "String not found" in facts.problems[0].error


def test_a_stop_by_the_user_and_what_they_said_then_is_a_correction() -> None:
    session = WorkingSession()
    facts = facts_of(
        session.prompt("deploy it")
        + session.ask("Bash", command="make deploy")[0]
        + session.interrupt()
        + session.prompt("no, to staging first")
    )
    assert facts.lines[0].is_stopped
    assert facts.problems[-1].error == "and then said: no, to staging first"
    assert facts.running == []


def test_a_plan_is_the_last_one_and_single_tasks_change_it() -> None:
    session = WorkingSession()
    steps = [{"content": "parse", "status": "completed"}, {"content": "print", "status": "in_progress"}]
    facts = facts_of(session.prompt("go") + session.use("TodoWrite", todos=steps))
    assert [(step.text, step.is_done) for step in facts.plan] == [("parse", True), ("print", False)]
    tasks = (
        session.prompt("go")
        + session.use("TaskCreate", subject="measure", description="d")
        + session.use("TaskCreate", subject="tune", description="d")
        + session.use("TaskUpdate", taskId="1", status="completed")
        + session.use("Skill", skill="release")
    )
    facts = facts_of(tasks)
    assert [(step.text, step.is_done) for step in facts.plan] == [("measure", True), ("tune", False)]
    assert list(facts.skills) == ["release"]
    assert facts.running == []


def test_facts_are_bounded_and_without_secrets() -> None:
    session = WorkingSession()
    data = [session.prompt(f"message {number} with {SECRET} in it " + "x " * 3_000) for number in range(300)]
    data += [
        session.use("Bash", f"token={SECRET}", command=f"curl -H 'Authorization: Bearer {SECRET}' {number}")
        for number in range(300)
    ]
    data += [session.reply(f"The token is {SECRET}.")]
    facts = facts_of(b"".join(data), look_lines=100)
    kept = facts.as_json()
    assert SECRET not in kept
    assert len(kept) < 400_000
    assert facts.turns == 300
    assert facts.messages[-1].text.startswith("message 299")


def test_facts_of_another_version_are_collected_anew() -> None:
    assert SessionFacts('{"version": 0, "turns": 7}').turns == 0


def test_what_was_laid_down_early_outlives_two_hundred_short_messages() -> None:
    laid_down = (
        "no new colours please, marketing accepts only those of the palette; ask me where none has enough contrast"
    )
    session = WorkingSession()
    data = session.prompt("make the shop accessible") + session.prompt(laid_down)
    data += b"".join(session.prompt(f"ok, now the same in page{number}.css") for number in range(200))
    facts = facts_of(data)
    assert laid_down in [message.text for message in facts.messages]
    assert [message.turn for message in facts.messages][-60:] == list(range(143, 203))
    assert laid_down in sections_of(facts, {})["Task"]
    assert laid_down in handed_back(facts, {}, "", 9_400)
    assert facts.messages == facts_of(data, look_lines=10_000).messages
