"""Which key goes where: only one that memoryd's own config names, and never one that others can read."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.config import Anthropic, Budget, Config, Features
from memoryd.engines.model import credentials as module
from memoryd.engines.model.client import Client, Connection, EndpointError
from memoryd.engines.model.credentials import Account, account_of, is_chosen, is_local, price_of, settings_digest
from memoryd.engines.model.prices import PRICES, Price
from memoryd.engines.model.tools import SCHEMAS
from memoryd.errors import EngineStoppedError
from tests.messages_server import MessagesServer, Reply, Status, text

if TYPE_CHECKING:
    from pathlib import Path

OFFICIAL = "https://api.anthropic.com"


# --- whether ----------------------------------------------------------------------------------------------------------

CREDENTIALS: dict[str, dict[str, Any]] = {
    "none": {},
    "file": {"api_key_file": "/home/u/key"},
    "command": {"api_key_command": "pass show key"},
    "variable": {"api_key_variable": "ANTHROPIC_API_KEY"},
}


@pytest.mark.parametrize("credential", CREDENTIALS)
@pytest.mark.parametrize("engine", ["auto", "offline", "anthropic"])
def test_a_model_works_where_it_is_asked_for_or_a_key_is_named(engine: str, credential: str) -> None:
    config = Config(engine=engine, anthropic=Anthropic(**CREDENTIALS[credential]))
    assert is_chosen(config) == (engine == "anthropic" or (engine == "auto" and credential != "none"))


def test_a_key_in_the_environment_alone_is_no_consent(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(variable, "environment-key")
    assert not is_chosen(Config())
    with pytest.raises(EngineStoppedError, match="names no API key"):
        account_of(Anthropic(), os.environ)


def test_an_address_alone_is_no_consent() -> None:
    """A gateway on this machine may be a paid one; who wants it says so with the engine."""
    assert not is_chosen(Config(anthropic=Anthropic(base_url="http://localhost:11434")))


# --- which ------------------------------------------------------------------------------------------------------------


def key_file(place: Path, content: bytes = b"file-key\n", mode: int = 0o600) -> str:
    path = place / "key"
    path.write_bytes(content)
    path.chmod(mode)
    return str(path)


def printing(words: str) -> str:
    return shlex.join([sys.executable, "-c", words])


def test_the_file_goes_before_the_command_and_the_command_before_the_variable(tmp_path: Path) -> None:
    settings = Anthropic(
        api_key_file=key_file(tmp_path), api_key_command=printing("print('command-key')"), api_key_variable="KEY"
    )
    environment = {"KEY": " variable-key\n", "PATH": os.environ["PATH"]}
    assert account_of(settings, environment) == Account(OFFICIAL, "file-key")
    settings = settings._replace(api_key_file=None)
    assert account_of(settings, environment) == Account(OFFICIAL, "command-key")
    settings = settings._replace(api_key_command="")
    assert account_of(settings, environment) == Account(OFFICIAL, "variable-key")


@pytest.mark.parametrize(
    ("base_url", "sent_to"),
    [
        (OFFICIAL, OFFICIAL),
        (f"{OFFICIAL}/", OFFICIAL),
        (f"{OFFICIAL}/v1", OFFICIAL),
        (f"{OFFICIAL}/v1/", OFFICIAL),
        ("http://localhost:11434", "http://localhost:11434"),
        ("https://gateway.example/anthropic/", "https://gateway.example/anthropic"),
    ],
)
def test_the_address_may_end_as_people_write_it(base_url: str, sent_to: str) -> None:
    account = account_of(Anthropic(base_url=base_url, api_key_variable="KEY"), {"KEY": "k"})
    assert account == Account(sent_to, "k")
    assert account.is_official == (sent_to == OFFICIAL)


def test_a_local_endpoint_needs_no_key_and_any_other_does() -> None:
    assert account_of(Anthropic(base_url="http://localhost:11434"), {}) == Account("http://localhost:11434", "none")
    with pytest.raises(EngineStoppedError) as caught:
        account_of(Anthropic(base_url="https://gateway.example"), {"ANTHROPIC_API_KEY": "k"})
    assert (caught.value.exit_code, caught.value.fix) == (77, "set anthropic.api_key_file in the config")


@pytest.mark.parametrize("content", [b"file-key", b"file-key\n", b"  file-key\r\n\n"])
def test_white_space_around_a_key_is_no_part_of_it(tmp_path: Path, content: bytes) -> None:
    assert account_of(Anthropic(api_key_file=key_file(tmp_path, content)), {}).key == "file-key"


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o700])
def test_a_file_that_only_its_owner_can_read_is_used(tmp_path: Path, mode: int) -> None:
    assert account_of(Anthropic(api_key_file=key_file(tmp_path, mode=mode)), {}).key == "file-key"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o666, 0o644])
def test_a_file_that_others_can_read_is_not_used(tmp_path: Path, mode: int) -> None:
    path = key_file(tmp_path, mode=mode)
    assert stopped(Anthropic(api_key_file=path)) == (
        f"The file with the API key, {path}, can be read by others.",
        f"chmod 600 {path}",
    )


def stopped(settings: Anthropic, environment: dict[str, str] | None = None) -> tuple[str, str]:
    """Why there is no key, and what helps."""
    with pytest.raises(EngineStoppedError) as caught:
        account_of(settings, environment if environment is not None else {"PATH": os.environ["PATH"]})
    assert caught.value.exit_code == 77
    return caught.value.sentence, caught.value.fix


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "a key")
    assert stopped(Anthropic(api_key_file=path)) == (
        f"The file with the API key, {path}, cannot be read: No such file or directory.",
        f"mkdir -p {tmp_path} && install -m 600 /dev/null '{path}' && ${{EDITOR:-vi}} '{path}'",
    )


@pytest.mark.parametrize("content", [b"", b"\n", b" \t\r\n"])
def test_an_empty_file_holds_no_key(tmp_path: Path, content: bytes) -> None:
    path = key_file(tmp_path, content)
    assert stopped(Anthropic(api_key_file=path)) == (f"The file {path} holds no API key.", f"${{EDITOR:-vi}} {path}")


def test_a_file_that_cannot_be_reached_is_named(tmp_path: Path) -> None:
    path = f"{key_file(tmp_path)}/inner"
    assert stopped(Anthropic(api_key_file=path)) == (
        f"The file with the API key, {path}, cannot be read: Not a directory.",
        f"ls -l {path}",
    )


def test_a_directory_is_no_key(tmp_path: Path) -> None:
    assert stopped(Anthropic(api_key_file=str(tmp_path)))[0] == f"{tmp_path} is no file that could hold an API key."


def test_a_fifo_is_no_key_and_nobody_waits_for_it(tmp_path: Path) -> None:
    path = str(tmp_path / "fifo")
    os.mkfifo(path, 0o600)
    assert stopped(Anthropic(api_key_file=path))[0] == f"{path} is no file that could hold an API key."


@pytest.mark.parametrize("content", [b"one\ntwo", b"a b", b"k\xc3\xa9y", b"\xff\xfe", b"k\x00y", b"\x1b[31mkey"])
def test_what_could_not_stand_in_a_header_is_no_key(tmp_path: Path, content: bytes) -> None:
    sentence, _ = stopped(Anthropic(api_key_file=key_file(tmp_path, content)))
    assert sentence == "The API key holds characters that no key has."


def test_a_variable_that_is_not_set_is_named() -> None:
    for environment in ({}, {"KEY": ""}, {"KEY": " "}):
        sentence, fix = stopped(Anthropic(api_key_variable="KEY"), environment)
        assert sentence == "The variable KEY, which the config names for the API key, is not set here."
        assert fix == "name a file instead: api_key_file in the config"


# --- a command --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "how"),
    [
        ("raise SystemExit(3)", "ended with code 3 and printed nothing"),
        ("print('half-a-key'); raise SystemExit(1)", "ended with code 1 and printed something"),
        ("", "ended with code 0 and printed nothing"),
        ("print()", "ended with code 0 and printed nothing"),
        ("import sys; sys.stderr.write('locked')", "ended with code 0 and printed nothing"),
    ],
)
def test_a_command_that_fails_or_prints_nothing_gives_no_key(words: str, how: str) -> None:
    """What it printed is not repeated: it may be the key."""
    command = printing(words)
    assert stopped(Anthropic(api_key_command=command)) == (
        f"The command that prints the API key {how}.",
        f"try it yourself: {command}",
    )


@pytest.mark.parametrize(
    ("command", "why"),
    [("no-such-command-7", "no-such-command-7: No such file or directory"), ("'open", "No closing quotation")],
)
def test_a_command_that_cannot_be_run_gives_no_key(command: str, why: str) -> None:
    assert stopped(Anthropic(api_key_command=command)) == (
        f"The command that prints the API key cannot be run: {why}.",
        f"try it yourself: {command}",
    )


def test_a_command_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "COMMAND_SECONDS", 0.2)
    command = printing("import threading; print('key', flush=True); threading.Event().wait()")
    assert stopped(Anthropic(api_key_command=command))[0] == "The command that prints the API key does not end."


def test_a_command_that_waits_for_a_password_gets_none() -> None:
    assert "printed nothing" in stopped(Anthropic(api_key_command=printing("print(input())")))[0]


def test_a_command_is_run_without_a_shell() -> None:
    settings = Anthropic(api_key_command=printing("import sys; print('-'.join(sys.argv[1:]))") + " $HOME ; true")
    assert account_of(settings, {"PATH": os.environ["PATH"], "HOME": "/h"}).key == "$HOME-;-true"


# --- what is sent -----------------------------------------------------------------------------------------------------

SPEAKING: dict[str, Any] = {
    "model": "m",
    "max_tokens": 10,
    "tools": list(SCHEMAS),
    "system": [text("be brief")],
    "messages": [{"role": "user", "content": [text("hello")]}],
}
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": "environment-key",
    "ANTHROPIC_AUTH_TOKEN": "environment-token",
    "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    "ANTHROPIC_PROFILE": "somebody",
}


def headers_with(key: str) -> dict[str, str]:
    """What a server on this machine is told by a client with this key."""
    with MessagesServer(lambda _: Reply(text("ok")), keys=(key,)) as server:
        client = Client(lambda: Account(server.url, key), lambda: 0.0)
        try:
            client.send(SPEAKING, 60.0)
        finally:
            client.close()
        assert (len(server.requests), server.violations) == (1, [])
        return server.requests[0].headers


def test_the_key_is_sent_in_both_ways_to_others_than_the_official_endpoint() -> None:
    """Gateways and local servers are made for one or the other."""
    headers = headers_with("config-key")
    assert (headers["authorization"], headers["x-api-key"]) == ("Bearer config-key", "config-key")


def test_the_official_endpoint_is_sent_a_bearer_token_only() -> None:
    connection = Connection(Account(OFFICIAL, "config-key"), lambda: 0.0)
    try:
        headers = {name.lower(): value for name, value in connection._client.default_headers.items()}
        sent = {name.lower(): value for name, value in connection._client.auth_headers.items()}
        assert str(connection._client.base_url).rstrip("/") == OFFICIAL
    finally:
        connection.close()
    assert sent == {"authorization": "Bearer config-key"}
    assert "x-api-key" not in headers


def test_keys_in_the_environment_are_never_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable, value in ENVIRONMENT.items():
        monkeypatch.setenv(variable, value)
    headers = headers_with("config-key")
    assert (headers["authorization"], headers["x-api-key"]) == ("Bearer config-key", "config-key")
    assert "environment" not in str(headers)


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_nobody_is_sent_elsewhere(code: int) -> None:
    with MessagesServer(lambda _: Reply(text("ok"))) as other:
        elsewhere = {"location": f"{other.url.replace('127.0.0.1', 'localhost')}/v1/messages"}
        with MessagesServer(lambda _: Status(code, "moved", "moved", elsewhere)) as server:
            client = Client(lambda: Account(server.url, "test-key"), lambda: 0.0)
            with suppress(EndpointError, EngineStoppedError):
                client.send(SPEAKING, 60.0)
            client.close()
        assert (other.requests, other.violations) == ([], [])


def test_a_model_on_this_machine_is_not_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    with MessagesServer(lambda _: Reply(text("ok"))) as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url)
        headers_with("config-key")
        assert (proxy.requests, proxy.violations) == ([], [])


# --- when to try again ------------------------------------------------------------------------------------------------


def test_the_digest_of_the_settings_changes_with_config_and_key(tmp_path: Path) -> None:
    path = tmp_path / "key"
    config = Config(anthropic=Anthropic(api_key_file=str(path)))
    digests = []

    def look() -> None:
        digests.append(settings_digest(config))
        assert settings_digest(config._replace()) == digests[-1]

    look()
    config = config._replace(engine="anthropic")
    look()
    config = config._replace(budget=Budget(usd_per_day=2.0))
    look()
    config = config._replace(anthropic=config.anthropic._replace(extraction_model="other"))
    look()
    key_file(tmp_path)
    look()
    key_file(tmp_path, b"other-key\n")
    os.utime(path, ns=(1, 1))
    look()
    path.chmod(0o640)
    look()
    path.unlink()
    key_file(tmp_path, b"third-key\n")
    os.utime(path, ns=(1, 1))
    look()
    assert len(set(digests)) == len(digests)


def test_the_digest_is_of_what_is_about_the_model_alone() -> None:
    """Whoever is in another shell, with other features switched off, sees the same."""
    assert settings_digest(Config()) == settings_digest(Config(features=Features(dream=False)))


# --- where, and what it costs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "base_url",
    [
        "http://localhost:11434",
        "http://LOCALHOST",
        "http://127.0.0.1:8080/v1",
        "https://127.9.9.9",
        "http://[::1]:8080",
        "http://0.0.0.0:8000",
    ],
)
def test_addresses_of_this_machine_are_local(base_url: str) -> None:
    assert is_local(base_url)


@pytest.mark.parametrize(
    "base_url",
    [
        OFFICIAL,
        "http://192.168.1.7:11434",
        "http://localhost.example.com",
        "http://localhost@example.com",
        "http://1270.0.0.1",
        "http://example.com/localhost",
        "http://[::2]",
    ],
)
def test_other_addresses_are_not(base_url: str) -> None:
    assert not is_local(base_url)


def test_a_name_that_begins_like_a_local_address_is_not_local() -> None:
    assert not is_local("http://127.example.com")


def priced(base_url: str, model: str, **prices: Price) -> Price | None:
    return price_of(Config(anthropic=Anthropic(base_url=base_url), budget=Budget(prices=prices)), model)


def test_a_remote_model_that_nobody_knows_the_price_of_is_not_asked() -> None:
    with pytest.raises(EngineStoppedError) as caught:
        priced(OFFICIAL, "new-model")
    assert caught.value.sentence == "Nobody knows what the model new-model costs, so no cap could hold."
    assert '[budget.prices."new-model"]' in caught.value.fix


def test_a_local_model_that_nobody_knows_the_price_of_is_free() -> None:
    assert priced("http://127.0.0.1:11434", "new-model") is None


def test_a_model_with_a_price_has_it_behind_a_gateway_on_this_machine_too() -> None:
    for base_url in (OFFICIAL, "http://127.0.0.1:4000"):
        assert priced(base_url, "claude-haiku-5-5") == PRICES["claude-haiku-5-5"]
        assert priced(base_url, "mine", mine=Price(1.0, 2.0)) == Price(1.0, 2.0)
