"""The index: every topic has one line, every line leads somewhere, and what a person wrote stays theirs."""

from __future__ import annotations

import os
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.memory.index import (
    LINE_CHARACTERS,
    Index,
    Topic,
    as_loaded,
    entry,
    entry_of,
    rebuild,
)
from memoryd.memory.limits import MOST_BYTES, MOST_LINES

NAMES = (
    st.binary(min_size=1, max_size=40)
    .map(lambda data: os.fsdecode(data.replace(b"/", b"").replace(b"\0", b"").lstrip(b".")) + ".md")
    .filter(lambda name: name not in (".md", "MEMORY.md"))
)
FILES = st.dictionaries(
    st.sampled_from(["a.md", "b.md", "c d.md", "ü(1).md", "e%20.md", "#f.md"]) | NAMES, st.integers(0, 5), max_size=8
)
LINES = st.sampled_from(
    [
        *(
            "# Memory",
            "",
            "Free text.",
            "- an item",
            "- [a](a.md) — the hook of a person",
            "* [b](b.md)",
            "- [gone](x.md)",
        ),
        *(
            "  - [a again](./a.md)",
            "- [c](c%20d.md)",
            "- [c](<c d.md>)",
            "- [u](ü(1).md)",
            "- [site](https://a.b/c.md)",
        ),
        *(
            "- [here](#part)",
            "- [team](team/x.md)",
            "-   [a [nested] title](a.md)",
            "- [ ] a task",
            "text \u2028\x0c here",
        ),
        *("- [broken](a.md", "- [f](%23f.md)", "\ufeff# Memory", "- [x](%FF.md)", "[a](a.md)"),
    ]
)
TEXTS = st.lists(st.tuples(LINES, st.sampled_from(["\n", "\n", "\r\n"])), max_size=12).flatmap(
    lambda lines: st.booleans().map(
        lambda ends: "".join(line + end for line, end in lines) if ends else "\n".join(line for line, _ in lines)
    )
)


def of_name(name: str) -> Topic:
    return Topic(name.removesuffix(".md"), "what it says")


def never(name: str) -> Topic:
    raise AssertionError(f"{name} was read")


def many(number: int) -> dict[str, int]:
    """Topic files, the oldest first."""
    return {f"t{index:04}.md": index for index in range(number)}


def entries(text: str) -> list[str]:
    return [name for line in text.split("\n") if (name := entry_of(line)) is not None]


# --- what stays and what goes -----------------------------------------------------------------------------------------


def test_an_index_is_made_oldest_first() -> None:
    built = rebuild("", {"new.md": 2, "b.md": 1, "a.md": 1}, of_name)
    assert built == Index(
        "- [a](a.md) — what it says\n- [b](b.md) — what it says\n- [new](new.md) — what it says\n",
    )


def test_no_topics_need_no_index() -> None:
    assert rebuild("", {}, never) == Index("")


def test_what_is_right_stays_byte_for_byte_and_nothing_is_read_for_it() -> None:
    text = (
        "\ufeff# Memory\n\n  Words of a person, \x0c with \u2028 odd \x85 signs.  \n\n## Work\r\n"
        "* [My own title](a.md)   — and a hook far longer than any that we would make: " + "long " * 60 + "\n"
        "+ [B \\u00e9](./b.md)\n\t- [c](c.md)\n\n- a list of theirs\n- [ ] a task\n- [site](https://a.b/c.md)\n"
        "- [site](https://a.b/c.md) again\n- [part](#part)\n- [mail](mailto:a@b.c)\n\n\nthe end, without a newline"
    )
    assert rebuild(text, {"a.md": 3, "b.md": 1, "c.md": 2}, never) == Index(text)


def test_duplicates_and_lines_that_lead_nowhere_go() -> None:
    text = "# M\n- [a](a.md) — first\n- [gone](gone.md)\ntext\n- [a](./a.md) — second\n- [up](../a.md)\n- [b](b.md)\n"
    assert rebuild(text, {"a.md": 1, "b.md": 2}, never).text == "# M\n- [a](a.md) — first\ntext\n- [b](b.md)\n"


def test_a_line_to_another_place_in_the_directory_stays_while_that_is_there() -> None:
    text = "- [team](team/x.md)\n- [gone](team/y.md)\n- [part](a.md#part)\n"
    there = {"team/x.md", "a.md#part"}
    assert rebuild(text, {}, never, exists=there.__contains__).text == "- [team](team/x.md)\n- [part](a.md#part)\n"


