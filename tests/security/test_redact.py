"""Secrets are taken out of a text, whole and named; what is none stays; and no text takes long."""

from __future__ import annotations

import random
import re
import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.security import by_format
from memoryd.security.redact import find_secret, redact, redacted_end, redacted_excerpt
from memoryd.security.searched_text import searched
from memoryd.security.shapes import SHAPES
from tests.security.labelled import BASE64, PLAIN, SECRETS, fake
from tests.torture.secret_kinds import BARE, kinds, value_of

if TYPE_CHECKING:
    from tests.security.labelled import Sample

MARKER = r"\[redacted: [a-z ]+\]"
LONGEST_MARKER = len("[redacted: password in a header]")
BEGIN, END = ("-----" + edge + " PRIVATE KEY-----" for edge in ("BEGIN", "END"))
GITHUB = fake("gh" + "p_", 36)
# Secrets that need nothing around them, glued to whatever they like.
TOKENS = [GITHUB, fake("sk-" + "ant-api03-", 93), fake("gl" + "pat-", 20), fake("AI" + "za", 35), fake("npm" + "_", 36)]

# Parts of secrets and what stands around them: put together at random, they look like each other.
FRAGMENTS = [
    *("password", "Passwort", "mot de passe", "token", "API_SECRET", "api_key", "key", "creds", "bearer ", "PIN"),
    *("=", ": ", " is ", " is still ", " as the ", '"', "'", "`", "\\n", "\n", " ", "-", "_", ".", "@", "://", "a:"),
    *("login ", "curl -u ", "mysql -p", " -p ", "密码", "是", "パスワードは", "。", "<", ">", "[", "]", "(", ")", "{"),
    *("hunter2", "Sommer2024!", "x", "1", "AK" + "IA", "ABCDEFGHIJKLMNOP", "gh" + "p_", "LT" + "AI", "ey" + "J", "Q~"),
    *(BEGIN, END, "MIIEabcd+/=", "[redacted: password]", "[redacted:"),
    *("|", "$", ";", "&", ",", ":AA", "İ", *(secret for sample in SECRETS for secret in sample.secrets)),
]
PATCHWORK = st.lists(st.one_of(st.sampled_from(FRAGMENTS), st.text(max_size=8)), max_size=12).map("".join)


def name_of(one: Sample) -> str:
    return f"{one.group}: {one.marked[:60]}"


def as_pattern(marked: str) -> str:
    """A marker where a secret stood, and every other letter as it was."""
    parts = re.split("⟦(.*?)⟧", marked, flags=re.DOTALL)
    return "".join(MARKER if number % 2 else re.escape(part) for number, part in enumerate(parts))


@pytest.mark.parametrize("one", SECRETS, ids=name_of)
def test_a_secret_becomes_a_marker_and_nothing_else_changes(one: Sample) -> None:
    redacted = redact(one.text)
    assert re.fullmatch(as_pattern(one.marked), redacted), redacted
    assert redact(redacted) is redacted
    assert find_secret(one.text)
    assert find_secret(redacted) is None


@pytest.mark.parametrize("one", PLAIN, ids=name_of)
def test_what_is_no_secret_stays(one: Sample) -> None:
    assert redact(one.text) is one.text
    assert find_secret(one.text) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"use {GITHUB} please", "a GitHub token"),
        (fake("sk-" + "ant-", 40), "an API key"),
        ("DB_PASSWORD=" + GITHUB, "a GitHub token"),
        ("the password is hunter22x", "a password"),
        ("postgres:" + "//me:hunter22@db/prod", "a password in a URL"),
        ("Authorization: Bearer " + fake("", 40), "a bearer token"),
        (f"FOO_TOKEN={fake('', 32)}", "a token"),
        (f"webhook secret: {fake('', 32)}", "a secret"),
        (BEGIN.replace("BEGIN", "BEGIN OPENSSH"), "a private key"),
        ("the PIN for the card is 482913", "a PIN"),
    ],
)
def test_the_marker_names_the_kind_as_people_are_told_it(text: str, kind: str) -> None:
    assert find_secret(text) == kind
    assert f"[redacted: {kind.split(' ', 1)[1].lower()}]" in redact(text)


def test_the_first_secret_in_the_text_is_the_one_that_is_told() -> None:
    assert find_secret(f"the password is hunter22x and the token {GITHUB}") == "a password"
    assert find_secret(f"the token {GITHUB} and the password is hunter22x") == "a GitHub token"


def test_every_shape_has_an_example() -> None:
    named = {shape.kind for shape in SHAPES}
    named |= {kind for kind, *_ in (*by_format._BY_WORD.values(), *by_format._BY_SIGN, *by_format._OTHERS_IN_RUNS)}
    dice = random.Random(7)
    texts = [sample.text for sample in SECRETS] + [value_of(kind, dice) for kind in kinds(BARE)]
    assert named <= {span.kind for text in texts for span in by_format.secrets_by_format(searched(text))}


def test_the_secret_half_of_a_key_is_one_only_beside_the_other_half() -> None:
    half, whole = fake("", 40, BASE64), fake("AK" + "IA", 16, "ABCDEFGHIJ234567")
    assert redact(f"object {half} was read") == f"object {half} was read"
    assert half not in redact(f"{whole} {half}")
    assert half not in redact(f"{half}\n{whole}")
    assert half in redact(f"{whole} {'. ' * 300} {half}")


