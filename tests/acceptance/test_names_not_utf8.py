"""Files in a memory directory whose names are not UTF-8: they are named and left alone, and everything else goes on."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from memoryd.clients.claude_code.folders import slug_of
from tests.acceptance.command import as_json, memoryd, memoryd_given
from tests.acceptance.model import hire
from tests.keeping_model import keeping_model
from tests.messages_server import MessagesServer, Reply, text
from tests.transcript import Session, write

if TYPE_CHECKING:
    from memoryd.paths import Paths

FROZEN = b'---\nname: freeze\ndescription: "%b"\ntype: project\n---\n%b.\n' % (
    (b"The release is frozen until 2026-06-10",) * 2
)
LINTER = (
    b'---\nname: linter\ndescription: "Run the linter"\ntype: feedback\n---\nAlways run the linter before a push.\n'
)
BAD_NAMES = {
    b"\xff.md": FROZEN,  # a dream would archive it
    b"feedback_lint\xe9r.md": LINTER,  # and merge this one
    b"logs/2026/\xff/2026-06-01.md": b"- 10:00 user: always use tabs\n",
    b"logs/2026\xff.md": b"- 10:00 user: always use tabs\n",
    b"team/\xfe.md": LINTER,
}
NOT_UTF8 = "not named in UTF-8"


class Shop:
    """A project with two memories beside the files of bad names, and one session that memoryd has seen."""

    def __init__(self, environment: dict[str, str], paths: Paths, place: Path) -> None:
        self.environment, self.paths, self.place = environment, paths, place
        place.mkdir()
        self.folder = slug_of(str(place.resolve()))
        self.memory = Path(paths.transcripts_root, self.folder, "memory")
        self.session = Session(cwd=str(place.resolve()))
        self._said = b""
        self.say("let us begin")
        assert memoryd(environment, "extract-now").returncode == 0
        for name, data in {**BAD_NAMES, b"feedback_linter.md": LINTER, b"project_freeze.md": FROZEN}.items():
            path = self.path_of(name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "xb") as file:
                file.write(data)
            os.utime(path, (1_780_000_000, 1_780_000_000))
        os.mkdir(self.path_of(b"folder\xff.md"))
        (self.memory / "MEMORY.md").write_bytes(b"- [Linter](feedback_linter.md) - ours\n- [\xff](%FF.md) - theirs\n")

    def path_of(self, name: bytes) -> bytes:
        return os.path.join(os.fsencode(self.memory), name)

    def say(self, *texts: str) -> None:
        self._said += b"".join(map(self.session.turn, texts))
        write(self.paths.transcripts_root, self.session, self._said, folder=self.folder)

    def __call__(self, *arguments: str | bytes) -> subprocess.CompletedProcess[str]:
        done = memoryd_given(self.environment, b"", *map(os.fsdecode, arguments), directory=str(self.place))
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())

    def json(self, *arguments: str) -> Any:
        return as_json(self.environment, *arguments, "--project", str(self.place))

    def names(self) -> set[bytes]:
        return {name for name in os.listdir(os.fsencode(self.memory)) if name.endswith(b".md")}

    def assert_left_alone(self) -> None:
        for name, data in BAD_NAMES.items():
            with open(self.path_of(name), "rb") as file:
                assert (file.read(), os.stat(file.fileno()).st_mtime) == (data, 1_780_000_000)
        assert os.path.isdir(self.path_of(b"folder\xff.md"))


@pytest.fixture
def shop(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Shop:
    return Shop(environment, paths, tmp_path / "shop")


def test_a_dream_goes_on_without_them(shop: Shop) -> None:
    done = shop("dream-now")
    assert (done.returncode, done.stdout) == (0, "archived: project_freeze.md\n"), done.stderr
    shop.assert_left_alone()
    assert shop.names() == {b"MEMORY.md", b"\xff.md", b"feedback_lint\xe9r.md", b"folder\xff.md", b"feedback_linter.md"}
    # A line that somebody wrote for such a file stays; none is made for one.
    assert (shop.memory / "MEMORY.md").read_bytes() == (
        b"- [Linter](feedback_linter.md) - ours\n- [\xff](%FF.md) - theirs\n"
    )
    assert shop("undo").returncode == 0
    assert b"project_freeze.md" in shop.names()


def test_extraction_and_the_commands_around_memory_go_on_without_them(shop: Shop) -> None:
    shop.say("never push to main without asking, because every push deploys")
    (worked,) = as_json(shop.environment, "extract-now")
    assert (worked["outcome"], worked["saved"]) == ("succeeded", ["feedback_never_push_to_main_without_asking.md"])
    assert shop("remember", "always use tabs in makefiles").returncode == 0
    assert shop("forget", "feedback_linter").returncode == 0
    assert shop("restore", "feedback_linter").returncode == 0
    shop.assert_left_alone()


def test_what_is_shown_names_them_in_escapes_or_not_at_all(shop: Shop) -> None:
    listed = {memory["file"]: memory["problem"] for memory in shop.json("memories")}
    assert listed == {
        "feedback_linter.md": None,
        "project_freeze.md": None,
        "\\xff.md": NOT_UTF8,
        "feedback_lint\\xe9r.md": NOT_UTF8,
        "folder\\xff.md": "no regular file",
    }
    assert "\\xff.md  (no type, left alone)\n    not named in UTF-8\n" in shop("memories").stdout
    (project,) = as_json(shop.environment, "status")["memories"]
    assert {kind: number for kind, number in project["types"].items() if number} == {"feedback": 1, "project": 1}
    recalled = shop.json("recall", "when do I have to run the linter before a push?")
    assert [memory["file"] for memory in recalled["selected"]] == ["feedback_linter.md"]
    assert "(%FF.md)" in shop("context").stdout
    assert shop.json("verify")["checked"] == 2
    assert "Traceback" not in shop("doctor").stderr


@pytest.mark.parametrize("is_absolute", [False, True])
@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("why", "There is no memory \\xff.md in "),
        ("forget", "There is no memory \\xff.md in "),
        ("verify", "There is no memory \\xff.md in "),
        ("restore", "There is no memory \\xff.md in "),
        ("diff", "There is no memory \\xff.md in "),
        ("history", "There is no memory \\xff.md in "),
    ],
)
def test_such_a_name_on_the_command_line_is_no_memory(
    shop: Shop, command: str, sentence: str, is_absolute: bool
) -> None:
    done = shop(command, shop.path_of(b"\xff.md") if is_absolute else b"\xff.md")
    assert done.stderr.removeprefix("memoryd: ").startswith(sentence), done.stderr
    shop.assert_left_alone()


def test_a_path_that_is_not_utf8_is_no_memory_directory(shop: Shop) -> None:
    done = shop("why", b"/nowhere/\xff/a.md")
    assert (done.returncode, "is no memory directory that memoryd knows" in done.stderr) == (2, True)


def test_a_model_works_beside_them(shop: Shop) -> None:
    """Neither its private copy of the memories nor what it is sent holds one of these names."""
    with MessagesServer(keeping_model) as server:
        hire(shop.paths, server)
        shop.say("ok. keep nonce-00000001 is blue.")
        (worked,) = as_json(shop.environment, "extract-now")
        assert (worked["outcome"], worked["saved"]) == ("succeeded", ["project_nonce_00000001.md"])
        assert server.violations == []
    with MessagesServer(lambda _: Reply(text("All is well."))) as server:
        hire(shop.paths, server)
        done = shop("dream-now")
        assert done.returncode == 0, done.stderr
        assert server.answered
        assert server.violations == []
    shop.assert_left_alone()
