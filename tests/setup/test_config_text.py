"""Settings put into a config file: the one line, whatever else stands there."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.config import Config
from memoryd.errors import ConfigError
from memoryd.paths import paths_from
from memoryd.setup.config_text import with_setting
from memoryd.setup.engines import EngineChoice, config_text

_LINES = st.lists(
    st.sampled_from(
        [
            "# a comment",
            "",
            'review = "all"',
            '  engine   =  "auto"  # mine',
            "[turns]",
            "quiet_seconds = 3",
            "[anthropic]",
            'api_key_file = "~/key"',
            "[claude]",
            'command = "c"',
        ]
    ),
    unique=True,
)


@given(_LINES, st.sampled_from(["", "turns", "anthropic", "new"]), st.text(st.characters(codec="utf-8"), max_size=9))
def test_the_setting_has_the_value_and_nothing_else_changes(lines: list[str], table: str, value: str) -> None:
    text = "\n".join(lines)
    try:
        before = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    changed = with_setting(text, table, "engine", value)
    after = tomllib.loads(changed)
    (after[table] if table else after).pop("engine")
    (before.get(table, {}) if table else before).pop("engine", None)
    assert {name: found for name, found in after.items() if found != {}} == {
        name: found for name, found in before.items() if found != {}
    }
    assert [line for line in lines if "engine" not in line and line] == [
        line for line in changed.splitlines() if line in lines and "engine" not in line and line
    ]
    assert with_setting(changed, table, "engine", value) == changed


def test_a_local_model_is_an_address_and_a_name() -> None:
    paths = paths_from({"HOME": "/home/me"})
    text = config_text('# mine\n[anthropic]\nbase_url = "x"\n', EngineChoice("anthropic", "", "http://l:1", "q"), paths)
    assert text == (
        'engine = "anthropic"\n# mine\n[anthropic]\ndream_model = "q"\nextraction_model = "q"\nbase_url = "http://l:1"\n'
    )
    assert Config().engine == "auto"


def test_a_file_in_which_it_would_not_count_is_left_to_its_owner() -> None:
    text = 'note = """\n[x]\n"""\n'
    with pytest.raises(ConfigError):
        config_text(text, EngineChoice("claude"), paths_from({"HOME": "/home/me"}))


@given(_LINES, st.sampled_from(["", "turns", "new"]))
def test_lines_that_end_with_crlf_go_on_doing_so(lines: list[str], table: str) -> None:
    text = "".join(f"{line}\n" for line in ("# mine", *lines))
    expected = with_setting(text, table, "engine", "x").replace("\n", "\r\n")
    assert with_setting(text.replace("\n", "\r\n"), table, "engine", "x") == expected
