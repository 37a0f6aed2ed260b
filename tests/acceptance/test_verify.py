"""`memoryd verify`, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.acceptance.command import memoryd
from tests.rot.repository import Checkout

if TYPE_CHECKING:
    from memoryd.paths import Paths

STALE = '---\nname: mail\ndescription: "Mail goes out in src/mail.py"\ntype: project\n---\n`send_mail` retries.\n'
GOOD = '---\nname: cart\ndescription: "The cart"\ntype: project\n---\nThe cart is src/cart.py.\n'


class Shop:
    """A project with a past, two memories, and a terminal."""

    def __init__(self, environment: dict[str, str], paths: Paths, root: Path) -> None:
        self.environment = environment
        self.checkout = Checkout(root)
        self.checkout.commit({"src/mail.py": "def send_mail(): ...\n", "src/cart.py": "x\n"})
        self.checkout.commit(without=("src/mail.py",), day="2026-08-02")
        slug = str(root.resolve()).replace("/", "-").replace("_", "-")
        self.memory = Path(paths.transcripts_root, slug, "memory")
        self.memory.mkdir(parents=True)
        (self.memory / "project_mail.md").write_text(STALE)
        (self.memory / "project_cart.md").write_text(GOOD)

    def __call__(self, *arguments: str) -> tuple[int, str, str]:
        done = memoryd(self.environment, "verify", *arguments, "--project", str(self.checkout.root))
        return done.returncode, done.stdout, done.stderr


@pytest.fixture
def shop(environment: dict[str, str], paths: Paths, tmp_path: Path) -> Shop:
    return Shop(environment, paths, tmp_path / "shop")


def test_what_is_gone_is_named_with_its_memory_and_why(shop: Shop) -> None:
    before = sorted((file.name, file.read_bytes()) for file in shop.memory.iterdir())
    assert shop() == (
        1,
        "project_mail.md\n    src/mail.py: deleted 2026-08-02\n    send_mail: not in the code since 2026-08-02\n",
        "1 of 2 refer to something that is gone. memoryd forget FILE removes one; an edit mends it.\n",
    )
    assert sorted((file.name, file.read_bytes()) for file in shop.memory.iterdir()) == before


def test_json(shop: Shop) -> None:
    code, out, _ = shop("--json")
    assert code == 1
    assert json.loads(out) == {
        "project": str(shop.checkout.root),
        "problem": None,
        "checked": 2,
        "gone": [
            {"file": "project_mail.md", "kind": "path", "text": "src/mail.py", "why": "deleted 2026-08-02"},
            {
                "file": "project_mail.md",
                "kind": "symbol",
                "text": "send_mail",
                "why": "not in the code since 2026-08-02",
            },
        ],
    }


def test_only_the_memories_that_are_named_are_looked_at(shop: Shop) -> None:
    assert shop("project_cart") == (0, "", "All references in 1 memory still exist.\n")
    assert shop("project_mail.md", "project_cart.md")[0] == 1
    code, out, error = shop("nothing_of_this_name")
    assert (code, out) == (1, "")
    assert "There is no memory nothing_of_this_name" in error


def test_nothing_is_gone_where_there_are_no_memories(shop: Shop) -> None:
    for file in shop.memory.iterdir():
        file.unlink()
    assert shop() == (0, "", "All references in 0 memories still exist.\n")
    shop.memory.rmdir()
    assert shop() == (0, "", "All references in 0 memories still exist.\n")


def test_it_is_said_when_nothing_could_be_checked(shop: Shop) -> None:
    (shop.checkout.root / ".git" / "index").write_bytes(b"no index")
    code, out, error = shop()
    assert (code, out) == (1, "")
    assert error.startswith("memoryd: Nothing could be checked against ")
    assert error.endswith(f": git cannot read it.\n  fix: git -C {shop.checkout.root} status\n")
    assert json.loads(shop("--json")[1]) == {
        "project": str(shop.checkout.root),
        "problem": "git cannot read it",
        "checked": 0,
        "gone": [],
    }
