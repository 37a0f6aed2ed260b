"""Credentials: which key goes to which endpoint.

A key counts only where memoryd's own config names it: one that happens to be in the environment is no consent to upload,
nor to pay.
"""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

from memoryd.engines.model.prices import NEWEST
from memoryd.errors import EngineStoppedError
from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping

    from memoryd.config import Anthropic, Config
    from memoryd.engines.model.prices import Price

NAME = "anthropic"
CLAUDE = "claude"
"""The engine that is the user's own command."""
OFFICIAL = "https://api.anthropic.com"
COMMAND_SECONDS = 30.0
_KEY_BYTES = 4096


class Account(NamedTuple):
    """Where requests go, and what key they carry."""

    base_url: str
    key: str

    @property
    def is_official(self) -> bool:
        return self.base_url == OFFICIAL


def is_chosen(config: Config) -> bool:
    """Whether a model works for us: asked for, or "auto" with a key in the config."""
    settings = config.anthropic
    names_a_key = bool(settings.api_key_file or settings.api_key_command or settings.api_key_variable)
    return config.engine in (NAME, CLAUDE) or (config.engine == "auto" and names_a_key)


def engine_name(config: Config) -> str:
    """The engine with a model that the config chooses, as holds and usage know it."""
    return CLAUDE if config.engine == CLAUDE else NAME


def with_models(config: Config) -> Config:
    """The config with the models of the chosen engine where briefs and limits look for them."""
    if config.engine != CLAUDE:
        return config
    claude = config.claude
    models = type(config.anthropic)(
        extraction_model=claude.extraction_model,
        review_model=claude.review_model,
        dream_model=claude.dream_model,
        longest_run_seconds=claude.longest_run_seconds,
    )
    return config._replace(anthropic=models)


def account_of(settings: Anthropic, environment: Mapping[str, str]) -> Account:
    """The endpoint and its key. Raises EngineStoppedError where the key that the config names cannot be had."""
    base_url = settings.base_url.rstrip("/").removesuffix("/messages").removesuffix("/v1")  # the SDK adds it
    if settings.api_key_file:
        key = _in_file(settings.api_key_file)
    elif settings.api_key_command:
        key = _by_command(settings.api_key_command, environment)
    elif settings.api_key_variable:
        key = environment.get(settings.api_key_variable, "").strip()
        if not key:
            raise EngineStoppedError(
                f"The variable {settings.api_key_variable}, which the config names for the API key, is not set here.",
                "name a file instead: api_key_file in the config",
            )
    elif is_local(base_url):
        key = "none"  # local servers ask for none, but the SDK does
    else:
        raise EngineStoppedError(
            f"The config wants a model at {base_url} and names no API key.", "set anthropic.api_key_file in the config"
        )
    if not key.isascii() or not key.isprintable() or " " in key:
        raise EngineStoppedError(
            "The API key holds characters that no key has.", "look at what anthropic.api_key_* in the config names"
        )
    return Account(base_url, key)


def is_local(base_url: str) -> bool:
    """Whether the endpoint is on this machine."""
    import ipaddress  # noqa: PLC0415 - as below
    from urllib.parse import urlsplit  # noqa: PLC0415

    host = urlsplit(base_url).hostname or ""
    try:
        address = ipaddress.ip_address("127.0.0.1" if host == "localhost" else host)
    except ValueError:  # a name
        return host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def price_of(config: Config, model: str) -> Price | None:
    """What a model costs; None: nothing, it runs on this machine. Raises EngineStoppedError where nobody knows.

    A paid model behind a gateway on this machine has a price all the same. For `claude` it is the list price.
    """
    if config.engine == CLAUDE:
        return config.budget.price_of(NEWEST.get(model, model))
    price = config.budget.price_of(model)
    if price is None and not is_local(config.anthropic.base_url):
        raise EngineStoppedError(
            f"Nobody knows what the model {model} costs, so no cap could hold.",
            f'add to the config: [budget.prices."{model}"] input = … and output = … (USD for a million tokens)',
        )
    return price


def settings_digest(config: Config) -> bytes:
    """Changes when the settings of the model do, or the file with the key: a stopped engine is then tried again.

    Of the settings that hold, not of the file: in one that cannot be used, nothing has changed.
    """
    import hashlib  # noqa: PLC0415 - 5 ms that the embedded engine need not cost

    if config.engine == CLAUDE:
        return hashlib.blake2b(repr(config.claude).encode(), digest_size=16).digest()
    digest = hashlib.blake2b(repr((config.engine, config.anthropic, config.budget)).encode(), digest_size=16)
    if config.anthropic.api_key_file:
        try:
            status = os.stat(config.anthropic.api_key_file)
            digest.update(f"{status.st_ino} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_size}".encode())
        except OSError:
            digest.update(b"no key")
    return digest.digest()


def key_problem(settings: Anthropic) -> EngineStoppedError | None:
    """What is wrong with the file that holds the key, before anybody needs it."""
    if settings.api_key_file:
        try:
            _in_file(settings.api_key_file)
        except EngineStoppedError as error:
            return error
    return None


def _in_file(path: str) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        quoted = shlex.quote(path)
        is_missing = isinstance(error, FileNotFoundError)
        raise EngineStoppedError(
            f"The file with the API key, {path}, cannot be read: {error.strerror}.",
            f"mkdir -p {shlex.quote(os.path.dirname(path))} && install -m 600 /dev/null {quoted} && ${{EDITOR:-vi}} {quoted}"
            if is_missing
            else f"ls -l {quoted}",
        ) from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise EngineStoppedError(f"{path} is no file that could hold an API key.", f"ls -l {shlex.quote(path)}")
        if status.st_mode & 0o077:
            raise EngineStoppedError(
                f"The file with the API key, {path}, can be read by others.", f"chmod 600 {shlex.quote(path)}"
            )
        key = os.read(descriptor, _KEY_BYTES).decode("utf-8", "replace").strip()
    finally:
        os.close(descriptor)
    if not key:
        raise EngineStoppedError(f"The file {path} holds no API key.", f"${{EDITOR:-vi}} {shlex.quote(path)}")
    return key


def _by_command(command: str, environment: Mapping[str, str]) -> str:
    import subprocess  # noqa: PLC0415 - `status` asks this module too, and has to be there in an instant

    fix = f"try it yourself: {command}"
    try:
        done = subprocess.run(  # noqa: S603 - the user's own command, from the config
            shlex.split(command),
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=COMMAND_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise EngineStoppedError("The command that prints the API key does not end.", fix) from error
    except (OSError, ValueError) as error:
        why = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise EngineStoppedError(f"The command that prints the API key cannot be run: {why}.", fix) from error
    key = done.stdout[:_KEY_BYTES].decode("utf-8", "replace").strip()
    if done.returncode or not key:
        raise EngineStoppedError(
            f"The command that prints the API key ended with code {done.returncode} and printed"
            f" {'something' if key else 'nothing'}.",
            fix,
        )
    return key
