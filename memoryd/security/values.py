"""Values: whether a word could be a password or a key, or is a word, a name, a number, a piece of code. Pure."""

from __future__ import annotations

import re

WORD, LIKELY, STRONG, RANDOM = range(4)
"""How much a value looks like a secret: not at all; it could be one; hardly anything else; letters by chance."""

_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_SYMBOL = re.compile(r"[!@#$%^&*+=~?§]")
_HEXADECIMAL = re.compile(r"[0-9a-fA-F]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_CONSONANTS = re.compile(r"(?i)[bcdfghjklmnpqrstvwxz]{5}")
_OF_TOKENS = re.compile(r"[A-Za-z0-9_+/=.~-]+")

# Words with a number in them, as they are said of secrets (sha256-hashed, v2-only, 32bytes, in 1Password).
_TERM = (
    r"(?:base|sha|md|utf|oauth|rsa|aes|hmac|ed|x|rs|hs|es|ps|v|ipv|https?|h|s|ec|p|k|argon|pbkdf|curve|secp|iso|rfc|win|arm|amd"
    r"|py|python|node|java|log|i|l|mp|b|web|sql|q|pr|rc|beta)\d+[a-z]{0,3}|(?:utf|sha|aes|rsa|md|iso)-\d+(?![a-z\d])"
    r"|(?:step|part|option|line|page|row|id|user|key|token|pass|password|pwd|pw|secret|value|val|var|arg|param|field|item|name"
    r"|test|foo|bar|col|column|env|config|prod|dev|staging|stage)\d{1,2}|[1-3]fa|1password|\d{1,2}x"
    r"|\d+(?:st|nd|rd|th|h|d|m|s|ms|min|sec|[kmg]b?|bytes?|bits?|chars?|px|r?em|[ap]m|digits?|hours?|days?|weeks?|years?|times?)"
)
_ORDINARY = re.compile(rf"(?i)(?:(?>{_TERM}|[^\W\d_]+)(?:[-_./:+@]|$))+")
# With a number as a piece of its own: dates, times, versions, addresses, ranges, ports, colours.
_NUMBER = re.compile(
    r"(?i)v?\d[\d.,:/x_+-]*(?:[a-z%]{0,3}|t[\d:.]+z?|-?rc\d|-?beta\d)|#[0-9a-f]{3,8}|0x[0-9a-f]+|\+?[\d-]+"
)
_ADDRESS = re.compile(r"\w{1,20}://.*|[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}|[\w-]+(?:\.[\w-]+)*:\d{2,5}(?:/.*)?")
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@%+-]+(?:/[\w.@%+-]*)*|[\w.@+-]+(?:/[\w.@+-]*)+|[\w-]+(?:\.[\w-]+)*\.[a-z]{1,4}"
)
_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)*")
_CODE = re.compile(
    r"-{0,2}[A-Za-z_]\w*=[^=].*|[A-Za-z_$!@&*][\w$.:!-]*[(\[{].*|.*(?:=>|[=!]=[^=]|&&|\|\||->|\w\(|\);).*|[({\[!&*|\\/].*|.*[|{}].*"
)
_SAYS_SECRET = re.compile(
    r"(?i)pass|pwd|(?<![a-z\d]{6})pw\d|secret|token|key|cred|auth|value|param|arg|config|settings|env"
)

# Instead of a secret: a piece that no secret holds, and what it is as a whole.
_HOLDS_MASK = re.compile(r"\[redacted:|\.{3}|…|\$\{[^}]*\}|\{\{|%\(\w+\)|<[\w -]*>|\{\w*\}")
_MASKED = re.compile(
    r"[<\[(].*|\$[({].*|\$[A-Za-z_].*|%[A-Za-z_]\w*%?|%s.*|:\w+|op://.*"
    r"|(?i:(?:your|insert|enter|replace|put|change|example|sample|dummy|fake|placeholder|redacted|todo|fixme)(?:[-_ .]\D*|me|this|it)?)"
    r"|.*EXAMPLE(?:KEY)?"
)
_STANDS_FOR_ONE = re.compile(
    r"(?i)(?:(?:password|passwd|pass|pwd|pw|passwort|kennwort|contraseña|clave|mot|de|passe|secret|token|key|apikey|user|username|name"
    r"|value|string|text|str|int|bool|number|any|object|type|input|label|none|null|nil|true|false|undefined|required|optional|invalid"
    r"|wrong|incorrect|rejected|denied|expired|empty|missing|hidden|masked|redacted|encrypted|hashed|stored|plain|weak|strong|secure"
    r"|unknown|default|example|test|new|old|the|a|my|your|api|access|client|private|public|auth|bearer|basic|here|goes|is)(?:[\W_]+|$))+"
)

