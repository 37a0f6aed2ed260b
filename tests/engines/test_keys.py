"""What the embedded engine lets a memory be searched by: names in code around the words, and nothing made up."""

from __future__ import annotations

import pytest

from memoryd.engines import offline
from memoryd.engines.offline.keys import keys_of
from memoryd.model import UserMessage

RULE = "From now on, never retry payments automatically."


def keys(text: str, answer: str = "", fact: str = RULE) -> tuple[str, ...]:
    """Those of a memory that was made of one sentence in a message."""
    return keys_of(UserMessage("s", "m", None, text, answer), offline.statement(UserMessage("s", "m", None, fact)))


def test_what_is_found_has_keys() -> None:
    text = "can you fix src/pay/handler.ts? from now on, never retry payments automatically"
    (finding,) = offline.find([UserMessage("s", "m", None, text, "I added retry_policy.")]).written
    assert finding.reason == "learnt"
    assert finding.keys == ("handler.ts",)
    assert "handler" not in finding.body + finding.description + finding.name


def test_files_and_names_beside_a_wish_are_keys() -> None:
    text = f"Please fix src/pay/handler.ts and `npm run lint`, PaymentClient breaks on max_retries. {RULE}"
    assert keys(text) == ("handler.ts", "npm run lint", "PaymentClient", "max_retries")


@pytest.mark.parametrize(
    "text",
    [
        RULE,
        f"Look at the importer and/or the exporter, e.g. v1.2, it is 3.5 times slower. {RULE}",
        f"See https://acme.dev/src/handler.ts or ask ops@acme_corp.io. {RULE}",
        f"The token is [redacted: github_token.txt]. {RULE}",
        f"Bitte prüfe die Datei und den Fehler im Modul. {RULE}",
    ],
)
def test_plain_words_addresses_and_secrets_are_none(text: str) -> None:
    assert keys(text) == ()


def test_what_the_memory_says_itself_is_no_key() -> None:
    assert keys("Look at retry.py.", fact="From now on, never import Retry.py in tests.") == ()


def test_what_the_assistant_named_is_no_key() -> None:
    assert keys(RULE, "I changed `a_one`, b_two and c_three in src/d.py.") == ()


def test_there_are_eight_at_most_and_always_the_same() -> None:
    text = " ".join(f"file_{number}.py" for number in range(30)) + f" are slow. {RULE}"
    assert keys(text) == keys(text) == tuple(f"file_{number}.py" for number in range(8))
