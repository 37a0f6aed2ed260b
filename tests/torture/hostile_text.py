"""Texts that are made to take long: beginnings of secrets, and the words around them, thousands of times."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.torture.secret_kinds import value_of

if TYPE_CHECKING:
    import random

_BEGIN = "-----BEGIN " + "PRIVATE KEY-----"
UNITS = (
    *("password ", "password: ", "password=", "password is ", "--password ", "password '", "| password |\n"),
    *("<- password ", "password value=", 'passphrase is "', "seed phrase: word ", "token\n", "token: ", "secret "),
    *("key=", "api_key=", "creds: a/", " login -p ", "curl -u a:", "bearer ", "cookie: a=", "authorization: basic "),
    *("senha\n\n", "şifre (", "пароль ", "密码", "密码是 ", "パスワードは", "\u200b", "a\u200b1", "⚠\ufe0f "),
    *("eyJ", "eyJaaaaaaaaaaa.", "gh" + "p_", "AKIA", "sk-\n", "s.A1b", "u+A1", "/1", "services/T", "sig=", "://a:"),
    *("x" * 15 + "\n", "a" * 70 + "\n", "a1B2c3D4\n", _BEGIN + "\n", "okie _phr", "|---|\n| password |\n"),
)
"""Each is said again and again."""


def hostile_text(unit: str, size: int) -> str:
    return unit * (size // len(unit))


def names_without_values(dice: random.Random, size: int) -> str:
    """Nothing but nouns that call something a secret, in no order."""
    nouns = ("password", "token", "key", "secret", "pass", "login", "creds", "pwd", "senha", "clave", "DB_PASSWORD")
    return "".join(dice.choice(nouns) + dice.choice((" ", ": ", "=", "\n", " is ")) for _ in range(size // 8))


def nothing_but_secrets(dice: random.Random, size: int) -> str:
    """A list in which every line holds another password: all of it has to be looked at, and replaced."""
    return "".join(
        f"{dice.choice(('DB_PASSWORD=', 'password: '))}{value_of('{a16}', dice)}\n" for _ in range(size // 28)
    )
