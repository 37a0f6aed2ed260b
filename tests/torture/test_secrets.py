# ruff: noqa: RUF001 - letters of other scripts are what it is about
"""Secrets of every kind in every place: none is left where memoryd writes; ordinary texts stay as they are."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from memoryd.security.redact import redact
from tests.torture.hostile_text import UNITS, hostile_text, names_without_values
from tests.torture.ordinary_text import ordinary_texts
from tests.torture.secret_kinds import BARE, NAMED, kinds, value_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.torture.campaign import Campaign

LONGEST_LEFT = 11
"""So many letters of a secret in a row say nothing: the prefix of its maker, the end of a wrapped line."""
INVISIBLE = "\u200b\u200d\u2060\u00ad\ufeff\u202e\U000e0041"


def wrapped(value: str, dice: random.Random) -> str:
    """As a terminal, a mail or a quote breaks a long word."""
    place = dice.randint(len(value) * 2 // 5, len(value) * 3 // 5)
    return value[:place] + dice.choice(("\n", "\r\n", "\n  ", "\n> ", "\\\n    ")) + value[place:]


def hidden(value: str, dice: random.Random) -> str:
    place = dice.randint(3, len(value) - 3)
    return value[:place] + dice.choice(INVISIBLE) + value[place:]


BARE_PLACES: dict[str, Callable[[str, random.Random], str]] = {
    "prose": lambda value, _: f"please use {value} for the deploy, thanks.",
    "JSON": lambda value, _: f'{{"region": "eu", "value": "{value}", "retries": 3}}',
    "YAML": lambda value, _: f"staging:\n  setting: {value}\n  region: eu\n",
    "table cell": lambda value, _: f"| name | what |\n| --- | --- |\n| staging | {value} |\n",
    "bracket": lambda value, dice: "the new one ({}) works".format(dice.choice(("{}", "[{}]", "<{}>")).format(value)),
    "after a newline": lambda value, _: f"here it is\n{value}\nthanks",
    "code fence": lambda value, _: f"```sh\nexport X='{value}'\nmake\n```",
    "URL": lambda value, _: f"see https://api.acme.dev/v1/items?x={value}&page=2 for it",
    "assignment": lambda value, _: f"SETTING={value}\nREGION=eu\n",
    "wrapped line": lambda value, dice: f"it is {wrapped(value, dice)} as you know",
    "invisible character": lambda value, dice: f"it is {hidden(value, dice)} as you know",
}
NAMED_PLACES: dict[str, Callable[[str, str, random.Random], str]] = {
    "prose": lambda name, value, _: f"the {name} is {value}, don't lose it",
    "JSON": lambda name, value, _: f'{{"{name}": "{value}", "retries": 3}}',
    "YAML": lambda name, value, _: f"env:\n  {name}: {value}\n",
    "table cell": lambda name, value, _: f"| {name} | {value} |",
    "bracket": lambda name, value, _: f"set {name} ({value}) first",
    "after a newline": lambda name, value, _: f"{name}:\n{value}\n",
    "code fence": lambda name, value, _: f"```sh\nexport {name}='{value}'\n```",
    "URL": lambda name, value, _: f"https://api.acme.dev/v1?{name.lower()}={value}&page=2",
    "assignment": lambda name, value, _: f"{name}={value}",
    "wrapped line": lambda name, value, dice: f"{name}={wrapped(value, dice)}",
    "invisible character": lambda name, value, dice: f"{name}={hidden(value, dice)}",
}


def is_left(value: str, text: str) -> bool:
    """Whether a piece of a secret still stands in a text that was redacted, as a person or a program would read it."""
    seen = "".join(letter for letter in text if letter not in INVISIBLE)
    size = min(LONGEST_LEFT + 1, len(value))
    head = value[: len(value) // 4] if "://" in value else ""
    rest = value[len(head) :] if head else value
    return any(rest[at : at + size] in seen for at in range(max(1, len(rest) - size + 1)))


@pytest.mark.torture
def test_secrets_of_every_kind_are_redacted_in_every_place(campaign: Campaign) -> None:
    values = 8 if campaign.is_long else 1
    for place, put in BARE_PLACES.items():
        through = []
        for kind in campaign.some(kinds(BARE)):
            for _ in range(values):
                value = value_of(kind, campaign.random)
                left = redact(text := put(value, campaign.random))
                if is_left(value, left):
                    through.append(f"{kind}: {text!r} became {left!r}")
        campaign.tried("secrets", f"known by shape, {place}", len(campaign.some(kinds(BARE))) * values, through)
    for place, put_named in NAMED_PLACES.items():
        through = []
        for kind in campaign.some(kinds(NAMED)):
            name, shape = kind.split(" ")
            for _ in range(values):
                value = value_of(shape, campaign.random)
                left = redact(text := put_named(name, value, campaign.random))
                if is_left(value, left):
                    through.append(f"{kind}: {text!r} became {left!r}")
        campaign.tried("secrets", f"known by name, {place}", len(campaign.some(kinds(NAMED))) * values, through)


# -- passwords --------------------------------------------------------------------------------------------------------

PASSWORDS_SAID = {
    "English": ("password", "the password is {}"),
    "German": ("Passwort", "das Passwort lautet {}"),
    "Spanish": ("contraseña", "la contraseña es {}"),
    "French": ("mot de passe", "le mot de passe est {}"),
    "Portuguese": ("senha", "a senha é {}"),
    "Dutch": ("wachtwoord", "het wachtwoord is {}"),
    "Polish": ("hasło", "hasło to {}"),
    "Swedish": ("lösenord", "lösenordet är {}"),
    "Czech": ("heslo", "heslo je {}"),
    "Turkish": ("şifre", "şifre {} olarak kaldı"),
    "Hindi": ("पासवर्ड", "पासवर्ड {} है"),
    "Arabic": ("كلمة المرور", "كلمة المرور هي {}"),
    "Italian": ("parola d'ordine", "la parola d'ordine è {}"),
    "Russian": ("пароль", "пароль — {}"),
    "Chinese": ("密码", "密码是{}"),
    "Japanese": ("パスワード", "パスワードは{}です"),
}
PASSWORD_PLACES = {
    "colon": "{noun}: {value}",
    "after a newline": "{noun}:\n{value}\n",
    "after an empty line": "{noun}\n\n    {value}\n",
    "bracket": "staging, {noun} ({value})",
    "table cell": "| {noun} | {value} |",
    "table column": "| host | {noun} |\n|---|---|\n| db1 | {value} |\n",
    "before an arrow": "{value} <- {noun}",
}
WORDS = [
    "copper",
    "river",
    "window",
    "seven",
    "maple",
    "engine",
    "silver",
    "harbor",
    "candle",
    "orbit",
    "velvet",
    "thunder",
    "paper",
    "lantern",
    "garden",
    "winter",
]


def password(dice: random.Random) -> str:
    word = dice.choice(WORDS).title()
    return dice.choice(
        (
            f"{word}{dice.randint(10, 99)}!",
            f"Pa$${word[:2]}w0rd{dice.randint(1, 9)}",
            f"{word[:3]}#{dice.randint(100, 999)}xK",
        )
    )


@pytest.mark.torture
def test_passwords_are_found_by_their_noun_in_many_languages(campaign: Campaign) -> None:
    for language, (noun, sentence) in PASSWORDS_SAID.items():
        through = []
        rounds = 20 if campaign.is_long else 2
        for _ in range(rounds):
            for template in ("said", *PASSWORD_PLACES.values()):
                value = password(campaign.random)
                text = sentence.format(value) if template == "said" else template.format(noun=noun, value=value)
                if value in redact(text):
                    through.append(f"{text!r} stayed")
        campaign.tried("secrets", f"password, {language}", rounds * (1 + len(PASSWORD_PLACES)), through)


@pytest.mark.torture
def test_passphrases_seed_phrases_and_cookies_are_found(campaign: Campaign) -> None:
    dice = campaign.random
    rounds = 200 if campaign.is_long else 20
    phrases, seeds, cookies = [], [], []
    for _ in range(rounds):
        phrase = " ".join(dice.sample(WORDS, 4))
        said = dice.choice(
            ('the passphrase is "{}"', "passphrase: '{}'", 'my passphrase for the disk is "{}"', "passphrase = `{}`")
        )
        if phrase in redact(said.format(phrase)):
            phrases.append(said.format(phrase))
        seed = " ".join(dice.choices(WORDS, k=dice.choice((12, 24))))
        said = dice.choice(("seed phrase: {}", "my recovery phrase is {}", "mnemonic: {}", 'the seed phrase:\n"{}"'))
        if seed in redact(said.format(seed)):
            seeds.append(said.format(seed))
        cookie = value_of(dice.choice(("{a32}", "{h40}", "{U}", "s%3A{w32}.{a43}")), dice)
        said = dice.choice(
            (
                "Cookie: theme=dark; sid={}; lang=en",
                "Set-Cookie: session={}; Path=/; HttpOnly",
                "curl -H 'cookie: _app_session={}' https://acme.dev",
                "document.cookie = 'auth={}; path=/'",
                '"cookie": "connect.sid={}; theme=dark"',
                "curl -b 'sid={}' https://acme.dev",
            )
        )
        if is_left(cookie, redact(said.format(cookie))):
            cookies.append(said.format(cookie))
    for kind, through in (("passphrase", phrases), ("seed phrase", seeds), ("cookie", cookies)):
        campaign.tried("secrets", kind, rounds, through)


@pytest.mark.torture
def test_ordinary_texts_stay_as_they_are(campaign: Campaign) -> None:
    number = 1000 if campaign.is_long else 200
    changed = [
        f"{text!r} became {redact(text)!r}"
        for text in ordinary_texts(campaign.random, number)
        if redact(text) is not text
    ]
    campaign.tried("secrets", "false alarm in an ordinary text", number, changed)


@pytest.mark.torture
def test_hostile_text_takes_no_longer_than_four_times_ordinary_text(campaign: Campaign) -> None:
    size = 200_000 if campaign.is_long else 6_000
    ordinary = "\n".join(ordinary_texts(campaign.random, size // 150))
    texts = {unit: hostile_text(unit, size) for unit in UNITS}
    texts["names without values"] = names_without_values(campaign.random, size)
    limit = 4 * _seconds(ordinary) / len(ordinary)
    speeds = {name: len(text) / _seconds(text) for name, text in texts.items()}
    slow = [f"{name!r}: {speed / 1e6:.1f} MB/s" for name, speed in speeds.items() if speed < 1 / limit]
    campaign.tried("secrets", "hostile text that takes long", len(texts), slow)


@pytest.mark.torture
def test_of_many_secrets_none_is_left(campaign: Campaign) -> None:
    """However many there are: in a table, in a list, in lines that all look alike."""
    rows = 400 if campaign.is_long else 40
    values = [password(campaign.random) + str(at) for at in range(rows)]
    table = "| host | password |\n|---|---|\n" + "".join(f"| db{at} | {value} |\n" for at, value in enumerate(values))
    said = "".join(f"the password of db{at} is {value}, as before.\n" for at, value in enumerate(values))
    same = f"DB_PASSWORD={values[0]}\n" * rows
    for kind, text in (("table", table), ("list", said), ("line said again", same)):
        redacted = redact(text)
        left = [value for value in values if value in redacted]
        campaign.tried("secrets", f"one of many, {kind}", rows, left)
    assert redact(same) == "DB_PASSWORD=[redacted: password]\n" * rows


def _seconds(text: str) -> float:
    """The least of three: a busy machine only adds."""
    times = []
    for _ in range(3):
        begin = time.process_time()
        redact(text)
        times.append(time.process_time() - begin)
    return min(times)
