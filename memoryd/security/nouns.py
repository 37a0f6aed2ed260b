"""Nouns that call something a secret, in the languages that people use: where one stands, and how much it promises. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoryd.security.searched_text import SearchedText

# Where to look, in lower case; the noun there is read by the pattern.
_PLACES = (
    *(b"pass", b"secret", b"token", b"key", b"pw", b"cred", b" pin", b"auth", b"login"),
    *(b"kennwort", b"zugangsdaten", b"contrase", b"clave", b"mdp", b"jeton"),
    *(b"senha", b"wachtwoord", b"heslo", b"parola"),
)
_PLACES_WITH_ACCENTS = (
    ("ü", "chlüssel"),
    ("é", "lé"),
    ("ь", "ароль"),
    ("ł", "asło"),
    ("ö", "ösenord"),
    ("ş", "ifre"),
    ("Ş", "ifre"),
    ("ड", "ासवर्ड"),
    ("ة", "لمة المرور"),
    ("ة", "لمة مرور"),
    ("ة", "لمة السر"),
)
"""A letter without which it cannot be there, and a noun without its first letter, which may be a capital."""
_NOUN_WITH_ACCENTS = re.compile(
    "[Ss]chlüssel|[Cc]lé|[Пп]ароль|[Hh]asło|[Ll]ösenord(?:et)?|[Şş]ifre(?:si|miz|niz|m)?|पासवर्ड|كلمة (?:المرور|مرور|السر)"
)
_NOUN = re.compile(
    rb"pass(?:word|wort|wd|phrase|code|e(?<=mot de passe))?|secret|token|key|pwd?|cred(?:ential)?s| pin|auth(?<=_auth)|login"
    rb"|kennwort|zugangsdaten|contrase[n?]a|clave|mdp|jeton|senha|wachtwoord|heslo|parola(?: d['?]ordine)?"
)
PASSWORDS = frozenset(
    {"pass", "password", "passwort", "passwd", "passphrase", "passcode", "passe", "pwd", "pw"}
    | {"kennwort", "mdp", "contrasena", "contrase?a", "contraseña", "clave", "пароль"}
    | {
        "senha",
        "wachtwoord",
        "heslo",
        "parola",
        "parola d'ordine",
        "parola d’ordine",  # noqa: RUF001
        "hasło",
        "lösenord",
        "lösenordet",
    }
    | {"şifre", "şifresi", "şifremiz", "şifreniz", "şifrem", "पासवर्ड", "كلمة المرور", "كلمة مرور", "كلمة السر"}
)
PAIRS = frozenset(("creds", "credentials", "zugangsdaten", "login"))
_NO_PARTS = frozenset(("pass", "passe", "pw", "clave", "clé", "jeton", "mdp"))
"""Nouns that are no nouns at the end of another word (bypass, enclave), but for some: dbpass, userPass."""
_BEGINS_IN_NAME = re.compile(
    r"[a-z][A-Z]$|(?i:(?:store|key|db|user|root|admin|my|pg|smtp|mail|ssh|sudo|wifi|trust)\w)$"
)

IDEOGRAMS = re.compile("[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7a3]")
EASTERN_PASSWORDS = ("密码", "口令", "パスワード", "パスフレーズ", "暗証番号", "비밀번호")
EASTERN_SECRETS = ("密钥", "秘钥", "令牌", "私钥", "凭证", "シークレット", "トークン", "キー", "秘密鍵")

# A key is a secret if one of these stands before it; of others only what looks random is taken for one.
_SECRET_KEY = (
    *("api", "access", "secret", "private", "signing", "encryption", "master", "auth", "service", "account", "shared"),
    *("subscription", "client", "consumer", "deploy", "webhook", "license", "storage", "session", "app", "application"),
    *("jwt", "hmac", "admin", "root", "ssh"),
)
_PUBLIC = {
    "key": ("pub", "public", "primary", "foreign", "sort", "cache", "partition", "hot", "short"),
    "token": ("publickey", "public key", "public_key"),
}
# What may follow a noun inside of a name: SECRET_KEY_BASE, passwordProd, TOKEN_2. Of others (password_hint, tokenForCi) only
# what looks random counts, and of some not even that.
_NAME_GOES_ON = re.compile(
    r"(?i)[_.-]?(?:base|value|val|str(?:ing)?|plain|text|raw|prod|dev|staging|test|live|new|old|default|\d{1,3})?"
)
_NO_SECRET = re.compile(
    r"(?i)[_.-]?(?:ids?|hash|digest|sum|names?|file|path|ref|arn|count|limit|type|version|prefix|fingerprint|url|uri)\b"
)
_MARKER_LENGTH = 40
# Without a digit, a sign or a very long word around it, nothing there is a secret.
_HINT = re.compile(
    r"\d|[!@#$%^&*+~?§;<\-\"'`“”„«»‘’「」『』]|(?<![A-Za-z])=|[A-Za-z_/.]{16}"  # noqa: RUF001
)
_NEAR = 160
_LITERAL = re.compile(r"[A-Z0-9_.-]{2,60}=\S{4}")
"""In capitals, where any word behind it is a value: DB_PASSWORD=swordfish."""
_REST_OF_NAME = re.compile(r"[\w-]{0,40}")
_LONG_RUN_SOON = re.compile(r"[^\w+/~-]{0,12}(?:\w{1,8}[^\w+/~-]{1,4}){0,2}[\w+/~-]{20}")


class Noun(NamedTuple):
    word: str
    start: int
    end: int
    """Of the name that the noun is in: behind `_BASE` of SECRET_KEY_BASE."""
    is_password: bool
    is_sure: bool
    """Whether what is given by this name is a secret. A key may be that of a map, `password_hint` no password."""

    is_verb: bool = False
    """Pass: "pass it to libxml2", `pass` in Python."""

    @property
    def kind(self) -> str:
        if self.is_password:
            return "a password"
        return "a token" if self.word in ("token", "jeton") else "a secret" if self.word == "secret" else "a key"

    def moved(self, ahead: int) -> Noun:
        return self._replace(start=self.start + ahead, end=self.end + ahead)


def noun_at(text: str, match: re.Match[bytes] | re.Match[str]) -> Noun | None:
    """The noun at a place, if it is one there: not in `bypass`, `tokens`, `secretary`, a marker of ours."""
    (start, end), said = match.span(), match[0]
    word = said.decode() if isinstance(said, bytes) else said.lower()
    if text[end : end + 1].isalpha() and not (text[end - 1].islower() and text[end].isupper()):
        return None
    before = text[max(0, start - 16) : start]
    if word in _NO_PARTS and before[-1:].isalpha() and not _BEGINS_IN_NAME.search(before + text[start]):
        return None
    adjective = before.lower().rstrip(" _-")
    if word in _PUBLIC and adjective.endswith(_PUBLIC[word]):
        return None
    is_sure = word != "key" or adjective.endswith(_SECRET_KEY)
    rest = _REST_OF_NAME.match(text, end)
    if rest is not None and rest[0]:
        if _NO_SECRET.match(rest[0]):
            return None
        is_sure = is_sure and _NAME_GOES_ON.fullmatch(rest[0]) is not None
        end = rest.end()
    if not is_sure and not _LONG_RUN_SOON.match(text, end):
        return None
    if text.find("[redacted:", max(0, start - _MARKER_LENGTH), start) >= 0:
        return None
    is_verb = word == "pass" and text[start:end] in ("pass", "Pass") and before[-1:] not in ("_", "-")
    return Noun(word, start, end, word in PASSWORDS, is_sure, is_verb)


def nouns_in(forms: SearchedText) -> Iterator[list[re.Match[bytes]] | list[re.Match[str]]]:
    """The places of nouns, a list for each way to write one."""
    text, others = forms.text, forms.others
    if forms.words:
        for piece in _PLACES:
            if piece in forms.words:
                near = near_hints(text, forms.words[piece])
                yield [match for place in near if (match := _NOUN.match(forms.lowered, place))]
    if others:
        for letter, rest in _PLACES_WITH_ACCENTS:
            if letter in others and rest in text:
                near = near_hints(text, places(text, rest))
                yield [found for place in near if (found := _NOUN_WITH_ACCENTS.match(text, max(0, place - 1)))]


def near_hints(text: str, nouns: Iterable[int]) -> Iterator[int]:
    """Those places of nouns that something stands near which no plain word has. Where that is, is looked for once for all."""
    hint = -1
    for place in nouns:
        if hint < place - _NEAR:
            match = _HINT.search(text, max(0, place - _NEAR))
            hint = match.start() if match else len(text) + 2 * _NEAR
        if hint <= place + _NEAR or _LITERAL.match(text, place):
            yield place


def places(text: str, piece: str) -> Iterator[int]:
    place = text.find(piece)
    while place >= 0:
        yield place
        place = text.find(piece, place + len(piece))