def test_new_lines_go_behind_the_last_entry_and_before_the_text_that_follows() -> None:
    text = "# M\n- [a](a.md)\n\n## Notes\nOf a person.\n"
    assert rebuild(text, {"a.md": 9, "n.md": 2, "m.md": 1}, of_name).text == (
        "# M\n- [a](a.md)\n- [m](m.md) — what it says\n- [n](n.md) — what it says\n\n## Notes\nOf a person.\n"
    )


def test_new_lines_go_to_the_end_where_there_is_no_entry() -> None:
    assert rebuild("# M\n\ntext", {"a.md": 1}, of_name).text == "# M\n\ntext\n- [a](a.md) — what it says\n"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# M\r\n- [a](a.md)\r\n", "# M\r\n- [a](a.md)\r\n- [b](b.md) — what it says\r\n"),
        ("# M\r\n- [a](a.md)", "# M\r\n- [a](a.md)\r\n- [b](b.md) — what it says\r\n"),
        ("# M\n- [a](a.md)", "# M\n- [a](a.md)\n- [b](b.md) — what it says\n"),
        ("# M\r\ntext\n- [a](a.md)\n", "# M\r\ntext\n- [a](a.md)\n- [b](b.md) — what it says\r\n"),
        ("- [a](a.md)\n- [x](x.md)", "- [a](a.md)\n- [b](b.md) — what it says\n"),
    ],
)
def test_line_ends_stay_and_new_lines_take_them_over(before: str, after: str) -> None:
    assert rebuild(before, {"a.md": 1, "b.md": 2}, of_name).text == after


@pytest.mark.parametrize("newline", ["\n", "\r\n", ""])
def test_the_line_of_a_changed_file_is_made_anew_unless_a_person_edited_it(newline: str) -> None:
    ours = entry("a.md", Topic("a", "the old hook"))
    cases: list[tuple[str, dict[str, str | None], str]] = [
        (ours, {"a.md": ours}, "- [a](a.md) — what it says"),
        (ours, {"a.md": None}, "- [a](a.md) — what it says"),
        (ours, {}, ours),
        (ours + " edited", {"a.md": ours}, ours + " edited"),
    ]
    for line, refresh, result in cases:
        assert rebuild(line + newline, {"a.md": 1}, of_name, refresh=refresh) == Index(result + newline)


def test_a_renamed_file_gets_a_new_line() -> None:
    assert rebuild("- [a](a.md) — theirs\n", {"b.md": 1}, of_name).text == "- [b](b.md) — what it says\n"


@given(TEXTS, FILES)
def test_whatever_stood_there_every_topic_has_one_line_and_every_line_a_topic(text: str, files: dict[str, int]) -> None:
    built = rebuild(text, files, of_name, exists=lambda path: path == "team/x.md")
    found = entries(built.text)
    assert built.left_out == ()
    assert sorted(name for name in found if name != "team/x.md") == sorted(files)
    assert found.count("team/x.md") == ("team/x.md" in text)


@given(TEXTS, FILES)
def test_a_second_rebuild_changes_nothing(text: str, files: dict[str, int]) -> None:
    built = rebuild(text, files, of_name)
    assert rebuild(built.text, files, of_name) == built


@given(TEXTS, FILES)
def test_the_lines_of_a_person_stay_in_their_order(text: str, files: dict[str, int]) -> None:
    def theirs(of: str) -> list[str]:
        return [line.removesuffix("\r") for line in of.removesuffix("\n").split("\n") if entry_of(line) is None]

    after = rebuild(text, files, of_name).text
    assert [line for line in theirs(after) if line] == [line for line in theirs(text) if line]
    stayed = [line.rstrip("\r") for line in text.split("\n") if entry_of(line) in files]
    remaining = iter(line.rstrip("\r") for line in after.split("\n"))
    first = {entry_of(line): line for line in reversed(stayed)}
    assert all(line in remaining for line in dict.fromkeys(stayed) if first[entry_of(line)] == line)


# --- one line ---------------------------------------------------------------------------------------------------------


def test_a_line_is_cut_at_a_word() -> None:
    assert entry("a.md", Topic("Review size", "Reviews stay under " + "400 changed lines, " * 20)) == (
        "- [Review size](a.md) — Reviews stay under 400 changed lines, 400 changed lines, 400 changed lines, 400 changed"
        " lines, 400 changed lines, 400…"
    )