def test_a_very_long_secret_is_gone_to_its_end() -> None:
    secret = fake("", 3000)
    assert redact(f"export API_SECRET={secret} ok") == "export API_SECRET=[redacted: secret] ok"
    assert redact(f"Authorization: Bearer {secret}") == "Authorization: Bearer [redacted: bearer token]"


def test_words_in_a_marker_are_not_taken_for_words_of_the_user() -> None:
    text = "[redacted: github token]: Xy7!kk2-pp, [redacted: password] is Xy7!kk2-pp"
    assert redact(text) is text


def test_letters_that_grow_in_lower_case_do_not_shift_what_is_taken_out() -> None:
    assert redact("İİİİ the password is hunter22x, İ") == "İİİİ the password is [redacted: password], İ"


def test_halves_of_letters_are_no_error() -> None:
    assert redact("\ud83d the password is hunter22x \ude00") == "\ud83d the password is [redacted: password] \ude00"


@given(PATCHWORK)
def test_redacting_twice_is_redacting_once(text: str) -> None:
    redacted = redact(text)
    assert redact(redacted) is redacted
    assert (find_secret(text) is None) == (redacted is text)


@given(PATCHWORK)
def test_a_text_grows_by_its_markers_only(text: str) -> None:
    redacted = redact(text)
    assert len(redacted) <= len(text) + LONGEST_MARKER * len(re.findall(MARKER, redacted))
    assert len(redacted) <= LONGEST_MARKER / 3 * len(text)  # no secret is shorter than three letters


@given(st.text(), st.sampled_from(TOKENS), st.text())
def test_a_token_between_any_text_is_gone(before: str, token: str, after: str) -> None:
    assert token not in redact(before + token + after)


@given(st.text(), st.sampled_from(SECRETS), st.text())
def test_a_secret_in_lines_of_its_own_between_any_text_is_gone(before: str, one: Sample, after: str) -> None:
    redacted = redact(f"{before}\n\n{one.text}\n\n{after}")
    assert [secret for secret in one.secrets if secret in redacted and secret not in before + after] == []


@given(st.text(alphabet="ABDEGHIJMNORUVXYZ abdeghjmnoruvxyz0123456789.,;!?\n\t(){}äöü漢字☃"))  # no `key`, no `pass`
def test_a_text_without_a_hint_of_secrets_is_returned_as_it_is(text: str) -> None:
    assert redact(text) is text


@pytest.mark.parametrize(
    "unit", ["a", "A", "0", "=", "-", ":", "/", ".", "_", "@", '"', "\\", " ", "\n", "a ", "é", "密", "://"]
)
def test_a_megabyte_of_one_thing_is_read_at_once(unit: str) -> None:
    began = time.process_time()
    redact(unit * (1_000_000 // len(unit)))
    assert time.process_time() - began < 10  # where a pattern begins anew at every character, minutes


@pytest.mark.parametrize(
    "unit",
    [
        *("password", "password ", "password=", "password: ", "password is ", "key=", "api_key=", "token: ", "secret "),
        *("AK" + "IA", "gh" + "p_", "ey" + "J", "eyJaaaaaaaaaaa.", "sk-", "LT" + "AI", "Q~", "sig=", ":AA"),
        *(BEGIN, END + "\naaaa\n", "a://b:c@d ", "://a:", "A" * 75 + "AZDO"),
        *("密码是 ", "パスワードは", "bearer ", "authorization: basic ", "creds: a/", "x-1a-", "password=x-1a-"),
        *("'", "password '", "İpassword ", "[redacted: ", "--password ", "password value=", " login -p ", "curl -u a:"),
    ],
)
def test_the_time_grows_with_the_text_and_not_faster(unit: str) -> None:
    """A pattern that looks again from every place would take sixteen times as long for four times the text."""

    def taken(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        return min(_seconds(text) for _ in range(3))

    assert taken(24_000) < 8 * taken(6_000) + 0.02


def _seconds(text: str) -> float:
    began = time.process_time()
    redact(text)
    return time.process_time() - began


@pytest.mark.parametrize("mark", ["\n", " "])
def test_half_a_secret_at_a_border_is_not_drawn_into_what_is_shown(mark: str) -> None:
    """What is redacted shrinks, so that text far from the end comes into it."""
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    key = "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n" * 60 + "-----END PRIVATE KEY-----\n"
    for size in range(16_384 + 250, 16_384 + 340):
        filler = (mark + key) * (size // len(key))
        end = f"{token}{filler}{'.' * (size - len(filler) - 20)}"
        assert token[-12:] not in redacted_end(f"a long text{mark}{'x' * 500}{end}", 300)
        start = f"{'.' * (size - len(filler) - 20)}{filler}{token}"
        assert token[:12] not in redacted_excerpt(f"{start}{mark}{'x' * 500}", 300)
    assert redacted_end("语" * 40_000 + "\nthe end", 300).endswith("语\nthe end")
    assert redacted_excerpt("语" * 40_000, 300).startswith("语" * 300)