_LONGEST_WORDS = 40
_SHORTEST, _SHORTEST_STRONG, _SHORTEST_MIXED, _SHORTEST_RANDOM, _SHORTEST_SCRAMBLED = 5, 7, 8, 16, 20
_LETTERS_IN_A_PIECE, _LETTERS_WITHOUT_DIGITS, _LETTERS_IN_A_JUMBLE = 3.6, 2.6, 3.2
"""Words have longer pieces than this, random letters shorter ones: `Aa9` are three pieces, `userName2` too."""


def strength(value: str) -> int:
    """How much a value looks like a secret."""
    if _NUMBER.fullmatch(value) or _ORDINARY.fullmatch(value) or _ADDRESS.fullmatch(value):
        return WORD
    has_digit = any(map(str.isdigit, value))
    if _HEXADECIMAL.fullmatch(value):
        return RANDOM if has_digit else WORD
    has_letter, has_symbol, length = any(map(str.isalpha, value)), _SYMBOL.search(value) is not None, len(value)
    is_mixed = has_letter and not value.islower() and not value.isupper()
    pieces = len(_PIECES.findall(value))
    is_scattered = length < _LETTERS_IN_A_PIECE * pieces
    if length >= _SHORTEST_RANDOM and has_digit and value.isupper() and value.isalnum():  # base32
        return RANDOM
    if (
        length >= _SHORTEST_RANDOM
        and is_scattered
        and (has_digit or (is_mixed and length < _LETTERS_WITHOUT_DIGITS * pieces))
    ):
        return RANDOM if _OF_TOKENS.fullmatch(value) else STRONG
    if length < _SHORTEST or not has_letter or _PATH.fullmatch(value):
        return WORD
    if has_symbol and (has_digit or is_mixed) and length >= _SHORTEST_STRONG:
        return STRONG
    if has_digit and is_mixed and is_scattered and length >= _SHORTEST_MIXED:
        return STRONG
    return LIKELY if has_digit or has_symbol else WORD


def is_jumble(value: str) -> bool:
    """Whether letters of both cases or digits go to and fro, or consonants follow each other, as in a piece of a random value."""
    is_scattered = len(value) < _LETTERS_IN_A_JUMBLE * len(_PIECES.findall(value))
    return len(value) >= _SHORTEST_MIXED and (is_scattered or _CONSONANTS.search(value) is not None)


def is_scrambled(value: str) -> bool:
    """Whether it is long, with a digit and nothing between, and in one case or a jumble: kwknw21ftqiijbz85cwqaxl9lm."""
    is_alike = value.islower() or value.isupper() or is_jumble(value)
    return is_alike and value.isalnum() and len(value) >= _SHORTEST_SCRAMBLED and any(map(str.isdigit, value))


def is_call(value: str) -> bool:
    return "(" in value or "[" in value


def is_masked(value: str) -> bool:
    """Whether it stands for a secret: `<token>`, `${TOKEN}`, `xxxx`, `your-key`, `password`, or a marker of ours."""
    if len(set(value) - set("-_ ")) <= 2 or _HOLDS_MASK.search(value) or _MASKED.fullmatch(value):  # noqa: PLR2004 - one letter, and another at an end
        return True
    return len(value) <= _LONGEST_WORDS and _STANDS_FOR_ONE.fullmatch(value) is not None


def is_code(value: str) -> bool:
    """Whether it is a name or an expression, where it stands without quotes: `settings["X"]`, `token2`, `get()`."""
    if _CODE.fullmatch(value):
        return True
    if not _IDENTIFIER.fullmatch(value):
        return False
    if "$" in value[1:] and strength(value) >= STRONG:  # Pa$$w0rd1
        return False
    is_name = not value.isidentifier() or _SAYS_SECRET.search(value) is not None
    return is_name and strength(value) < RANDOM