@pytest.mark.parametrize(
    ("name", "title", "hook", "line"),
    [
        ("a.md", "A", "", "- [A](a.md)"),
        ("a.md", "", "", "- [](a.md)"),
        ("a.md", "A [b] c]", "x\n y\t\u2028z", "- [A (b) c)](a.md) — x y z"),
        ("a.md", "half \ud800\x00", "\x1b[31m red", "- [half](a.md) — [31m red"),
        ("my file (1).md", "A", "h", "- [A](my%20file%20%281%29.md) — h"),
        ("größe 日本.md", "A", "h", "- [A](größe%20日本.md) — h"),
        ("100%.md", "A", "h", "- [A](100%25.md) — h"),
        ("#a.md", "A", "h", "- [A](%23a.md) — h"),
        ("mailto:a.md", "A", "h", "- [A](mailto%3Aa.md) — h"),
        ("\udcff.md", "A", "h", "- [A](%FF.md) — h"),
        ("a\nb.md", "A", "h", "- [A](a%0Ab.md) — h"),
    ],
)
def test_a_line_is_one_line_and_its_link_a_link(name: str, title: str, hook: str, line: str) -> None:
    assert entry(name, Topic(title, hook)) == line
    assert entry_of(line) == name


@given(NAMES)
def test_every_name_that_a_file_can_have_comes_back_from_its_link(name: str) -> None:
    """Also names that are not UTF-8: the index must not stop being built for them."""
    line = entry(name, Topic("title", "hook"))
    assert (entry_of(line), len(line.splitlines())) == (name, 1)
    line.encode()


@given(st.text(max_size=300), st.text(max_size=300), st.sampled_from(["a.md", "größe (1).md", "x" * 120 + ".md"]))
def test_a_line_has_at_most_150_characters_whatever_the_title_and_hook(title: str, hook: str, name: str) -> None:
    line = entry(name, Topic(title, hook))
    assert len(line) <= LINE_CHARACTERS
    assert entry_of(line) == name


@pytest.mark.parametrize("word", ["w", "🙂", "wörter "])
def test_a_long_title_is_cut_before_the_link_is(word: str) -> None:
    line = entry("a.md", Topic(word * 200, word * 200))
    assert len(line) <= LINE_CHARACTERS
    assert entry_of(line) == "a.md"


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("- [A](a.md) — hook", "a.md"),
        ("  * [A](./a.md)\r", "a.md"),
        ("+\t[A](a.md)", "a.md"),
        ("- [A [b]](a.md)", "a.md"),
        ("- [A](notes(1).md)", "notes(1).md"),
        ("- [A](<my notes.md>)", "my notes.md"),
        ("- [A](team/a.md)", "team/a.md"),
        ("- [A](a.md) and [B](b.md)", "a.md"),
        ("# [A](a.md)", None),
        ("[A](a.md)", None),
        ("-[A](a.md)", None),
        ("- see [A](a.md)", None),
        ("- [ ] [A](a.md)", None),
        ("- [A](my notes.md)", None),
        ("- [A]()", None),
        ("- [A](https://a.b/a.md)", None),
        ("- [A](#part)", None),
        ("", None),
    ],
)
def test_a_line_is_recognised_by_its_link(line: str, name: str | None) -> None:
    assert entry_of(line) == name


# --- limits -----------------------------------------------------------------------------------------------------------


def test_an_index_at_its_limit_is_whole() -> None:
    built = rebuild("", many(MOST_LINES), of_name)
    assert (built.left_out, built.lines, as_loaded(built.text)) == ((), MOST_LINES, (built.text, False))


def test_past_200_lines_the_oldest_are_left_out_and_named() -> None:
    built = rebuild("# M\n", many(MOST_LINES + 3), of_name)
    assert built.left_out == ("t0000.md", "t0001.md", "t0002.md", "t0003.md")
    assert (built.lines, entries(built.text)) == (MOST_LINES, list(many(MOST_LINES + 3))[4:])
    assert rebuild(built.text, many(MOST_LINES + 3), of_name) == built


def test_age_decides_and_not_the_place_in_the_index() -> None:
    files = many(MOST_LINES)
    full = rebuild("", files, of_name).text
    touched = {**files, "t0000.md": 9_000, "new.md": 9_001}
    built = rebuild(full, touched, of_name)
    assert built.left_out == ("t0001.md",)
    assert entries(built.text) == ["t0000.md", *list(files)[2:], "new.md"]


