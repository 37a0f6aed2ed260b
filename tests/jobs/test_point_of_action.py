"""Before a tool call: the memories that speak of it, once a session, and the refusal of those that bind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from memoryd.clients.tool_actions import action_in
from memoryd.config import Config
from memoryd.jobs import enforce, point_of_action
from memoryd.jobs.point_of_action import CallAnswer, CallRequest, at_call, record_call
from memoryd.memory.document import parse
from memoryd.recall import shown
from memoryd.recall.outcomes import outcomes
from memoryd.rules import allowance, confirmed
from memoryd.rules.forbidden import read_patterns
from tests.recall.memories import NOW, topic

if TYPE_CHECKING:
    from memoryd.paths import Paths

NPM, COMMITS = "feedback_npm.md", "feedback_commits.md"


class Project:
    """A memory directory with two rules, and a session beside it."""

    def __init__(self, paths: Paths, place: Path) -> None:
        self.paths, self.place = paths, place
        place.mkdir(parents=True)
        self.write(NPM, "Never run npm install here")
        self.write(COMMITS, "Keep every commit under 200 lines")

    def write(self, name: str, text: str, enforce: str = "", *, is_confirmed: bool = True) -> None:
        data = topic(text, text, kind="feedback")
        if enforce:
            data = parse(data).with_value(("metadata", "enforce"), enforce).render()
        if is_confirmed and (patterns := read_patterns(enforce)):
            confirmed.confirm(self.paths, str(self.place), name, patterns)
        (self.place / name).write_bytes(data)

    def call(self, command: str = "", file: str = "", session: str = "s1", config: Config | None = None) -> CallAnswer:
        given = {"command": command} if command else {"file_path": file, "new_string": "x"}
        action = action_in("Bash" if command else "Edit", given)
        request = CallRequest(session, "/repo", "/repo", action, f"call of {command}")
        answer = at_call(self.paths, config or Config(), str(self.place), request, NOW)
        record_call(self.paths, str(self.place), request, answer, NOW)
        return answer

    def names(self, command: str, session: str = "s1") -> list[str]:
        return [one.name for one in self.call(command, session=session).shown]


@pytest.fixture
def project(paths: Paths, tmp_path: Path) -> Project:
    return Project(paths, tmp_path / "memory")


def test_a_rule_comes_with_the_call_once_a_session_and_again_after_a_compaction(project: Project) -> None:
    assert project.names("ls") == []
    answer = project.call("npm install x")
    assert answer.refusal == ""
    assert "Never run npm install here" in answer.text
    assert project.names("npm install x") == []
    assert project.names("git commit -m x") == [COMMITS]
    assert project.names("npm install x", session="s2") == [NPM]
    shown.forget(project.paths, "s1", NOW)
    assert project.names("npm install x") == [NPM]
    outcome = outcomes(project.paths)[str(project.place), NPM]
    assert (outcome.shown, outcome.with_calls, outcome.sessions) == (3, 3, 2)


def test_a_rule_that_a_prompt_was_answered_with_is_known(project: Project) -> None:
    shown.record(project.paths, "s1", str(project.place), [shown.Shown(NPM, 10)], NOW)
    assert project.names("npm install x") == []


def test_calls_share_the_budget_of_the_session(project: Project) -> None:
    shown.record(project.paths, "s1", "/elsewhere", [shown.Shown("b.md", 60 * 1024)], NOW)
    assert project.names("npm install x") == []


def test_a_binding_rule_refuses_until_it_is_allowed_once(project: Project) -> None:
    project.write(NPM, "Never run npm install here", enforce="run npm install")
    first = project.call("cd web && npm i left-pad")
    assert "Never run npm install here" in first.refusal
    assert "memoryd enforce feedback_npm.md --allow-once" in first.refusal
    assert project.call("npm run build").refusal == ""
    allowance.allow(project.paths, str(project.place), NPM, "s1", NOW)
    assert project.call("npm install x", session="s2").refusal
    allowed = project.call("npm install x")
    assert (allowed.refusal, allowed.refused_by) == ("", NPM)
    assert project.call("npm install x").refusal
    outcome = outcomes(project.paths)[str(project.place), NPM]
    assert (outcome.refused, outcome.allowed, outcome.sessions) == (3, 1, 2)


def test_a_binding_rule_also_holds_where_recall_is_off_or_set_aside(project: Project) -> None:
    project.write(NPM, "Never run npm install here", enforce="run npm install")
    shown.set_aside(project.paths, "s1", NOW, is_aside=True)
    assert project.call("npm install x").refusal
    assert project.names("git commit -m x") == []
    shown.set_aside(project.paths, "s1", NOW, is_aside=False)
    config = Config()
    config = config._replace(features=config.features._replace(recall=False))
    assert project.call("npm install x", config=config).refusal
    assert project.call("git commit -m x", config=config).shown == ()


def test_nothing_is_refused_because_it_resembles_something(project: Project) -> None:
    project.write(NPM, "Never run npm install here", enforce="run npm install")
    for command in (
        "echo npm install",
        "pnpm install",
        "npm run install-all",
        "git commit -m 'npm install'",
        "cat npm",
    ):
        assert project.call(command).refusal == ""


def test_a_file_that_asks_to_be_binding_refuses_nothing_before_the_user_says_so(project: Project) -> None:
    project.write(NPM, "Never run npm install here", enforce="run npm install", is_confirmed=False)
    assert project.call("npm install x").shown[0].name == NPM
    assert project.call("npm install x").refusal == ""
    assert project.call(file=str(project.place / NPM)).refusal == ""
    assert project.call("memoryd undo").refusal == ""
    project.write(NPM, "Never run npm install here", enforce="run npm install")
    assert project.call("npm install x").refusal
    wider = "run npm install; run git; edit src/"
    project.write(NPM, "Never run npm install here", enforce=wider, is_confirmed=False)  # by another machine, say
    assert project.call("npm install x").refusal
    assert project.call("git status").refusal == ""
    assert project.call(file="/repo/src/a.py").refusal == ""
    confirmed.withdraw(project.paths, str(project.place), NPM)
    assert project.call("npm install x").refusal == ""


def test_an_agent_does_not_loosen_what_binds_it(project: Project) -> None:
    assert project.call("memoryd enforce").refusal == ""
    assert project.call("memoryd undo").refusal == ""  # nothing binds
    assert "by the user alone" in project.call("memoryd enforce npm --yes").refusal  # nor does it make a rule
    project.write(NPM, "Never run npm install here", enforce="run npm install")
    assert "by the user alone" in project.call("memoryd enforce npm --allow-once").refusal
    assert "by the user alone" in project.call(file=str(project.place / NPM)).refusal
    assert project.call(file=str(project.place / COMMITS)).refusal == ""


def test_no_other_way_to_loosen_a_rule_is_open(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    project.write(NPM, "Never run npm install here", enforce="run npm install")
    for command in (
        f"rm ~/memory/{NPM}",
        "rm ~/memory/*.md",
        "rm -r ~/memory/",
        "cd ~ && rm -r memory",
        f"mv {tmp_path} /elsewhere",
        "memoryd undo",
        "memoryd restore x",
        "memoryd forget npm",
    ):
        assert "by the user alone" in project.call(command).refusal, command
    for command in ("cp a.txt ~", "mv a.txt ~/", f"rm ~/memory/{COMMITS}", "rm -r build; cp a ~", "memoryd why npm"):
        assert project.call(command).refusal == "", command


def test_a_secret_in_a_rule_is_not_handed_over(project: Project) -> None:
    secret = "ghp_" + "aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY3zA5"
    project.write(NPM, f"Never run npm install with {secret}", enforce="run npm install")
    answer = project.call("npm install")
    assert answer.refusal
    assert secret not in answer.refusal


def test_a_vanished_directory_says_nothing(paths: Paths, tmp_path: Path) -> None:
    request = CallRequest("s1", "/repo", "/repo", action_in("Bash", {"command": "npm install"}))
    assert at_call(paths, Config(), str(tmp_path / "none"), request, NOW) == CallAnswer()


def test_a_global_rule_comes_with_calls_of_every_project_and_binds_there(project: Project) -> None:
    person = Project(project.paths, Path(project.paths.global_dir))
    person.write(NPM, "Never run sudo anywhere", "run sudo", is_confirmed=False)
    answer = project.call("sudo reboot")
    assert [one.name for one in answer.shown] == [f"global/{NPM}"]
    assert answer.refusal == ""  # nobody has confirmed that it binds
    person.write(NPM, "Never run sudo anywhere", "run sudo")
    refused = project.call("sudo reboot", session="s2")
    assert f"memoryd enforce global/{NPM} --allow-once" in refused.refusal
    outcome = outcomes(project.paths)[project.paths.global_dir, NPM]
    assert (outcome.shown, outcome.refused, outcome.refused_in) == (1, 1, "s2")
    allowance.allow(project.paths, project.paths.global_dir, NPM, "s2", NOW)
    assert project.call("sudo reboot", session="s2").refusal == ""


def test_among_many_rules_of_which_some_are_global_one_has_to_be_meant_more_surely(project: Project) -> None:
    project.write("feedback_plan.md", "Terragrunt: plan first")
    assert project.names("terragrunt apply") == ["feedback_plan.md"]
    person = Project(project.paths, Path(project.paths.global_dir))
    for number in range(200):
        person.write(f"feedback_{number}.md", f"Say thing{number} in a word")
    assert project.names("terragrunt apply", session="s2") == []
    assert NPM in project.names("npm install x", session="s2")


def test_a_global_rule_refuses_also_where_advice_of_the_project_fails(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> list[int]:
        raise IndexError

    Project(project.paths, Path(project.paths.global_dir)).write(NPM, "Never run sudo anywhere", "run sudo")
    monkeypatch.setattr(point_of_action, "matched", fail)
    assert project.call("sudo npm install").refusal != ""


def test_a_call_without_a_rule_does_not_wait_for_what_few_calls_need() -> None:
    """Secrets, stems and words are read in tens of milliseconds, and a client waits before every call."""
    code = (
        "import sys, memoryd.clients.hook, memoryd.jobs.point_of_action, memoryd.jobs.prefetch\n"
        "print([name for name in ('security.redact', 'recall.concepts', 'rules.triggers', 'rules.written')"
        " if f'memoryd.{name}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_what_was_confirmed_of_a_directory_that_cannot_be_reached_stays_confirmed(
    project: Project, tmp_path: Path
) -> None:
    project.write(NPM, "Never run npm install here", "run npm install")
    asked = [(str(project.place), NPM)]
    project.place.rename(tmp_path / "unmounted")
    project.place.symlink_to(tmp_path / "elsewhere")
    enforce.withdraw_unasked(project.paths)
    assert confirmed.all_confirmed(project.paths) == asked
    project.place.unlink()
    project.place.mkdir()  # where the disk was mounted
    enforce.withdraw_unasked(project.paths)
    assert confirmed.all_confirmed(project.paths) == asked
    (project.place / "MEMORY.md").touch()
    enforce.withdraw_unasked(project.paths)
    assert confirmed.all_confirmed(project.paths) == []
