"""One description of a screen: on a terminal, in a pipe, without colour, without room, without UTF-8."""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, TextIO

import pytest

from memoryd.cli.screen import (
    Column,
    Command,
    Gap,
    Paragraph,
    Rows,
    Screen,
    Section,
    Table,
    bad,
    dim,
    good,
    strong,
)
from memoryd.formatting import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from memoryd.cli.screen import Block

LONG = "chmod u+r /home/user/.claude/projects/-code-acme/00000000-0000-4000-8000-000000000000.jsonl"
BLOCKS: list[Block] = [
    Paragraph(
        [good("● "), strong("memoryd"), " runs — since three hours, and says so in more words than fit into forty"]
    ),
    Gap(),
    Rows([("watches", "~/.claude/projects"), ("engine", ["offline", dim(" · free")])]),
    Section(
        "projects",
        [
            Table(
                [Column("name"), Column("sessions", is_number=True), Column("what")],
                [
                    ["acme", "1,204", "saved a.md, b.md and a memory whose name is rather long"],
                    ["größe", "7", "nothing"],
                    ["漢字", "12", bad("failed")],
                    ["alone"],
                ],
            )
        ],
    ),
    Section("problems", [Paragraph(bad("It cannot be read."), 2), Command(LONG)]),
]
ESCAPE = re.compile(r"\x1b\[[\d;]*m")


def piped(blocks: list[Block], encoding: str = "utf-8", **environment: str) -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    Screen(environment, stream).show(blocks)
    stream.flush()
    stream.seek(0)
    return stream.read()


