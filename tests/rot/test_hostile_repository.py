"""Whatever a repository has in its config, its links and its names: looking at it runs nothing and fetches nothing."""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

import pytest

from tests.rot.repository import Checkout, verdict, with_a_past

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def shop(tmp_path: Path) -> Checkout:
    return with_a_past(tmp_path / "shop")


def test_no_program_that_a_repository_names_is_run(shop: Checkout, tmp_path: Path) -> None:
    """Every setting by which reading could start something; the trap leaves a file behind when it is run."""
    sprung = tmp_path / "sprung"
    trap = shop.root / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{sprung}'\ncat\n")
    trap.chmod(0o755)
    shop.commit({".gitattributes": "* diff=evil filter=evil merge=evil\n"})
    shop.sign_head()
    settings = [
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "pager.grep",
        "pager.ls-files",
        "diff.external",
        "gpg.program",
    ]
    settings += [
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
    ]
    settings += ["core.sshCommand", "core.editor", "core.askPass", "credential.helper", "core.alternateRefsCommand"]
    for setting in settings:
        shop.git("config", setting, str(trap))
    for setting in ("log.showSignature", "submodule.recurse", "grep.lineNumber", "grep.column", "diff.renames"):
        shop.git("config", setting, "true")
    for setting, value in (("color.ui", "always"), ("core.hooksPath", str(shop.root)), ("log.diffMerges", "off")):
        shop.git("config", setting, value)
    for hook in ("post-index-change", "fsmonitor-watchman", "post-checkout"):
        shutil.copy(trap, shop.root / hook)
    sprung.unlink(missing_ok=True)  # setting the trap may have sprung it
    text = "`load_cart` in src/shop/mail.py by `make seed`"
    assert {name for name, _ in verdict(shop, text)} == {"load_cart", "src/shop/mail.py", "make seed"}
    assert not sprung.exists()


def test_missing_objects_are_not_fetched(shop: Checkout, tmp_path: Path) -> None:
    """A partial clone asks its remote for what it lacks, by any program that the remote's address names."""
    sprung = tmp_path / "sprung"
    partial = tmp_path / "partial"
    shop.git("config", "uploadpack.allowFilter", "true")
    shop.git("clone", "-q", "--no-local", "--filter=blob:none", f"file://{shop.root}", str(partial))
    clone = Checkout.__new__(Checkout)
    clone.root, clone.day = partial, "2026-09-01"
    clone.git("config", "remote.origin.url", f"ext::touch {sprung}")
    clone.git("config", "protocol.ext.allow", "always")
    assert verdict(clone, "src/shop/mail.py") == [("src/shop/mail.py", "deleted 2026-07-03")]
    assert verdict(clone, "`load_cart` loads it") == []
    assert not sprung.exists()


def test_another_directory_cannot_be_called_the_checkout(shop: Checkout, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "src/shop").mkdir(parents=True)
    (elsewhere / "src/shop/mail.py").write_text("def load_cart(): ...\n")
    shop.git("config", "core.worktree", str(elsewhere))
    assert [name for name, _ in verdict(shop, "`load_cart` in src/shop/mail.py")] == ["src/shop/mail.py", "load_cart"]


def test_links_out_of_the_repository_are_not_followed(shop: Checkout, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "code.py").write_text("def load_cart(): ...\n")
    (shop.root / "link.py").symlink_to(outside / "code.py")
    (shop.root / "folder").symlink_to(outside)
    shop.commit()
    assert verdict(shop, "`load_cart` caches") == [("load_cart", "not in the code since 2026-07-03")]


def test_odd_names_neither_hide_nor_feign_anything(shop: Checkout) -> None:
    odd = ["a\nb/x.py", "Übersicht/größe.md", "-rf.py", ":(top)/y.py", "\x01 2020/z.py", "tab\t.py", 'quote".py']
    shop.commit(dict.fromkeys(odd, "x\n"))
    assert verdict(shop, "`Übersicht/größe.md` and `u\u0308.md`") == []
    shop.commit(without=tuple(f":(literal){name}" for name in odd), day="2026-08-08")
    assert verdict(shop, "`Übersicht/größe.md`, `x.py`, `y.py`, `z.py`") == [
        ("Übersicht/größe.md", "deleted 2026-08-08"),
        ("x.py", "deleted 2026-08-08"),
        ("y.py", "deleted 2026-08-08"),
        ("z.py", "deleted 2026-08-08"),
    ]


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems refuse such names")
def test_names_that_are_not_utf_8_are_no_trouble(shop: Checkout) -> None:
    with open(os.fsencode(shop.root) + b"/caf\xe9.py", "w") as file:
        file.write("x")
    shop.commit()
    shop.git("rm", "-q", "-r", "docs")
    shop.commit()
    assert [name for name, _ in verdict(shop, "docs/guide.md")] == ["docs/guide.md"]
