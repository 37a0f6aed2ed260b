"""Parser of the config file. An unknown key or a wrong value is an error with its line and the fix."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from memoryd.config.schema import Config, Features, ProjectOptions
from memoryd.engines.model.prices import Price
from memoryd.errors import ConfigError
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from memoryd.config.schema import Key
    from memoryd.paths import Paths

_MOST = 1e9
LOG_LEVELS = ("debug", "info", "warning", "error")
ENGINES = ("auto", "offline", "claude", "anthropic")
EFFORTS = ("low", "medium", "high", "xhigh", "max")
REVIEWS = ("doubts", "all", "off")
NOTICES = ("session", "each", "off")
SELECTORS = ("local", "model")
_KEY = re.compile(r"\s*sk-")
LEAST_WINDOW_TOKENS = 8_000
"""Smallest context window with room for the brief and something to read."""


class Field(NamedTuple):
    """Field of a table: its type and its key."""

    kind: Any
    """Its type."""
    key: Key | None
    """None: it is a table of its own."""


def load(paths: Paths) -> Config:
    """Read the config file; without one, the defaults. What the environment turns off is off. Raises ConfigError."""
    config = _read(paths)
    off = {name: False for name in Features._fields if name in paths.switched_off}
    team = config.team._replace(enabled=config.team.enabled and "team" not in paths.switched_off)
    return config._replace(features=config.features._replace(**off), team=team)


def settings_in_force(paths: Paths, *, any_config: bool) -> tuple[Paths, Config]:
    """The settings in force, and the paths that they lead to.

    Where the config file cannot be used: with `any_config` those from before, or the defaults; otherwise ConfigError.
    """
    try:
        config = load(paths)
    except ConfigError:
        if not any_config:
            raise
        try:
            config = load(paths._replace(config_file=paths.kept_config))
        except ConfigError:
            config = Config()
    paths = paths._replace(is_index_written=config.index.write, excluded=config.projects.exclude)
    client = config.claude_code.config_dir
    return (paths._replace(claude_dir=client) if client else paths), config


def _read(paths: Paths) -> Config:
    try:
        if not stat.S_ISREG(os.stat(paths.config_file).st_mode):
            raise ConfigError(f"The config file {paths.config_file} is no regular file.", f"ls -l {paths.config_file}")
        with open(paths.config_file, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        if not os.path.islink(paths.config_file):
            return Config()
        raise ConfigError(
            f"The config file {paths.config_file} is a symlink that leads nowhere.", f"ls -l {paths.config_file}"
        ) from None
    except OSError as error:
        raise ConfigError(
            f"The config file {paths.config_file} cannot be read: {error.strerror}.", f"ls -l {paths.config_file}"
        ) from error
    return parse(data, paths)


def parse(data: bytes, paths: Paths) -> Config:
    """Turn the bytes of a config file into a Config. Raises ConfigError, which names the line."""
    import tomllib  # noqa: PLC0415 - 4 ms that those without a config file need not pay

    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _error(paths, data.count(b"\n", 0, error.start) + 1, "is not UTF-8 text") from error
    try:
        tables = tomllib.loads(text)
    except RecursionError as error:
        raise _error(paths, 1, "is nested too deeply") from error
    except ValueError as error:  # TOMLDecodeError, or a number with thousands of digits
        sentence, line = _toml_problem(str(error), text)
        raise _error(paths, line, f"is not valid TOML: {sentence}") from error
    return _Reader(text, paths).config(tables)


def _error(paths: Paths, line: int, sentence: str) -> ConfigError:
    end = "" if sentence.endswith("?") else "."
    return ConfigError(
        f"{paths.config_file}, line {line}: {sentence}{end}", f"${{EDITOR:-vi}} +{line} {paths.config_file}"
    )


class _Reader:
    """Builds the named tuples from parsed tables and knows where in the text each key stands."""

    def __init__(self, text: str, paths: Paths) -> None:
        self._text = text
        self._paths = paths

    def config(self, tables: dict[str, Any]) -> Config:
        config: Config = self._build(Config, tables, ())
        if config.log.level not in LOG_LEVELS:
            raise self._wrong(("log", "level"), _one_of(LOG_LEVELS))
        if config.engine not in ENGINES:
            raise self._wrong(("engine",), _one_of(ENGINES))
        if config.review not in REVIEWS:
            raise self._wrong(("review",), _one_of(REVIEWS))
        if config.notice not in NOTICES:
            raise self._wrong(("notice",), _one_of(NOTICES))
        if not re.fullmatch(r"(?:[01]\d|2[0-3]):[0-5]\d", config.dream.night):
            raise self._wrong(("dream", "night"), 'a time of day such as "03:30"')
        if config.recall.selector not in SELECTORS:
            raise self._wrong(("recall", "selector"), _one_of(SELECTORS))
        if not re.match(r"https?://[^\s/@]+(?:/[^\s@]*)?\Z", config.anthropic.base_url):
            raise self._wrong(
                ("anthropic", "base_url"), "an address such as https://api.anthropic.com, without a key in it"
            )
        anthropic = config.anthropic
        if not re.fullmatch(r"[A-Za-z_]\w*|", anthropic.api_key_variable):
            raise self._wrong(("anthropic", "api_key_variable"), "the name of a variable, not the key itself")
        if _KEY.match(anthropic.api_key_command):
            raise self._wrong(("anthropic", "api_key_command"), "a command that prints the key, not the key itself")
        for name in ("extraction_model", "dream_model"):
            if not getattr(anthropic, name).strip():
                raise self._wrong(("anthropic", name), "the name of a model")
        self._check_claude(config)
        self._check_address(config.sync.remote, ("sync", "remote"))
        if config.team.store not in ("ref", "folder"):
            self._check_address(config.team.store, ("team", "store"))
        if config.sync.remote and self._place(config.sync.remote) == self._place(config.team.store):
            raise self._wrong(
                ("team", "store"), "another place than `sync.remote`, which is for your own machines alone"
            )
        if 0 < config.anthropic.context_window_tokens < LEAST_WINDOW_TOKENS:
            raise self._wrong(("anthropic", "context_window_tokens"), f"0 or at least {LEAST_WINDOW_TOKENS}")
        return config

    def _check_address(self, address: str, path: tuple[str, ...]) -> None:
        if address and (re.search(r"[\s\x00-\x1f]", address) or re.match(r"-|[a-z]+://[^/@]*:[^/@]*@", address)):
            raise self._wrong(
                path, "an address of a git repository without a password, a directory, or s3://bucket/folder"
            )
        if address and not re.search(r":", address):
            self._directory(address, path)

    def _place(self, address: str) -> str:
        """An address in one spelling, to be compared."""
        return self._paths.expand(address) or address.rstrip("/").removesuffix(".git")

    def _check_claude(self, config: Config) -> None:
        settings = config.claude
        if not settings.command.strip():
            raise self._wrong(("claude", "command"), "the name or the path of a command")
        for name in ("extraction_model", "dream_model"):
            if not getattr(settings, name).strip():
                raise self._wrong(("claude", name), "the name of a model")
        for name in ("extraction_effort", "review_effort", "dream_effort"):
            if getattr(settings, name) not in EFFORTS:
                raise self._wrong(("claude", name), _one_of(EFFORTS))

    def _build(self, kind: type[Any], values: dict[str, Any], where: tuple[str, ...]) -> Any:
        known = fields_of(kind)
        built = {}
        for name, value in values.items():
            path = (*where, name)
            if name not in known:
                raise self._unknown(path, list(known))
            field = known[name]
            if field.key is None:
                if not isinstance(value, dict):
                    raise self._wrong(path, "a table")
                built[name] = self._build(field.kind, value, path)
            else:
                built[name] = self._checked(field.kind, value, path, field.key.least)
        return kind(**built)

    def _checked(self, hint: Any, value: Any, path: tuple[str, ...], least: float | None) -> Any:
        if hint in (int, float):
            kinds, wanted = (int, "a whole number") if hint is int else (int | float, "a number")
            if isinstance(value, bool) or not isinstance(value, kinds) or not abs(value) < _MOST:
                raise self._wrong(path, f"{wanted}, and less than a billion")
            if least is not None and value < least:
                raise self._wrong(path, f"at least {least:g}")
            return hint(value)
        if hint is bool:
            if not isinstance(value, bool):
                raise self._wrong(path, "true or false")
            return value
        if hint in (str, str | None):
            if not isinstance(value, str):
                raise self._wrong(path, "a string")
            return value if hint is str else self._directory(value, path)  # an optional string is a directory
        if hint == tuple[str, ...]:
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise self._wrong(path, "a list of strings")
            return tuple(_real_pattern(self._directory(item, path)) for item in value)
        if hint == Mapping[str, Price]:
            return self._prices(value, path)
        if hint == Mapping[str, ProjectOptions]:
            return self._projects(value, path)
        if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
            raise self._wrong(path, "a table of strings")
        if path == ("claude", "environment"):
            return self._variables(value, path)
        return MappingProxyType(
            {os.path.realpath(self._directory(key, path)): self._directory(item, path) for key, item in value.items()}
        )

    def _variables(self, value: dict[str, str], path: tuple[str, ...]) -> Mapping[str, str]:
        for name, text in value.items():
            if not re.fullmatch(r"[A-Za-z_]\w*", name) or "\0" in text:
                raise self._wrong((*path, name), "a variable: a name of letters, digits and _, and a text")
        return MappingProxyType(value)

    def _prices(self, value: Any, path: tuple[str, ...]) -> Mapping[str, Price]:
        if not isinstance(value, dict) or not all(isinstance(price, dict) for price in value.values()):
            raise self._wrong(path, "a table of prices by model")
        for model, price in value.items():
            for name, number in price.items():
                if name not in Price._fields:
                    raise self._unknown((*path, model, name), sorted(Price._fields))
                if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < _MOST:
                    raise self._wrong((*path, model, name), "a number of at least 0")
            if not {"input", "output"} <= price.keys():
                raise self._wrong((*path, model), "a table with input and output")
        return MappingProxyType({model: Price(**price) for model, price in value.items()})

    def _projects(self, value: Any, path: tuple[str, ...]) -> Mapping[str, ProjectOptions]:
        if not isinstance(value, dict) or not all(isinstance(options, dict) for options in value.values()):
            raise self._wrong(path, "a table of settings by project root")
        for root, options in value.items():
            for name, setting in options.items():
                if name not in ProjectOptions._fields:
                    raise self._unknown((*path, root, name), list(ProjectOptions._fields))
                if not isinstance(setting, bool):
                    raise self._wrong((*path, root, name), "true or false")
        roots = {root: os.path.realpath(self._directory(root, path)) for root in value}
        return MappingProxyType({roots[root]: ProjectOptions(**options) for root, options in value.items()})

    def _directory(self, value: str, path: tuple[str, ...]) -> str:
        expanded = self._paths.expand(value)
        if expanded is None:
            given = "" if _KEY.match(value) else f", not {value!r}"  # a key in the wrong place is not shown
            raise self._wrong(path, f"an absolute path or one below ~/{given}")
        return expanded

    def _wrong(self, path: tuple[str, ...], wanted: str) -> ConfigError:
        return _error(self._paths, _line_of(self._text, path), f"`{'.'.join(path)}` must be {wanted}")

    def _unknown(self, path: tuple[str, ...], known: list[str]) -> ConfigError:
        import difflib  # noqa: PLC0415 - only for a mistake

        *where, name = path
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        is_mistyped = bool(difflib.get_close_matches(name, near, cutoff=0.8))  # else it may belong somewhere else
        short_names = [full.rpartition(".")[2] for full in key_names()]
        meant = difflib.get_close_matches(name, short_names, n=1, cutoff=0.8)
        elsewhere = [full for full in key_names() if full.rpartition(".")[2] in meant]
        if elsewhere and not is_mistyped:
            hint = f"did you mean `{elsewhere[0]}`?"
        elif near:
            hint = f"did you mean `{'.'.join([*where, near[0]])}`?"
        else:
            hint = "known here: " + ", ".join(f"`{key}`" for key in known)
        return _error(self._paths, _line_of(self._text, path), f"there is no key `{'.'.join(path)}`; {hint}")


def _one_of(words: tuple[str, ...]) -> str:
    return "one of " + ", ".join(f'"{word}"' for word in words)


def _real_pattern(pattern: str) -> str:
    """The pattern with its fixed beginning resolved: working directories in transcripts have no symlinks left."""
    fixed = re.match(r"[^*?\[]*/|[^*?\[]*$", pattern)
    if fixed is None or not fixed[0]:
        return pattern
    rest = pattern[fixed.end() :]
    return os.path.join(os.path.realpath(fixed[0]), rest) if rest else os.path.realpath(fixed[0])


def fields_of(table: type[Any]) -> dict[str, Field]:
    """Fields of a table by name. Reading annotations takes as long as parsing the file, so only files with content pay."""
    hints = get_type_hints(table, include_extras=True)
    return {name: Field(*(get_args(hint) or (hint, None))) for name, hint in hints.items()}


def key_names() -> list[str]:
    """Every key that works, as `table.key`."""
    names = []
    for name, field in fields_of(Config).items():
        if field.key is None:
            names += [f"{name}.{inner}" for inner in field.kind._fields]
        else:
            names.append(name)
    return names


def _toml_problem(message: str, text: str) -> tuple[str, int]:
    """The parser's sentence and the line it means; at the end of the document that is the last one."""
    match = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if match is None:
        return message, 1
    sentence = re.sub(r"\('(\w+)',\)", r"[\1]", message[: match.start()])
    return sentence[:1].lower() + sentence[1:], int(match[1]) if match[1] else max(1, len(text.splitlines()))


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """The line that sets the key; the parser does not say, so the file is searched as a person would."""
    table: tuple[str, ...] = ()
    best = 1
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[\[?\s*([^\[\]]+?)\s*\]\]?\s*(?:#|$)", line):
            table = tuple(part.strip().strip("\"'") for part in header[1].split("."))
            if path[: len(table)] == table:
                best = number
        elif key := re.match(r"\s*([\w\-.\"']+)\s*=", line):
            full = table + tuple(part.strip("\"'") for part in key[1].split("."))
            if path[: len(full)] == full:
                return number
    return best
