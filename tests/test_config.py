"""The config file: what it accepts, and how it says what it does not."""

from __future__ import annotations

import json
import os
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Config, Extraction, ProjectSettings, Scan, key_names, load, parse
from memoryd.config.json_schema import json_schema
from memoryd.config.parse import fields_of
from memoryd.errors import ConfigError
from memoryd.paths import paths_from

if TYPE_CHECKING:
    from memoryd.paths import Paths

EXAMPLE = Path(os.path.dirname(__file__), "../config.example.toml")


def problem(text: str | bytes, paths: Paths) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text if isinstance(text, bytes) else text.encode(), paths)
    assert caught.value.fix.startswith("${EDITOR:-vi} +")
    return caught.value.sentence.removeprefix(f"{paths.config_file}, ")


def test_without_a_file_the_defaults_hold(paths: Paths) -> None:
    assert load(paths) == Config()


@pytest.mark.parametrize(("value", "is_on"), [("1", False), ("true", False), ("0", True), ("", True), ("off", True)])
def test_the_environment_can_turn_a_feature_off(environment: dict[str, str], value: str, *, is_on: bool) -> None:
    """Also when the file says otherwise, and again when it is reread: the paths carry it."""
    paths = paths_from(environment | {"MEMORYD_DISABLE_DREAM": value, "MEMORYD_DISABLE_WHAT_IS_TO_COME": "1"})
    assert load(paths).features.dream is is_on
    os.makedirs(os.path.dirname(paths.config_file))
    Path(paths.config_file).write_text("[features]\ndream = true\n")
    assert load(paths).features.dream is is_on


def test_values_are_read_and_paths_made_absolute(paths: Paths) -> None:
    text = b"""
        memory_root = "~/memories"
        [scan]
        interval_seconds = 2
        [projects]
        exclude = ["~/private/*", "/srv/x"]
        [projects.memory_dirs]
        "~/a" = "/b"
    """
    assert parse(text, paths) == Config(
        memory_root=f"{paths.home}/memories",
        scan=Scan(interval_seconds=2.0),
        projects=ProjectSettings(exclude=(f"{paths.home}/private/*", "/srv/x"), memory_dirs={f"{paths.home}/a": "/b"}),
    )


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "[scan]\nintervall_seconds = 1",
            "line 2: there is no key `scan.intervall_seconds`; did you mean `scan.interval_seconds`?",
        ),
        ("\n\nscam = 1", "line 3: there is no key `scam`; did you mean `scan`?"),
        ("[recal]\nselector = 'local'", "line 1: there is no key `recal`; did you mean `recall`?"),
        ("quiet_secnds = 1", "line 1: there is no key `quiet_secnds`; did you mean `turns.quiet_seconds`?"),
        ("quiet_seconds = 1", "line 1: there is no key `quiet_seconds`; did you mean `turns.quiet_seconds`?"),
        ("[log]\nzzz = 1", "line 2: there is no key `log.zzz`; known here: `level`."),
        ("[crew]\nurl = 'x'", "line 1: there is no key `crew`;"),
        ("scan = 3", "line 1: `scan` must be a table."),
        (
            "[scan]\ninterval_seconds = '5'",
            "line 2: `scan.interval_seconds` must be a number, and less than a billion.",
        ),
        (
            "[scan]\ninterval_seconds = true",
            "line 2: `scan.interval_seconds` must be a number, and less than a billion.",
        ),
        (
            "[scan]\ninterval_seconds = nan",
            "line 2: `scan.interval_seconds` must be a number, and less than a billion.",
        ),
        ("[scan]\ninterval_seconds = 0", "line 2: `scan.interval_seconds` must be at least 0.1."),
        ("[turns]\nquiet_seconds = -1", "line 2: `turns.quiet_seconds` must be at least 0."),
        ("memory_root = 'here'", "line 1: `memory_root` must be an absolute path or one below ~/, not 'here'."),
        ("memory_root = 3", "line 1: `memory_root` must be a string."),
        ("[projects]\nexclude = '/a'", "line 2: `projects.exclude` must be a list of strings."),
        ("[projects]\nexclude = [1]", "line 2: `projects.exclude` must be a list of strings."),
        ("[projects]\nmemory_dirs = ['a']", "line 2: `projects.memory_dirs` must be a table of strings."),
        ("[projects.memory_dirs]\n'/a' = 7", "line 1: `projects.memory_dirs` must be a table of strings."),
        ("log.level = 'loud'", 'line 1: `log.level` must be one of "debug", "info", "warning", "error".'),
        ("[recall]\nselector = 'mode'", 'line 2: `recall.selector` must be one of "local", "model".'),
        ("[recall]\nmodel_seconds = 0", "line 2: `recall.model_seconds` must be at least 0.1."),
        ("[sync]\nremote = 'https://me:word@example.org/m.git'", "line 2: `sync.remote` must be an address of a git"),
        ("[sync]\nremote = '-x'", "line 2: `sync.remote` must be an address of a git repository without a password"),
        (
            "[sync]\nremote = 'memories'",
            "line 2: `sync.remote` must be an absolute path or one below ~/, not 'memories'.",
        ),
        (
            "[sync]\nremote = '/mnt/nas'\n[team]\nstore = '/mnt/nas/'",
            "line 4: `team.store` must be another place than `sync.remote`, which is for your own machines alone.",
        ),
        ("[sync]\nremote = 's3://b/m'\n[team]\nstore = 's3://b/m/'", "line 4: `team.store` must be another place than"),
        ("[team]\nstore = 'reff'", "line 2: `team.store` must be an absolute path or one below ~/, not 'reff'."),
        ("[scan]\ninterval_seconds =", "line 2: is not valid TOML: invalid value."),
        ("[scan\n", "line 1: is not valid TOML: expected ']' at the end of a table declaration."),
        ("a = 'x", "line 1: is not valid TOML:"),
        (b"a = 1\n# \xff", "line 2: is not UTF-8 text."),
        (
            "[scan]\ninterval_seconds = 1e12",
            "line 2: `scan.interval_seconds` must be a number, and less than a billion.",
        ),
        ("[scan]\ninterval_seconds = " + "9" * 400, "line 2: `scan.interval_seconds` must be a number"),
        ("a = " + "9" * 5000, "line 1: is not valid TOML: Exceeds the limit"),
        ("a = " + "[" * 3000 + "]" * 3000, "line 1: is nested too deeply."),
    ],
)
def test_a_mistake_is_named_with_its_line_and_the_nearest_key(paths: Paths, text: str, sentence: str) -> None:
    assert problem(text, paths).startswith(sentence)


