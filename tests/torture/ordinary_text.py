# ruff: noqa: RUF001 - letters of other scripts are what it is about
"""Ordinary texts: what people and tools say all day near the words of secrets, put together from a seed. None holds a secret."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

_FILES = (
    "src/auth/login.py",
    "tests/test_tokens.py",
    "docs/setup.md",
    "apps/web/key_map.ts",
    "Makefile",
    "config/session.yaml",
)
_NAMES = (
    "refresh_token",
    "password_hash",
    "api_key_id",
    "sessionStore",
    "tokenBudget",
    "keyValueStore2024",
    "secretName",
    "cookieJar",
)
_PEOPLE = ("Dana", "Priya", "Tomás", "Jürgen", "Wei")
_TEMPLATES = (
    "the password field in {file} is not focused after a reload",
    "please rename {name} to {name2} in {file}",
    "the token is a JWT that expires after {n} minutes",
    "{person} rotates the keys every {n} days; the key is in the vault",
    "commit {hex40} broke the login page",
    "uuid {uuid} shows up twice in the log",
    "| column | type |\n| --- | --- |\n| password | varchar(255) |\n| token | text |\n| created | 2026-0{d}-1{d} |",
    "password:\n  type: string\n  minLength: {n}\n",
    "password (required)",
    "the senha field needs a label; o campo senha é obrigatório",
    "het wachtwoord is verplicht, en hasło jest wymagane",
    "das Passwort ist falsch, sagt der Dienst seit {n} Tagen",
    "The cookie banner sets theme=dark and lang=en for {n} days",
    "Cookie: theme=dark; lang=en; consent=yes",
    "Set-Cookie: theme=dark; Path=/; Max-Age={n}",
    "export const {name} = process.env.{upper};\nconst x = {name2}();",
    "def {name}(token: str, key: bytes = b'') -> None:\n    return token.split('.')[{d}]\n",
    "sha256:{hex64} is the digest of the image acme/shop:v1.{d}.{n}",
    "see https://github.com/acme/shop/pull/{n}#discussion_r{num}",
    "{file}:{n}: error: '{name}' is not defined\n{file}:{num}: note: see above",
    "seed phrases are a bad idea for a shop; mnemonic names help",
    "the passphrase must have at least {n} letters",
    "a long line that ends with{n}\nand goes on with more2\nthan before",
    "drwxr-xr-x 2 dana dana 4096 Nov {d} 10:{n} secret_store_v{d}\n-rw-r--r-- 1 dana dana {num} Nov 1{d} keyring",
    "git log: {hex7} Fix token refresh\n{hex7b} Add password reset\n{hex40}\n{hex40b}",
    'The API key page says "no keys yet" on {person}\'s machine since build {n}',
    "pass the {name} to {name2}, and pass {n} as the limit",
    "from {n} to {num}: the tokens per prompt in session {uuid}",
    "login: see {file}; creds: ask {person}",
    "base64 of an icon: iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
    "пароль нужно сменить через {n} дней",
    "şifre alanı boş olamaz; lösenord krävs; heslo je povinné",
    "<- password field goes here, {person} says\n-> token field below",
    "npm_config_registry and npm_package_version_{n} are set; sk-learn {d}.{n} is installed",
    "test_{name}_with_{n}_entries_and_key_v{d} passes; live_{name} fails",
    "re_compile_{n}_patterns takes {n} ms; cs_{name}, ck_{name2} are columns",
    "patched in {file}; sl.{name}.{name2}; s.{name}(); v1.0-rc{d}",
)


def ordinary_texts(dice: random.Random, number: int) -> list[str]:
    return [_text(dice, at) for at in range(number)]


def _text(dice: random.Random, at: int) -> str:
    def hexadecimal(size: int) -> str:
        return "".join(dice.choices("0123456789abcdef", k=size))

    def filled(template: str) -> str:
        return template.format(
            file=dice.choice(_FILES),
            name=dice.choice(_NAMES),
            name2=dice.choice(_NAMES),
            upper=dice.choice(_NAMES).upper(),
            person=dice.choice(_PEOPLE),
            n=dice.randint(10, 99),
            d=dice.randint(1, 9),
            num=dice.randint(1000, 99999999),
            uuid="-".join(hexadecimal(size) for size in (8, 4, 4, 4, 12)),
            **{name: hexadecimal(int(name.strip("hexb"))) for name in ("hex7", "hex40", "hex64")},
            hex7b=hexadecimal(7),
            hex40b=hexadecimal(40),
        )

    first = filled(_TEMPLATES[at % len(_TEMPLATES)])
    others = [filled(dice.choice(_TEMPLATES)) for _ in range(dice.randint(0, 3))]
    return dice.choice(("\n", "\n\n", ". ", "\n- ")).join([first, *others])
