"""memoryd's hooks in the text of Claude Code's settings: exactly those come and go, whatever else stands there."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memoryd.clients import json_spans as spans
from memoryd.clients.claude_code.hooks import HOOKS, Before, UnusableError, state_of_hooks, with_hooks, without_hooks
from tests.clients.settings_texts import BOM, EVENTS, settings_texts

PYTHON = "/opt/memoryd/bin/python"
OTHER = "/home/me/my venv/bin/python3"


def value_of(text: str) -> Any:
    return json.loads(text.removeprefix(BOM)) if not spans.is_blank(text) else {}


def states(text: str, python: str = PYTHON) -> list[str]:
    return [hook.state for hook in state_of_hooks(text, python)]


def plain(value: Any) -> Any:
    """What the settings say, without groups that hold nothing but a hook of ours, and what these leave empty."""
    events = {
        event: [group for group in groups if "-m memoryd hook " not in json.dumps(group)]
        for event, groups in value.get("hooks", {}).items()
    }
    return {**value, "hooks": {event: groups for event, groups in events.items() if groups}}


def with_member(text: str, *, at_front: bool) -> str:
    """As somebody adds a setting, before or behind all others."""
    root = spans.root_of(text)
    assert root is not None
    if at_front:
        return text[: root.items[0].start] + '"added": 1, ' + text[root.items[0].start :]
    return text[: root.items[-1].end] + ', "added" : [1]' + text[root.items[-1].end :]


# --- for any text -----------------------------------------------------------------------------------------------------


@given(settings_texts())
def test_what_was_put_in_is_taken_out_to_the_byte(text: str) -> None:
    assert without_hooks(with_hooks(text, PYTHON), Before(text)) == text


@given(settings_texts())
def test_all_hooks_are_there_and_everything_else_says_what_it_said(text: str) -> None:
    installed = with_hooks(text, PYTHON)
    assert states(installed) == ["installed"] * 4
    assert plain(value_of(installed)) == plain(value_of(text))
    assert installed.startswith(BOM) == text.startswith(BOM)


@given(settings_texts())
def test_installing_twice_is_installing_once(text: str) -> None:
    installed = with_hooks(text, PYTHON)
    assert with_hooks(installed, PYTHON) == installed


@given(settings_texts())
def test_another_python_replaces_the_hooks_where_they_stand(text: str) -> None:
    assert with_hooks(with_hooks(text, PYTHON), OTHER) == with_hooks(text, OTHER)
    assert states(with_hooks(text, PYTHON), OTHER) == ["outdated"] * 4


@given(settings_texts(), st.booleans())
def test_a_setting_that_is_added_meanwhile_stays_and_the_rest_is_as_before(text: str, at_front: bool) -> None:
    root = None if spans.is_blank(text) else spans.root_of(text)
    assume(root is not None and root.items)
    removed = without_hooks(with_member(with_hooks(text, PYTHON), at_front=at_front), Before(text))
    assert removed == with_member(text, at_front=at_front)


@given(settings_texts(), st.sampled_from([None, 2, "\t"]))
def test_after_the_client_has_written_the_whole_file_anew_only_the_hooks_vanish(text: str, indent: Any) -> None:
    again = json.dumps({**value_of(with_hooks(text, PYTHON)), "added": 1}, indent=indent)
    removed = without_hooks(again, Before(text))
    assert removed is not None
    assert value_of(removed) == {**value_of(text), "added": 1}


@given(settings_texts())
def test_without_a_note_of_what_was_there_only_empty_things_are_lost(text: str) -> None:
    value = value_of(text)
    assume(value and value.get("hooks") != {} and [] not in value.get("hooks", {}).values())
    assert without_hooks(with_hooks(text, PYTHON)) == text


@given(settings_texts())
def test_where_there_are_none_nothing_is_taken_out(text: str) -> None:
    assert without_hooks(text) == text
    assert without_hooks(text, Before(None)) == text


# --- as people write them ---------------------------------------------------------------------------------------------


def test_they_are_written_in_the_file_s_own_hand() -> None:
    text = '{\r\n\t"model": "x",\r\n\t"hooks": {\r\n\t\t"Stop": []\r\n\t}\r\n}'
    installed = with_hooks(text, PYTHON)
    stop = (
        '\t\t"Stop": [\r\n\t\t\t{\r\n\t\t\t\t"hooks": [\r\n\t\t\t\t\t{\r\n\t\t\t\t\t\t"type": "command",\r\n'
        '\t\t\t\t\t\t"command": "/opt/memoryd/bin/python -P -m memoryd hook stop || true",\r\n'
        '\t\t\t\t\t\t"timeout": 5\r\n\t\t\t\t\t}\r\n\t\t\t\t]\r\n\t\t\t}\r\n\t\t],\r\n\t\t"UserPromptSubmit": [\r\n'
    )
    assert stop in installed
    assert "\n" not in installed.replace("\r\n", "")


@pytest.mark.parametrize("gap", ["", " "])
def test_what_is_in_one_line_stays_in_one_line(gap: str) -> None:
    text = json.dumps({"a": [1, 2]}, separators=("," + gap, ":" + gap))
    installed = with_hooks(text, PYTHON)
    assert installed == json.dumps(json.loads(installed), separators=("," + gap, ":" + gap))


def test_an_empty_file_is_written_as_the_client_writes_its_own() -> None:
    installed = with_hooks("", PYTHON)
    assert installed == json.dumps(json.loads(installed), indent=2) + "\n"
    assert [(hook.event, hook.name, hook.timeout_seconds) for hook in HOOKS] == [
        ("UserPromptSubmit", "user-prompt-submit", 5),
        ("SessionStart", "session-start", 5),
        ("Stop", "stop", 5),
        ("SessionEnd", "session-end", 2),
    ]
    assert json.loads(installed)["hooks"]["SessionEnd"] == [
        {
            "hooks": [
                {
                    "type": "command",
                    "command": "/opt/memoryd/bin/python -P -m memoryd hook session-end || true",
                    "timeout": 2,
                }
            ]
        }
    ]


def test_a_python_with_a_blank_in_its_path_is_quoted_and_found_again() -> None:
    found = state_of_hooks(with_hooks("{}", OTHER), PYTHON)
    assert {hook.python for hook in found} == {OTHER}
    assert found[2].command == "'/home/me/my venv/bin/python3' -P -m memoryd hook stop || true"


def hooked(*commands: str, event: str = "Stop", **more: Any) -> str:
    """Settings with these commands in one group."""
    entries = [{"type": "command", "command": command, **more} for command in commands]
    return json.dumps({"hooks": {event: [{"matcher": "*", "hooks": entries}]}})


def test_an_older_form_is_brought_up_to_date_and_keeps_what_the_user_said_in_it() -> None:
    text = hooked("other", "python3 -m memoryd hook stop", timeout=60)
    assert states(text)[2] == "outdated"
    stop = json.loads(with_hooks(text, PYTHON))["hooks"]["Stop"]
    assert stop == json.loads(hooked("other", HOOKS[2].command(PYTHON), timeout=60))["hooks"]["Stop"]


def test_hooks_of_ours_that_nobody_needs_any_more_go() -> None:
    """A second one for the same moment, and one for a moment that this memoryd does not care for."""
    doubled = json.loads(hooked(HOOKS[2].command(OTHER), "other", HOOKS[2].command(PYTHON)))
    doubled["hooks"]["SubagentStop"] = [{"hooks": [{"type": "command", "command": HOOKS[2].command(PYTHON)}]}]
    events = json.loads(with_hooks(json.dumps(doubled), PYTHON))["hooks"]
    assert sorted(events) == sorted(EVENTS)
    assert events["Stop"] == json.loads(hooked(HOOKS[2].command(PYTHON), "other"))["hooks"]["Stop"]


@pytest.mark.parametrize(
    "command",
    [
        "memoryd hook stop",
        "x-m memoryd hook stop",
        "python -m memoryd hooks status",
        "echo\n -m memoryd hook x",
        "logger start; /usr/bin/python3 -m memoryd hook stop ; notify-send 'turn done'",
        "timeout 3 python3 -P -m memoryd hook stop || true",
        "python3 -P -m memoryd hook stop || true && echo done",
        "$(which python3) -m memoryd hook stop",
    ],
)
def test_commands_that_only_look_like_ours_are_left_alone(command: str) -> None:
    text = hooked(command)
    assert without_hooks(text) == text
    assert command in [entry["command"] for entry in json.loads(with_hooks(text, PYTHON))["hooks"]["Stop"][0]["hooks"]]


def test_of_doubled_keys_the_last_gets_the_hooks_and_the_first_never_comes_to_count() -> None:
    text = '{"hooks": {"Stop": [{"hooks": [{"command": "old"}]}]}, "hooks": {"Stop": [7], "Stop": []}}'
    installed = with_hooks(text, PYTHON)
    assert installed.startswith(text[: text.index('"Stop": []')])
    assert states(installed) == ["installed"] * 4
    assert without_hooks(installed, Before(text)) == text
    assert value_of(without_hooks(installed) or "") == {"hooks": {"Stop": []}}


def test_a_hook_in_a_doubled_key_that_does_not_count_is_not_installed_but_removed() -> None:
    text = hooked(HOOKS[2].command(PYTHON))[:-1] + ', "hooks": {}}'
    assert states(text) == ["missing"] * 4
    assert without_hooks(text) == '{"hooks": {"Stop": []}, "hooks": {}}'.replace('"Stop": []', "")


def test_of_a_group_that_the_user_put_ours_into_the_rest_stays() -> None:
    assert without_hooks(hooked("a", HOOKS[2].command(PYTHON), "b")) == hooked("a", "b")
    assert without_hooks(hooked(HOOKS[2].command(PYTHON), "b")) == hooked("b")


def test_a_file_that_was_not_there_goes_again_unless_something_else_was_put_in() -> None:
    installed = with_hooks("", PYTHON)
    assert without_hooks(installed, Before(None)) is None
    assert without_hooks(with_member(installed, at_front=False), Before(None)) == '{\n  "added" : [1]\n}\n'
    assert without_hooks(with_member(installed, at_front=True), Before(None)) == '{\n  "added": 1\n}\n'


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"a": 1,}', "is not valid JSON (line 1)"),
        ('{\n  // mine\n  "a": 1\n}', "is not valid JSON (line 2)"),
        ('{"a": NaN}', "is not valid JSON"),
        ('{"a": "\x01"}', "is not valid JSON"),
        ("{} {}", "is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "is not a JSON object"),
        ("null", "is not a JSON object"),
        ('{"hooks": []}', "has `hooks` that are no object"),
        ('{"hooks": null}', "has `hooks` that are no object"),
        ('{"hooks": {"Stop": {}}}', "has `hooks.Stop` that is no list"),
    ],
)
def test_what_cannot_be_understood_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(UnusableError) as refused:
        with_hooks(text, PYTHON)
    assert str(refused.value).startswith(complaint)


def test_long_numbers_and_odd_letters_are_nobody_s_business() -> None:
    text = f'{{"n": {"9" * 9000}, "s": "\\ud800\\u00e9é"}}'
    assert without_hooks(with_hooks(text, PYTHON), Before(text)) == text
    assert with_hooks(text, PYTHON).startswith(text[:-1])
