"""A glance tells the same as parsing, only sooner; and of what cannot be parsed still what was meant."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memoryd.memory.document import body_of, new_document, parse
from memoryd.memory.quick_parse import QuickParse, quick_parse
from memoryd.memory_types import MEMORY_TYPES

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=40)
TRICKY = st.sampled_from(
    [
        *(
            "plain words",
            "it's",
            '"quoted"',
            "'single'",
            "'it''s'",
            "a: b",
            "a #b",
            "a # comment",
            "#",
            "# comment",
            "",
        ),
        *("|", ">", ">-", "|\n  one\n  two", ">\n  one\n  two", ">-\n    one\n\n    two\n", "[a, b]", "{type: user}"),
        *("first\n  second", '"first\n  second"', "- a", "~", "null", "3", "yes", "&a b", "*a", "!!str x", "%x", "a:"),
        *('"a \\"b\\" c"', '"\\u00e9"', '"\\ud83d\\ude00"', '"\\ud800"', '"\\x41"', '"a\\tb"', "a\tb", "'a' # b"),
        *(
            "user",
            "feedback",
            '"project"',
            "'reference'",
            "users",
            "user # why",
            "a; b; c",
            "\n    - a\n    - b",
            "é 日本",
        ),
    ]
)
KEYS = st.sampled_from(["name", "description", "type", "keys", "metadata", "other", "modified", '"name"', "? name"])
LINES = st.builds(
    lambda indent, key, between, value: f"{indent}{key}:{between}{value}",
    st.sampled_from(["", "", "", "  ", "  ", "    ", "\t"]),
    KEYS,
    st.sampled_from([" ", " ", " ", "", "  "]),
    TRICKY | WORDS,
) | st.sampled_from(["metadata:", "metadata:", "# type: user", "", "  # keys: a", "- a", "words", "  words"])
ENDS = st.sampled_from(["\n", "\n", "\r\n"])


def told_by_parsing(data: bytes) -> QuickParse:
    document = parse(data)
    return QuickParse(document.name, document.description, document.type, document.keys, document.body)


def agrees(data: bytes) -> bool:
    """With what parsing says, where that can say something."""
    return parse(data).problem is not None or quick_parse(data) == told_by_parsing(data)


@pytest.mark.parametrize(
    ("frontmatter", "expected"),
    [
        ("name: a\ndescription: b c\ntype: user\n", QuickParse("a", "b c", "user", (), "Body.\n")),
        ("description: |\n  one\n  two\ntype: user\n", QuickParse("", "one\ntwo\n", "user", (), "Body.\n")),
        ("description: >-\n  one\n  two\n", QuickParse("", "one two", None, (), "Body.\n")),
        ("description: one\n  two\n", QuickParse("", "one two", None, (), "Body.\n")),
        ('description: "say \\"no\\""\n', QuickParse("", 'say "no"', None, (), "Body.\n")),
        ("description: 'it''s so'\n", QuickParse("", "it's so", None, (), "Body.\n")),
        ("description: so # not this\n", QuickParse("", "so", None, (), "Body.\n")),
        ("description: 'so' # not this\n", QuickParse("", "so", None, (), "Body.\n")),
        ("# type: user\ntype: project # type: user\n", QuickParse("", "", "project", (), "Body.\n")),
        ("metadata:\n  type: reference\n", QuickParse("", "", "reference", (), "Body.\n")),
        ("metadata:\n  type: user\ntype: feedback\n", QuickParse("", "", "feedback", (), "Body.\n")),
        ("other:\n  type: user\n  name: x\n", QuickParse("", "", None, (), "Body.\n")),
        ("notes: |\n  type: user\n  name: x\ntype: project\n", QuickParse("", "", "project", (), "Body.\n")),
        ("type: users\n", QuickParse("", "", None, (), "Body.\n")),
        ('metadata:\n  keys: "a b; c"\n', QuickParse("", "", None, ("a b", "c"), "Body.\n")),
        ("metadata:\n  keys: a b; c\n", QuickParse("", "", None, ("a b", "c"), "Body.\n")),
        ("metadata:\n  keys:\n    - a b\n    - c\n", QuickParse("", "", None, ("a b", "c"), "Body.\n")),
        ("metadata:\n  keys: [a b, c]\n", QuickParse("", "", None, ("a b", "c"), "Body.\n")),
        ("keys: a b; c\n", QuickParse("", "", None, ("a b", "c"), "Body.\n")),
        ("keys:\n- a b\n- c\n", QuickParse("", "", None, ("a b", "c"), "Body.\n")),
        ("metadata: {type: user, keys: a}\n", QuickParse("", "", "user", ("a",), "Body.\n")),
        ("", QuickParse("", "", None, (), "Body.\n")),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_what_frontmatter_says(frontmatter: str, expected: QuickParse, newline: str, mark: str) -> None:
    data = f"{mark}---\n{frontmatter}---\nBody.\n".replace("\n", newline).encode()
    assert quick_parse(data) == expected._replace(body=f"Body.{newline}")
    assert parse(data).problem is None
    assert agrees(data)


@pytest.mark.parametrize(
    "data",
    [b"", b"Words.\n", b"---\n", b"---\nname: a\n", b"----\nname: a\n---\n", b" ---\nname: a\n---\n", b"\xff\xfe"],
)
def test_without_frontmatter_all_is_body(data: bytes) -> None:
    assert quick_parse(data) == QuickParse("", "", None, (), data.decode("utf-8", "surrogateescape"))
    assert parse(data).body == quick_parse(data).body


@pytest.mark.parametrize(
    ("frontmatter", "description"),
    [
        ("description: Deploys: only on Tuesdays\n", "Deploys: only on Tuesdays"),
        ("description: `make release` tags\n", "`make release` tags"),
        ("description: @lin owns the importer\n", "@lin owns the importer"),
        ("description: fine\nother: [\n", "fine"),
    ],
)
def test_broken_frontmatter_is_read_as_it_was_meant(frontmatter: str, description: str) -> None:
    """No YAML, but people and models write it; that memory is found and shown like others."""
    data = f"---\nname: a\n{frontmatter}metadata:\n  type: project\n---\nBody.\n".encode()
    assert parse(data).problem
    assert quick_parse(data) == QuickParse("a", description, "project", (), "Body.\n")


@given(st.lists(LINES, max_size=7), ENDS)
@example(["metadata:", "  type: user", "metadata:", "  keys: a"], "\n")
@example(["description: a\u2028b"], "\n")
@example(["description: a\x85b"], "\n")
@example(["description: a\rtype: user"], "\n")
@example(["metadata:", "  other:", "    type: user"], "\n")
@example(["metadata:", "    type: user", "  keys: a"], "\n")
def test_it_agrees_with_parsing(lines: list[str], newline: str) -> None:
    block = "".join(f"{line}\n" for line in lines)
    assert agrees(f"---\n{block}---\nBody: type: user\n".replace("\n", newline).encode("utf-8", "surrogatepass"))


@given(WORDS, WORDS, st.sampled_from(MEMORY_TYPES), st.text(max_size=80), st.lists(WORDS, max_size=4))
def test_what_memoryd_writes_comes_back(name: str, description: str, kind: str, body: str, keys: list[str]) -> None:
    document = new_document(
        name=name,
        description=description,
        kind=kind,  # type: ignore[arg-type]
        body=body,
        session_id="0f8d",
        evidence=description,
        modified="2026-10-16T07:40:18Z",
        keys=keys,
    )
    assert quick_parse(document.render()) == told_by_parsing(document.render())


@given(st.binary(max_size=300) | st.binary(max_size=200).map(lambda data: b"---\n" + data + b"\n---\n" + data))
def test_no_bytes_make_it_fail(data: bytes) -> None:
    quick_parse(data)
    assert parse(data).problem is not None or agrees(data)


def test_frontmatter_as_clients_write_it_is_told_without_a_parser() -> None:
    """A hook has no time to import one."""
    code = """
import sys
from memoryd.memory.quick_parse import quick_parse
told = quick_parse(b'''---
name: review-size
description: "Reviews stay under 400 \\\\"changed\\\\" lines"
type: feedback   # as older clients want it
metadata:
  type: feedback
  originSessionId: 9bcb
  evidence: 'it''s the limit'
  keys: "small reviews; \\xc3\\xa9"
  modified: 2026-10-16T07:40:18Z
---
Keep them small.
''')
print(told.keys, "yaml" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "('small reviews', 'é') False\n"


@given(st.binary(max_size=200) | st.binary(max_size=100).map(lambda noise: b"---\n" + noise + b"\n---\nbody"))
def test_a_glance_never_fails_and_sees_the_body_that_others_see(data: bytes) -> None:
    document = parse(data)
    assert quick_parse(data).body in (body_of(data), document.body)
