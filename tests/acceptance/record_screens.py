"""Record the screens that README.md shows: the built wheel, installed by a new user in a fresh home, in a real terminal.

    python -m tests.acceptance.record_screens [COLUMNS]

It needs tmux, uv and systemd, makes a home with three weeks of made-up sessions, types the commands into tmux, and writes what
stands on the screen into docs/screens. Paste that into README.md: a test compares the two. With COLUMNS it only prints.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.acceptance.manager import Manager, eventually
from tests.transcript import Session, write

ROOT = Path(__file__).parents[2]
SCREENS = ROOT / "docs" / "screens"
COLUMNS = 120
LINES = 400
SAID = (  # days ago, project, words
    (21, "shop", "the cart forgets its items after a reload, please find out why"),
    (21, "shop", "use pnpm, not npm"),
    (20, "shop", "never push to main without asking me, every push deploys"),
    (19, "billing", "invoices of last month have no VAT number, look into it"),
    (18, "billing", "Dana owns the billing code, ask her before you change it"),
    (16, "shop", "please use pnpm instead of npm here"),
    (15, "website", "the pricing page needs a third column"),
    (14, "website", "no emojis in commit messages please"),
    (12, "shop", "add a test for the empty cart"),
    (11, "shop", "no npm, use pnpm"),
    (10, "billing", "we deploy on tuesdays"),
    (9, "website", "leave emojis out of the commit messages"),
    (8, "website", "the footer is broken on small screens"),
    (6, "shop", "ask me before you push to main"),
    (5, "billing", "deploys go out on Tuesdays"),
    (4, "shop", "from now on, run make lint before you commit"),
    (3, "shop", "use pnpm, not npm"),
    (2, "website", "rename the contact form's fields"),
)


def main(columns: int) -> int:
    for program in ("tmux", "uv"):
        if shutil.which(program) is None:
            print(f"{program} is missing.", file=sys.stderr)
            return 1
    with tempfile.TemporaryDirectory() as place:
        manager = Manager(Path(place))
        try:
            wheel = _built_wheel(manager.home)
            _write_sessions(manager.home)
            terminal = _Terminal(manager, columns)
            try:
                terminal.type(f"uv tool install ./{wheel.name}")
                if not (manager.home / ".local/bin/memoryd").exists():
                    print(terminal.screen(), file=sys.stderr)
                    return 1
                terminal.record("audit", "memoryd audit")
                terminal.record("setup", "memoryd setup", "y", "4", "y", "y")
            finally:
                terminal.close()
        finally:
            manager.stop()
    return 0


def _built_wheel(home: Path) -> Path:
    command = ["uv", "build", "--quiet", "--wheel", "--out-dir", str(home), str(ROOT)]
    subprocess.run(command, check=True)
    (home / ".gitignore").unlink(missing_ok=True)
    return next(home.glob("memoryd-*.whl"))


def _write_sessions(home: Path) -> None:
    now = datetime.now(UTC)
    for number, (days, project, words) in enumerate(SAID):
        folder = home / "code" / project
        (folder / ".git").mkdir(parents=True, exist_ok=True)
        session = Session(number, cwd=str(folder))
        at = (now - timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")
        data = session.prompt(words, timestamp=at) + session.reply("Done.", timestamp=at)
        write(str(home / ".claude" / "projects"), session, data, str(folder).replace("/", "-").replace("_", "-"))


class _Terminal:
    """A shell in tmux, in the home of a new user."""

    def __init__(self, manager: Manager, columns: int) -> None:
        self._columns = columns
        self._socket = ["tmux", "-L", f"memoryd-{columns}"]
        environment = {
            **manager.environment,
            "PATH": f"{manager.home}/.local/bin:{Path(shutil.which('uv') or '').parent}:/usr/local/bin:/usr/bin:/bin",
            "PS1": "$ ",
            "LANG": "C.UTF-8",
            "SSL_CERT_FILE": os.environ.get("SSL_CERT_FILE", ssl.get_default_verify_paths().openssl_cafile),
        }
        assigned = [f"{name}={value}" for name, value in environment.items()]
        self._tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(LINES), "-c", str(manager.home),
                   "env", "-i", "TERM=screen-256color", *assigned, "bash", "--norc", "--noprofile")  # fmt: skip
        self._wait_for("$")

    def type(self, line: str, *answers: str) -> None:
        """Type a command and answer its questions."""
        self._send(line)
        for answer in answers:
            self._wait_for("]", "]:")
            self._send(answer)
        self._wait_for("$")

    def record(self, name: str, line: str, *answers: str) -> None:
        """The same on an empty screen, which is written to a file."""
        self._tmux("send-keys", "-R")
        self._tmux("clear-history")
        self.type("clear")
        self.type(line, *answers)
        shown = self.screen().rstrip().removesuffix("$").rstrip()
        shown = "\n".join(line.rstrip() for line in shown.splitlines())
        if self._columns == COLUMNS:
            (SCREENS / f"{name}.txt").write_text(shown + "\n", encoding="utf-8")
        print(shown)

    def close(self) -> None:
        self._tmux("kill-server")

    def _send(self, line: str) -> None:
        self._tmux("send-keys", "-l", line)
        self._tmux("send-keys", "Enter")
        time.sleep(0.3)  # the screen must have left the prompt before it is looked for again

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-J")

    def _wait_for(self, *ends: str) -> None:
        """Wait until the last word on the screen is one of these: the prompt, or what a question ends with."""
        eventually(lambda: (self.screen().split() or [""])[-1].endswith(ends))

    def _tmux(self, *arguments: str) -> str:
        return subprocess.run([*self._socket, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else COLUMNS))
