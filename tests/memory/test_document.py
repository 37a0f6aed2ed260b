"""Topic files: whatever is in one, its bytes survive, and an edit touches the one value that it is about."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memory.document import DocumentError, new_document, parse
from memoryd.memory.limits import FRONTMATTER_BYTES
from memoryd.memory_types import MEMORY_TYPES

if TYPE_CHECKING:
    from memoryd.memory_types import MemoryType

TOPIC = b"""---
name: review-size
description: "Reviews stay under 400 changed lines"
type: feedback
metadata:
  type: feedback            # newer Claude Code reads it here
  originSessionId: 9bcb
  modified: 2026-10-16T07:40:18Z
---
Keep every review under 400 changed lines.
"""

# Pieces that a frontmatter is made of, and what breaks one.
PIECES = st.sampled_from(
    [
        *("name: x\n", "metadata:\n", "  type: user\n", "  pinned: true\n", "# a comment\n", " # a comment", "a: b\n"),
        *("description: |\n  one\n  two\n\n", "description: >-\n  one\n", "description:\n", 'description: "a\n  b"\n'),
        *("metadata: {a: b}\n", "tags: [a, b]\n", "---\n", "...\n", "--- ", "\n", "\r\n", "\r", " ", "\t", ": ", "- "),
        *("? ", "|", ">", "{", "}", "[", "]", ",", '"', "'", "&a ", "*a", "!!str ", "!%FF", "%YAML 1.1\n", "<<: "),
        *("\\", '"\\U11111111"', "\u2028", "\x85", "\x00", "\ufeff", "é", "😀", "\udcff"),
    ]
)
FRONTMATTERS = st.lists(PIECES, max_size=9).map(lambda pieces: f"---\n{''.join(pieces)}\n---\nbody\n")
ONE_LINE = st.text(st.characters(codec="utf-8", exclude_characters="\n\r"), max_size=80)


def a_document(**fields: Any) -> bytes:
    written: dict[str, Any] = {
        "name": "n",
        "description": "d",
        "kind": "user",
        "body": "A body.",
        "session_id": "",
        "evidence": "",
        "modified": "2026-10-16T07:40:18Z",
        **fields,
    }
    return new_document(**written).render()


# --- reading ----------------------------------------------------------------------------------------------------------


def test_a_topic_file_is_understood() -> None:
    document = parse(TOPIC)
    assert document.values == {
        "name": "review-size",
        "description": "Reviews stay under 400 changed lines",
        "type": "feedback",
        "metadata": {"type": "feedback", "originSessionId": "9bcb", "modified": "2026-10-16T07:40:18Z"},
    }
    assert document.body == "Keep every review under 400 changed lines.\n"
    assert (document.problem, document.type, document.is_pinned, document.origin_session_id) == (
        None,
        "feedback",
        False,
        "9bcb",
    )


@given(st.binary())
def test_any_bytes_are_parsed_and_come_out_as_they_were(data: bytes) -> None:
    document = parse(data)
    assert document.render() == data
    assert document.text.endswith(document.body)


@given(FRONTMATTERS)
def test_any_frontmatter_is_parsed_and_comes_out_as_it_was(text: str) -> None:
    data = text.encode("utf-8", "surrogateescape")
    document = parse(data)
    assert document.render() == data
    assert document.problem is None or (document.problem and "\n" not in document.problem)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"---\nname: x\n", "its frontmatter has no end"),
        (
            b"---\nname: [x\n---\nbody\n",
            "its frontmatter is not valid: expected ',' or ']', but got '<stream end>' (line 3)",
        ),
        (b"---\nname: a: b\n---\n", "its frontmatter is not valid: mapping values are not allowed here (line 2)"),
        (
            b"---\n\tname: x\n---\n",
            "its frontmatter is not valid: found character '\\t' that cannot start any token (line 2)",
        ),
        (
            b"---\nname:\tx\n---\n",
            "its frontmatter is not valid: found character '\\t' that cannot start any token (line 2)",
        ),
        (b"---\na: &x 1\nb: 2\n---\n", "its frontmatter is not valid: anchors and aliases are not allowed"),
        (b"---\na: 1\nb: *x\n---\n", "its frontmatter is not valid: anchors and aliases are not allowed"),
        (b'---\na: "\\U11111111"\n---\n', "its frontmatter is not valid: chr() arg not in range(0x110000)"),
        (
            b'---\na: "\\UFFFFFFFF"\n---\n',
            "its frontmatter is not valid: Python int too large to convert to C int",
        ),
        (
            b"---\na: \x00\n---\n",
            (
                "its frontmatter is not valid: unacceptable character #x0000: special characters are not allowed"
                ' in "<unicode string>", position 3'
            ),
        ),
        (b"---\n- a\n- b\n---\nbody\n", "its frontmatter is no list of keys"),
        (b"---\njust words\n---\nbody\n", "its frontmatter is no list of keys"),
    ],
)
def test_a_broken_frontmatter_is_a_problem_in_one_line_and_all_of_the_file_is_body(data: bytes, problem: str) -> None:
    document = parse(data)
    assert (document.problem, document.values, document.body.encode()) == (problem, {}, data)
    with pytest.raises(DocumentError):
        document.with_value(("name",), "y")


def test_a_bomb_of_aliases_is_refused_before_it_unfolds() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    document = parse("\n".join(["---", *lines, "---", ""]).encode())
    assert document.problem == "its frontmatter is not valid: anchors and aliases are not allowed"


@pytest.mark.parametrize("opening", ["[", "{", "{a: ", "[\n", "- ", "? "])
def test_deep_nesting_is_a_problem_and_not_a_crash(opening: str) -> None:
    started = time.process_time()
    document = parse(f"---\nx:\n {opening * (15_000 // len(opening))}\n---\nbody\n".encode())
    assert document.problem is not None
    assert "\n" not in document.problem
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("frontmatter", [b"---\nname: x\n---\n", b"---\nname: x\n", b""])
def test_ten_megabytes_are_read_in_no_time(frontmatter: bytes) -> None:
    data = frontmatter + b"One line of many.\n" * 600_000
    started = time.process_time()
    assert parse(data).render() == data
    assert time.process_time() - started < 2


def test_a_frontmatter_may_be_long_but_not_without_end() -> None:
    def of(length: int) -> bytes:
        return b"---\nx: " + b"y" * (length - 4) + b"\n---\nbody\n"

    fits = FRONTMATTER_BYTES - len("---")
    assert (parse(of(fits)).problem, parse(of(fits)).body) == (None, "body\n")
    assert parse(of(fits + 1)).problem == "its frontmatter has no end"


def test_a_line_that_only_begins_like_the_end_is_not_the_end_wherever_the_search_stops() -> None:
    data = b"---\nx: " + b"y" * (FRONTMATTER_BYTES - 3 - 4) + b"\n---- a rule\n---\nbody\n"
    assert parse(data).problem == "its frontmatter has no end"


@pytest.mark.parametrize(
    ("data", "values", "body"),
    [
        (b"", {}, ""),
        (b"no frontmatter\n", {}, "no frontmatter\n"),
        (b"---\n---\nbody\n", {}, "body\n"),
        (b"---\n# only a comment\n---\nbody\n", {}, "body\n"),
        (b"---\nname: x\n---", {"name": "x"}, ""),
        (b"---\nname: x\n...\nbody\n", {"name": "x"}, "body\n"),
        (b"--- \t\nname: x\n---  \nbody", {"name": "x"}, "body"),
        (b"\xef\xbb\xbf---\nname: x\n---\nbody\n", {"name": "x"}, "body\n"),
        (b"---\r\nname: x\r\n---\r\nbody\r\n", {"name": "x"}, "body\r\n"),
        (b"---\nname: x\n---\none\n\n---\n\ntwo\n", {"name": "x"}, "one\n\n---\n\ntwo\n"),
        (b"body\n---\nname: x\n---\n", {}, "body\n---\nname: x\n---\n"),
        (b"\n---\nname: x\n---\n", {}, "\n---\nname: x\n---\n"),
        (b"---\nname: a\nname: b\n---\n", {"name": "b"}, ""),
        (b"---\n{name: x, tags: [a, {b: c}]}\n---\n", {"name": "x", "tags": ["a", {"b": "c"}]}, ""),
        (b"---\nname: |\n  one\n  two\n---\n", {"name": "one\ntwo\n"}, ""),
        (b"---\n? [a, b]\n: c\n---\n", {"": "c"}, ""),
        (b"---\nname: 012\non: yes\n<<: z\n---\n", {"name": "012", "on": "yes", "<<": "z"}, ""),
        (b'---\nname: "\\ud83d\\ude00 \\ud800"\n---\n', {"name": "😀 \ufffd"}, ""),
    ],
)
def test_unusual_frontmatter_is_read_as_it_is_written(data: bytes, values: dict[str, Any], body: str) -> None:
    document = parse(data)
    assert (document.problem, document.values, document.body, document.render()) == (None, values, body, data)


def test_a_body_that_is_not_utf_8_is_a_problem_and_its_frontmatter_still_counts() -> None:
    data = b"---\nname: x\nmetadata:\n  pinned: true\n---\ncaf\xe9\n"
    document = parse(data)
    assert (document.problem, document.name, document.is_pinned) == ("it is not UTF-8", "x", True)
    assert document.render() == data


@pytest.mark.parametrize(
    ("frontmatter", "type_"),
    [
        ("type: user", "user"),
        ("metadata:\n  type: user", "user"),
        ("metadata: {type: user}", "user"),
        ("type: user\nmetadata:\n  type: project", "user"),
        ("type: nonsense\nmetadata:\n  type: project", "project"),
        ("type: [user]", None),
        ("type: User", None),
        ("metadata: user", None),
        ("name: x", None),
    ],
)
def test_the_type_is_found_in_either_place(frontmatter: str, type_: str | None) -> None:
    assert parse(f"---\n{frontmatter}\n---\nbody\n".encode()).type == type_


@pytest.mark.parametrize(
    ("frontmatter", "is_pinned"),
    [
        ("metadata:\n  pinned: true", True),
        ("metadata:\n  pinned: True", True),
        ("metadata:\n  pinned: 'yes'  # keep", True),
        ("metadata: {pinned: on}", True),
        ("metadata:\n  pinned: false", False),
        ("metadata:\n  pinned:", False),
        ("metadata:\n  pinned: [true]", False),
        ("metadata: pinned", False),
        ("name: x", False),
    ],
)
def test_a_memory_is_pinned_where_its_metadata_say_so(frontmatter: str, is_pinned: bool) -> None:
    assert parse(f"---\n{frontmatter}\n---\nbody\n".encode()).is_pinned is is_pinned


def test_the_session_is_found_in_either_place() -> None:
    assert parse(b"---\noriginSessionId: s\n---\n").origin_session_id == "s"
    assert parse(b"---\noriginSessionId: s\nmetadata:\n  originSessionId: t\n---\n").origin_session_id == "t"


# --- writing ----------------------------------------------------------------------------------------------------------


def test_a_new_file_has_the_form_that_clients_read() -> None:
    assert a_document(
        name="review-size",
        description='Reviews stay "small": 400 lines',
        kind="feedback",
        session_id="9bcb-1",
        evidence="a1b2",
        body="\nKeep it small.\n\n**Why:** June.\n\n",
    ) == (
        b"---\nname: review-size\n"
        b'description: "Reviews stay \\"small\\": 400 lines"\ntype: feedback\nmetadata:\n  type: feedback\n'
        b"  originSessionId: 9bcb-1\n  evidence: a1b2\n  modified: 2026-10-16T07:40:18Z\n---\n"
        b"Keep it small.\n\n**Why:** June.\n"
    )


@given(ONE_LINE, ONE_LINE, ONE_LINE, ONE_LINE, st.sampled_from(MEMORY_TYPES))
def test_a_new_file_says_what_was_put_in(
    name: str, description: str, session: str, evidence: str, kind: MemoryType
) -> None:
    written = parse(a_document(name=name, description=description, session_id=session, evidence=evidence, kind=kind))
    metadata = {"type": kind, "originSessionId": session, "evidence": evidence, "modified": "2026-10-16T07:40:18Z"}
    assert written.problem is None
    assert written.values == {
        "name": name,
        "description": description,
        "type": kind,
        "metadata": {key: value for key, value in metadata.items() if value},
    }
    assert written.body == "A body.\n"


HARD_VALUES = [
    "",
    " both ends ",
    "a: b # c",
    "# c",
    "- item",
    "'single' and \"double\"",
    "back\\slash \\n \\u0041",
    "---",
    "...",
    "{a: b}",
    "[a]",
    "&a *b !c %d @e `f`",
    "a\tb",
    "line\u2028separator\u2029s and \x85 next",
    "\x7f\x80\x9f control \x00\x1b",
    "\ufeff\ufffe\uffff\ufffd",
    "😀 größe 日本",
]


@pytest.mark.parametrize("value", HARD_VALUES)
def test_hard_values_survive_writing_and_setting(value: str) -> None:
    data = a_document(name=value, description=value)
    assert (parse(data).name, parse(data).description, data.count(b"\n")) == (value, value, 9)
    document = parse(TOPIC).with_value(("metadata", "originSessionId"), value)
    assert document.origin_session_id == value


@pytest.mark.parametrize(
    "value",
    [
        *(
            "true",
            "No",
            "y",
            "N",
            "null",
            "12",
            "1_000",
            "1.5",
            "1e5",
            "0x1f",
            "0o17",
            "12:30",
            "12:30:45",
            "2026-10-16",
        ),
        *("a:", "1.", "123e4567"),
    ],
)
def test_no_reader_takes_a_word_for_something_else(value: str) -> None:
    """Other clients construct values; a name that looks like a number or a date must stay text for them too."""
    text = parse(a_document(name=value)).text
    assert yaml.safe_load(text.split("---\n")[1])["name"] == value
    assert f'name: "{value}"\n' in text


def test_half_a_character_is_written_as_a_question_mark() -> None:
    """A model may cut an emoji in two; such text has no UTF-8."""
    data = a_document(description="cut \ud83d", body="cut \ud83d")
    assert (parse(data).description, parse(data).body) == ("cut ?", "cut ?\n")


# --- changing a value -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "path", "after"),
    [
        pytest.param("name: a # why\nz: 1", "name", "name: NEW # why\nz: 1", id="a comment stays"),
        pytest.param(
            "z: 'q'\nname: 'a'\ny: \"q\"", "name", "z: 'q'\nname: NEW\ny: \"q\"", id="others keep their quotes"
        ),
        pytest.param("name:\nz: 1", "name", "name: NEW\nz: 1", id="an empty value"),
        pytest.param("name:   # why\nz: 1", "name", "name: NEW   # why\nz: 1", id="an empty value with a comment"),
        pytest.param("name: a\n  b\n  c\nz: 1", "name", "name: NEW\nz: 1", id="a value of several lines"),
        pytest.param('name: "a\n\n  b" # why\nz: 1', "name", "name: NEW # why\nz: 1", id="quotes over several lines"),
        pytest.param("name: |\n  a\n  b\nz: 1", "name", "name: NEW\nz: 1", id="a block"),
        pytest.param(
            "name: >- # why\n  a\n\n# z\nz: 1", "name", "name: NEW # why\n\n# z\nz: 1", id="a block with comments"
        ),
        pytest.param("name: |\nz: 1", "name", "name: NEW\nz: 1", id="an empty block"),
        pytest.param("z: |\n  a\nname: |+\n  a\n\n", "name", "z: |\n  a\nname: NEW\n\n", id="a block at the end"),
        pytest.param("z:   1\n\n# end", "name", "z:   1\n\n# end\nname: NEW", id="a new key goes to the end"),
        pytest.param("", "name", "name: NEW", id="a new key in nothing"),
        pytest.param("# only this", "name", "# only this\nname: NEW", id="a new key behind a comment"),
        pytest.param("z: |\n  name: a", "name", "z: |\n  name: a\nname: NEW", id="text that looks like the key"),
        pytest.param("{name: a, z: [1]}", "name", "{name: NEW, z: [1]}", id="a flow mapping"),
        pytest.param("name: !!str a\nz: 1", "name", "name: NEW\nz: 1", id="a tag"),
        pytest.param("name: a\nz: '1\t2'", "name", "name: NEW\nz: '1\t2'", id="a tab"),
        pytest.param("z: 1", "metadata.type", "z: 1\nmetadata:\n  type: NEW", id="new metadata"),
        pytest.param(
            "metadata:\n    a: 1 # why\n    # more\nz: 1",
            "metadata.type",
            "metadata:\n    a: 1 # why\n    type: NEW\n    # more\nz: 1",
            id="a new key takes the indentation of the others",
        ),
        pytest.param(
            "metadata:\n  type: a # why\n  z: {q: [1,2]}",
            "metadata.type",
            "metadata:\n  type: NEW # why\n  z: {q: [1,2]}",
            id="an inner value",
        ),
        pytest.param(
            "metadata:\n  a: |\n    one\n\nz: 1",
            "metadata.type",
            "metadata:\n  a: |\n    one\n  type: NEW\n\nz: 1",
            id="behind a block",
        ),
        pytest.param("metadata: {a: 1}  # why", "metadata.type", "metadata: {a: 1, type: NEW}  # why", id="inner flow"),
        pytest.param(
            "type: a\nmetadata:\n  type: b", "type", "type: NEW\nmetadata:\n  type: b", id="only the outer one"
        ),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("byte_order_mark", ["", "\ufeff"])
@pytest.mark.parametrize("body", ["", "body\n---\nmore: text", "caf\x00\n\n"])
def test_a_value_is_set_and_every_other_byte_stays(
    before: str, path: str, after: str, newline: str, byte_order_mark: str, body: str
) -> None:
    def file(frontmatter: str) -> bytes:
        lines = frontmatter + "\n" if frontmatter else ""
        return f"{byte_order_mark}---\n{lines}---\n{body}".replace("\n", newline).encode()

    assert parse(file(before)).with_value(tuple(path.split(".")), "NEW").render() == file(after)


@pytest.mark.parametrize(
    ("frontmatter", "path"),
    [
        ("name: a\nname: b", "name"),
        ("metadata:\n  type: a\n  type: b", "metadata.type"),
        ("name: [a]", "name"),
        ("name: {a: b}", "name"),
        ("metadata: words", "metadata.type"),
        ("metadata: {}", "metadata.type"),
        ("metadata: [a]", "metadata.type"),
        ("{z: 1}", "name"),
    ],
)
def test_what_cannot_be_set_without_harm_is_refused(frontmatter: str, path: str) -> None:
    with pytest.raises(DocumentError):
        parse(f"---\n{frontmatter}\n---\nbody\n".encode()).with_value(tuple(path.split(".")), "NEW")


def test_a_file_without_frontmatter_gets_none() -> None:
    with pytest.raises(DocumentError, match="there is no frontmatter"):
        parse(b"body\n").with_value(("name",), "x")


@given(FRONTMATTERS, st.sampled_from(["name", "description", "metadata.type", "new", "metadata.new"]), ONE_LINE)
def test_a_value_is_set_alone_or_not_at_all(text: str, path: str, value: str) -> None:
    """Whatever the frontmatter: the other values, the body, and a second setting of the same change nothing."""
    before = parse(text.encode("utf-8", "surrogateescape"))
    keys = tuple(path.split("."))
    try:
        after = before.with_value(keys, value)
    except DocumentError:
        return
    outer = {key: entry for key, entry in after.values.items() if key != keys[0]}
    assert outer == {key: entry for key, entry in before.values.items() if key != keys[0]}
    assert (after.metadata if len(keys) == 2 else after.values)[keys[-1]] == value
    assert (after.body, after.with_value(keys, value).text) == (before.body, after.text)


# --- changing the body ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "body", "result"),
    [
        (b"---\n#c\nname: x\n---\nold\n", "new\n", b"---\n#c\nname: x\n---\nnew\n"),
        (b"---\r\nname: x\r\n---\r\nold\r\n", "a\nb\n", b"---\r\nname: x\r\n---\r\na\r\nb\r\n"),
        (b"---\r\nname: x\r\n---\r\nold\r\n", "a\r\nb\r\n", b"---\r\nname: x\r\n---\r\na\r\nb\r\n"),
        (b"---\nname: x\n---", "new\n", b"---\nname: x\n---\nnew\n"),
        (b"---\r\nname: x\r\n---", "new\n", b"---\r\nname: x\r\n---\r\nnew\r\n"),
        (b"old\n", "new\n", b"new\n"),
        (b"---\nname: x\n---\ncaf\xe9\n", "new \udce9\n", b"---\nname: x\n---\nnew \xe9\n"),
    ],
)
def test_another_body_goes_under_the_same_frontmatter(data: bytes, body: str, result: bytes) -> None:
    assert parse(data).with_body(body).render() == result


@given(st.text(max_size=40), st.sampled_from(["\n", "\r\n"]))
def test_the_body_that_it_has_changes_nothing(body: str, newline: str) -> None:
    data = f"---\nname: x\n---\n{body}".replace("\r", "").replace("\n", newline).encode()
    assert parse(data).with_body(parse(data).body).render() == data


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("rest", ["", "metadata:\n  type: feedback\n", "metadata:\n  type: feedback\nother: x\n"])
def test_a_value_that_is_set_and_taken_out_leaves_the_file_as_it_was(rest: str, newline: str) -> None:
    before = f"---\nname: a\ntype: feedback\n{rest}---\nNever run npm.\n".replace("\n", newline).encode()
    bound = parse(before).with_value(("metadata", "enforce"), "run npm")
    assert bound.enforce == "run npm"
    assert bound.without_value(("metadata", "enforce")).render() == before
