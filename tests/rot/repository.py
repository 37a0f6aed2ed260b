"""A git repository of a test's own: real commits, and neither the user's config nor the network."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from memoryd.rot.check import Repository, check

if TYPE_CHECKING:
    from pathlib import Path

MAKEFILE = "test:\n\tpytest\n\nlint: test\n\truff check\n"
PACKAGE = '{"scripts": {"lint": "eslint .", "dev": "vite"}}\n'

_ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ALLOW_PROTOCOL": "file",
}


class Checkout:
    """A working directory under git; `day` is when the next commit is made."""

    def __init__(self, root: Path, day: str = "2026-08-01") -> None:
        self.root, self.day = root, day
        root.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str) -> str:
        moment = f"{self.day}T12:00:00Z"
        return subprocess.run(
            ["git", "-c", "user.name=Lin", "-c", "user.email=lin@example.com", "-c", "core.symlinks=true", *arguments],
            cwd=self.root,
            env={**_ENVIRONMENT, "GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.strip()

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, files: dict[str, str] | None = None, *, without: tuple[str, ...] = (), day: str = "") -> None:
        self.day = day or self.day
        self.write(files or {})
        for name in without:
            self.git("rm", "-q", "-r", name)
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "a change")

    def sign_head(self) -> None:
        """Give the last commit a signature, so that git has something to hand to the program that checks them."""
        head, _, message = self.git("cat-file", "commit", "HEAD").partition("\n\n")
        signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
        signed = self.root / ".git" / "signed"
        signed.write_text(f"{head}\n{signature}\n\n{message}\n")
        self.git("update-ref", "HEAD", self.git("hash-object", "-t", "commit", "-w", str(signed)))


def with_a_past(root: Path) -> Checkout:
    """A repository where files were deleted and moved, and a function, a target, a script and a module removed."""
    shop = Checkout(root, "2026-05-01")
    shop.commit(
        {
            "src/shop/__init__.py": "",
            "src/shop/cart.py": "class CartTotal:\n    def round_up(self): ...\n\ndef load_cart(): ...\n",
            "src/shop/session.py": "SESSION_LIMIT = 5\n\nclass SessionCache:\n    def evict_all(self): ...\n",
            "src/shop/mail.py": "def send_mail(): ...\n",
            "src/shop/tools/seed.py": "print()\n",
            "src/old/one.py": "1\n",
            "src/old/two.py": "2\n",
            "scripts/run.sh": "#!/bin/sh\n",
            "dist/bundle.js": "generated_code()\n",
            "Makefile": MAKEFILE + "seed:\n\tpython -m shop.tools.seed\n",
            "justfile": "release version:\n\techo\n",
            "package.json": PACKAGE.replace("}}", ', "story:book": "storybook"}}'),
            "docs/guide.md": "guide\n",
        }
    )
    shop.commit(
        {"src/shop/store.py": "SESSION_LIMIT = 5\n\nclass SessionCache:\n    def evict_all(self): ...\n"},
        without=("src/shop/session.py",),
        day="2026-06-02",
    )
    shop.commit(
        {
            ".gitignore": "dist/\n",
            "Makefile": MAKEFILE,
            "package.json": PACKAGE,
            "justfile": "build:\n\techo\n",
            "src/shop/cart.py": "class CartTotal:\n    def round_up(self): ...\n",
        },
        without=("src/old", "dist", "scripts/run.sh", "src/shop/tools/seed.py", "src/shop/mail.py"),
        day="2026-07-03",
    )
    return shop


def verdict(checkout: Checkout, text: str) -> list[tuple[str, str]]:
    """What is gone of one memory: each claim's text and why."""
    found = check({"a.md": text}, Repository(str(checkout.root)))
    return [(missing.claim.text, missing.why) for missing in found.get("a.md", ())]