@pytest.fixture
def terminal() -> Iterator[Callable[..., list[str]]]:
    """Shows blocks on a terminal of so many columns and returns its lines."""
    ours, its = pty.openpty()
    stream: TextIO = open(its, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - closed below

    def show(blocks: list[Block], columns: int = 80, **environment: str) -> list[str]:
        fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        return Screen({"TERM": "xterm-256color", **environment}, stream).lines(blocks)

    yield show
    stream.close()
    os.close(its)
    os.close(ours)


def width(line: str) -> int:
    """As a terminal counts; the only wide letters here are these two."""
    return len(line) + sum(letter in "漢字" for letter in line)


# --- in a pipe --------------------------------------------------------------------------------------------------------


def test_a_pipe_gets_plain_aligned_text_that_is_never_wrapped() -> None:
    assert piped(BLOCKS) == (
        "● memoryd runs — since three hours, and says so in more words than fit into forty\n"
        "\n"
        "watches  ~/.claude/projects\n"
        "engine   offline · free\n"
        "\n"
        "projects\n"
        "  name   sessions  what\n"
        "  acme      1,204  saved a.md, b.md and a memory whose name is rather long\n"
        "  größe         7  nothing\n"
        "  漢字         12  failed\n"
        "  alone\n"
        "\n"
        "problems\n"
        "    It cannot be read.\n"
        f"  fix: {LONG}\n"
    )


@pytest.mark.parametrize(
    ("encoding", "environment"),
    [
        ("ascii", {}),
        ("utf-8", {"LC_ALL": "C"}),
        ("utf-8", {"LANG": "POSIX"}),
        ("utf-8", {"LC_CTYPE": "C", "LANG": "x"}),
    ],
)
def test_without_utf8_everything_is_spelt_in_ascii_and_still_aligned(
    encoding: str, environment: dict[str, str]
) -> None:
    text = piped(BLOCKS, encoding, **environment)
    assert text.isascii()
    assert text.startswith("* memoryd runs - since")
    assert "engine   offline | free\n" in text
    assert "  gr\\xf6\\xdfe          7  nothing\n  \\u6f22\\u5b57        12  failed\n" in text


def test_an_encoding_keeps_the_letters_that_it_has() -> None:
    assert piped([Paragraph("größe — 漢")], "latin-1") == "größe - \\u6f22\n"


def test_a_locale_that_is_overruled_does_not_count() -> None:
    assert piped([Paragraph("—")], LC_ALL="en_US.UTF-8", LANG="C") == "—\n"


def test_a_name_that_is_too_wide_moves_only_its_own_row() -> None:
    rows = [["a" * 80, "x"], ["b", "y"]]
    assert piped([Table([Column(), Column()], rows)]) == f"{'a' * 80}  x\n{'b':<60}  y\n"


def test_text_cannot_steer_the_terminal(terminal: Callable[..., list[str]]) -> None:
    evil = "\x1b[31m\n\u202e[b]"
    blocks: list[Block] = [
        Paragraph(evil),
        Rows([(evil, evil)]),
        Table([Column(evil), Column()], [[evil, evil]]),
        Command(evil),
        Section(evil, []),
    ]
    assert piped(blocks).count(shown(evil)) == 8
    lines = terminal(blocks, 400)
    assert sum(line.count(shown(evil)) for line in lines) == 8
    assert not re.search(r"[\x00-\x1a\x7f\u202e]", "".join(lines))
    assert "\x1b[31m" not in "".join(lines)


# --- on a terminal ----------------------------------------------------------------------------------------------------


def test_a_terminal_shows_the_same_in_colour(terminal: Callable[..., list[str]]) -> None:
    lines = terminal(BLOCKS, 200)
    assert "\n".join(ESCAPE.sub("", line) for line in lines) + "\n" == piped(BLOCKS)
    assert lines[0].startswith("\x1b[32m● \x1b[0m\x1b[1mmemoryd\x1b[0m runs")
    assert any("\x1b[1;31mfailed\x1b[0m" in line for line in lines)


@pytest.mark.parametrize("columns", [80, 60, 40, 25])
def test_lines_fit_into_any_terminal_and_say_all(terminal: Callable[..., list[str]], columns: int) -> None:
    lines = [ESCAPE.sub("", line) for line in terminal(BLOCKS, columns)]
    wide = [line for line in lines if width(line) > columns]
    assert wide == [f"  fix: {LONG}"], "a command stays whole, so that it can be copied"
    words = set(piped(BLOCKS).split()) - {"name", "what"}  # stacked, the first and the last column need no title
    said = "".join(line.strip() for line in lines)
    assert [word for word in words if word not in said] == []


def test_where_there_is_no_room_the_last_column_goes_below(terminal: Callable[..., list[str]]) -> None:
    lines = [ESCAPE.sub("", line) for line in terminal(BLOCKS, 40)]
    begin = lines.index("projects")
    assert lines[begin + 1 : begin + 9] == [
        "  acme  sessions 1,204",
        "    saved a.md, b.md and a memory whose",
        "    name is rather long",
        "  größe  sessions 7",
        "    nothing",
        "  漢字  sessions 12",
        "    failed",
        "  alone",
    ]


NAME = "feedback_never_push_to_main_without_asking.md"


@pytest.mark.parametrize("columns", [120, 60, 50, 40, 30])
def test_a_name_is_never_broken_so_that_it_can_be_copied(terminal: Callable[..., list[str]], columns: int) -> None:
    table = Table([Column("when"), Column(most=18), Column("what")], [["2 s ago", "shop", f"saved {NAME}"], ["", NAME]])
    blocks: list[Block] = [
        Paragraph(["it saved ", strong(NAME), " and another"], 2),
        Rows([("binding", f"{NAME}: git push (1 refused, 0 allowed)"), ("engine", "offline: no model, no network")]),
        Section("last", [table]),
    ]
    lines = [ESCAPE.sub("", line) for line in terminal(blocks, columns)]
    assert sum(NAME in line for line in lines) == 4
    assert all(width(line) <= columns or line.strip().startswith(NAME) for line in lines), "nothing else is too wide"
    assert " ".join(" ".join(lines).split()).replace("when what ", "") == " ".join(piped(blocks).split()).replace(
        "when what ", ""
    )


@pytest.mark.parametrize("columns", range(24, 44))
def test_no_blank_at_the_end_of_a_coloured_line_makes_it_too_wide(
    terminal: Callable[..., list[str]], columns: int
) -> None:
    lines = terminal([Paragraph(dim("ask me before you push to main, every push deploys"), 2)], columns)
    assert all(len(ESCAPE.sub("", line)) <= columns and not ESCAPE.sub("", line).endswith(" ") for line in lines)


def test_one_row_that_does_not_fit_leaves_the_others_in_their_columns(terminal: Callable[..., list[str]]) -> None:
    rows = Rows([("engine", "offline"), ("binding", f"{NAME}: git push"), ("turns", "none")])
    lines = [ESCAPE.sub("", line) for line in terminal([rows], 50)]
    assert lines == ["engine   offline", "binding", f"  {NAME}:", "  git push", "turns    none"]


def test_in_a_frame_commands_are_broken_too(terminal: Callable[..., list[str]]) -> None:
    ours, its = pty.openpty()
    with open(its, "w", encoding="utf-8") as stream:
        lines = Screen({"TERM": "xterm", "COLUMNS": "40"}, stream).lines([Command(LONG)], is_whole=False)
    os.close(ours)
    assert len(lines) > 1
    assert terminal([Command(LONG)], 40, TERM="dumb") == [f"fix: {LONG}"]


def test_no_color_means_no_colour_and_a_dumb_terminal_no_escape_codes(terminal: Callable[..., list[str]]) -> None:
    without = "".join(terminal(BLOCKS, NO_COLOR="1"))
    assert "\x1b[1m" in without, "bold is no colour"
    assert not re.search(r"\x1b\[[\d;]*3[0-7]", without)
    for name in ("dumb", "", "unknown"):
        assert "\x1b" not in "".join(terminal(BLOCKS, TERM=name))


def test_rich_is_imported_for_a_terminal_only() -> None:
    program = (
        "import sys\nfrom memoryd.cli.screen import *\n"
        "Screen({'TERM': 'xterm'}).show([Section('a', [Rows([('b', 'ü')]), Table([Column()], [['c']])])])\n"
        "print('rich' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stderr == "False\n"