def test_patterns_are_compared_with_real_paths(paths: Paths, tmp_path: Path) -> None:
    """Behind a symlinked home, a private folder has to stay private."""
    (tmp_path / "real" / "private").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    config = parse(f'[projects]\nexclude = ["{tmp_path}/link/private", "{tmp_path}/link/p*"]'.encode(), paths)
    assert config.projects.exclude == (f"{tmp_path}/real/private", f"{tmp_path}/real/p*")


def test_a_file_that_cannot_be_read_is_an_error(paths: Paths) -> None:
    os.makedirs(paths.config_file)
    with pytest.raises(ConfigError, match="is no regular file"):
        load(paths)


# --- config.example.toml ----------------------------------------------------------------------------------------------


def _documented() -> dict[str, tuple[str, str]]:
    """Key -> (sentence, the value as written) of the example; every key is commented out."""
    table = ""
    found = {}
    sentence: list[str] = []
    for line in EXAMPLE.read_text().splitlines():
        if header := re.fullmatch(r"\[(\w+)\]", line):
            table = header[1] + "."
        elif key := re.fullmatch(r"#(\w+) = (.+)", line):
            found[table + key[1]] = (" ".join(sentence), key[2])
            sentence = []
        elif line.startswith("# "):
            sentence.append(line[2:])
        elif not line:
            sentence = []
    return found


def _expected() -> dict[str, tuple[str, str]]:
    expected = {}

    def take(prefix: str, part: Any) -> None:
        for name, field in fields_of(type(part)).items():
            value = getattr(part, name)
            if field.key is None:
                take(f"{name}.", value)
                continue
            default = field.key.example
            if not default:
                default = json.dumps(value) if isinstance(value, str | bool) else f"{value:g}"
            expected[prefix + name] = (field.key.sentence, default)

    take("", Config())
    return expected


def test_the_example_documents_every_key_with_its_sentence_and_default() -> None:
    assert _documented() == _expected()
    assert sorted(_documented()) == sorted(key_names())


def test_the_example_is_a_valid_config_also_with_every_key_set(paths: Paths) -> None:
    text = EXAMPLE.read_text()
    assert parse(text.encode(), paths) == Config()
    everything = re.sub(r"^#(\w+ = )", r"\1", text, flags=re.MULTILINE)
    assert len(tomllib.loads(everything)) == len(Config._fields)
    parse(everything.encode(), paths)


def test_the_throttle_is_a_whole_number_of_turns(paths: Paths) -> None:
    assert parse(b"[extraction]\nevery_turns = 3", paths) == Config(extraction=Extraction(every_turns=3))
    for value, wanted in (
        ("0", "at least 1"),
        ("1.5", "a whole number, and less than a billion"),
        ("true", "a whole number, and less than a billion"),
    ):
        sentence = f"line 2: `extraction.every_turns` must be {wanted}."
        assert problem(f"[extraction]\nevery_turns = {value}", paths) == sentence


def test_the_schema_has_every_key_with_its_default_and_type() -> None:
    schema = json_schema()
    names = [
        f"{table}.{key}" if "properties" in entry else table
        for table, entry in schema["properties"].items()
        for key in entry.get("properties", {"": None})
    ]
    assert names == key_names()
    types = {"boolean": bool, "integer": int, "number": int | float, "string": str, "array": list, "object": dict}
    for table in schema["properties"].values():
        for entry in table.get("properties", {"": table}).values():
            assert entry["description"]
            assert "default" not in entry or isinstance(entry["default"], types[entry["type"]])
            assert entry.get("default") in entry.get("enum", [entry.get("default")])