def test_what_was_left_out_comes_back_when_there_is_room() -> None:
    files = many(MOST_LINES + 2)
    full = rebuild("", files, of_name).text
    del files["t0100.md"], files["t0101.md"]
    built = rebuild(full, files, of_name)
    assert (built.left_out, sorted(entries(built.text))) == ((), sorted(files))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_past_25000_bytes_the_oldest_are_left_out_and_named(newline: str) -> None:
    """A line of 150 characters can have 400 bytes and more."""
    files = many(150)
    built = rebuild(f"# M{newline}", files, lambda name: Topic(name, "日" * 200))
    assert MOST_BYTES - 500 < len(built.text.encode()) <= MOST_BYTES
    assert as_loaded(built.text) == (built.text, False)
    assert (*built.left_out, *entries(built.text)) == tuple(files)
    assert rebuild(built.text, files, lambda name: Topic(name, "日" * 200)) == built


def test_a_person_s_long_line_that_is_left_out_may_come_back_short_at_once() -> None:
    """Otherwise the next commit would find an index that is not the one it would make."""
    files = many(10)
    text = "- [old](t0000.md) — " + "x" * 20_000 + "\n- [young](t0009.md) — " + "y" * 10_000 + "\n"
    built = rebuild(text, files, of_name)
    assert built.left_out == ()
    assert sorted(entries(built.text)) == sorted(files)
    assert rebuild(built.text, files, of_name) == built


def test_an_index_of_5000_lines_is_brought_into_its_limits() -> None:
    files = many(5_000)
    text = "".join(entry(name, of_name(name)) + "\n" for name in reversed(files))
    started = time.process_time()
    built = rebuild(text, files, of_name)
    assert time.process_time() - started < 5
    assert entries(built.text) == list(reversed(list(files)[-MOST_LINES:]))
    assert built.left_out == tuple(list(files)[:-MOST_LINES])


def test_of_thousands_without_a_line_only_the_newest_are_read() -> None:
    read: list[str] = []

    def topic(name: str) -> Topic:
        read.append(name)
        return of_name(name)

    files = {**many(5_000), "mine.md": -1}
    built = rebuild("- [mine](mine.md)\n", files, topic)
    assert set(read) <= set(list(many(5_000))[-2 * MOST_LINES :])
    assert entries(built.text) == list(many(5_000))[-MOST_LINES:]
    assert built.left_out == ("mine.md", *list(many(5_000))[:-MOST_LINES])


def test_a_person_s_own_text_is_never_left_out_and_neither_is_the_newest_topic() -> None:
    text = "- [old](old.md)\n" + "".join(f"line {number}\n" for number in range(5_000))
    built = rebuild(text, {"old.md": 1, "new.md": 2}, of_name)
    assert built.text == "- [new](new.md) — what it says\n" + text.split("\n", 1)[1]
    assert built.left_out == ("old.md",)
    assert rebuild(built.text, {"old.md": 1, "new.md": 2}, of_name) == built


@given(
    st.lists(st.integers(1, 4_000), min_size=1, max_size=40),
    st.lists(st.integers(0, 260), max_size=40),
    st.integers(0, 230),
)
def test_full_indexes_are_stable_too(hooks: list[int], listed: list[int], own_lines: int) -> None:
    files = many(260)
    text = "own\n" * own_lines + "".join(
        f"- [x](t{number:04}.md) {'h' * hooks[number % len(hooks)]}\n" for number in listed
    )
    built = rebuild(text, files, of_name)
    assert rebuild(built.text, files, of_name) == built
    assert sorted((*built.left_out, *entries(built.text))) == sorted(files)
    assert entries(built.text).count("t0259.md") == 1
    assert [files[name] for name in built.left_out] == sorted(files[name] for name in built.left_out)
    if own_lines < MOST_LINES - 40:
        assert as_loaded(built.text) == (built.text, False) or max(hooks) > 1_000


# --- what clients load ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "loaded"),
    [
        ("", ("", False)),
        ("# M", ("# M", False)),
        ("line\n" * 200, ("line\n" * 200, False)),
        ("line\n" * 200 + "last", ("line\n" * 200, True)),
        ("line\n" * 201, ("line\n" * 200, True)),
        ("line\r\n" * 201, ("line\r\n" * 200, True)),
        ("a\u2028b\x0cc\n" * 100, ("a\u2028b\x0cc\n" * 100, False)),
        (("x" * 249 + "\n") * 100, (("x" * 249 + "\n") * 100, False)),
        (("x" * 249 + "\n") * 100 + "y", (("x" * 249 + "\n") * 100, True)),
        (("é" * 200 + "\n") * 100, (("é" * 200 + "\n") * 62, True)),
        ("short\n" + "x" * 30_000, ("short\n", True)),
    ],
)
def test_a_client_loads_200_lines_and_whole_lines_up_to_25000_bytes(text: str, loaded: tuple[str, bool]) -> None:
    assert as_loaded(text) == loaded
