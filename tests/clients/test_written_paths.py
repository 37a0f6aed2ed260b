"""Which files a shell command changes: what agents really run, and what only looks like writing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.written_paths import written_by


@pytest.mark.parametrize(
    ("command", "files"),
    [
        ("cat > /m/x.md <<'EOF'\nit's > /other; rm /z\nEOF", ["/m/x.md"]),
        ("cat <<EOF >> /m/x.md\nbody\nEOF\nrm /m/y.md", ["/m/x.md", "/m/y.md"]),
        ("cat > /m/x.md <<EOF\nnever closed > /z", ["/m/x.md"]),
        ("echo hi>/m/x.md", ["/m/x.md"]),
        ("printf '%s\\n' a b >| /m/x.md", ["/m/x.md"]),
        ("date | tee -a /m/x.md", ["/m/x.md"]),
        ('rm -f -- "/m/a b.md"', ["/m/a b.md"]),
        ("cd /m && rm x.md", ["/m/x.md"]),
        ("cd /m\nmv a.md /elsewhere/b.md", ["/m/a.md", "/elsewhere/b.md", "/elsewhere/b.md", "/elsewhere/b.md/a.md"]),
        ("D=/m; echo hi > $D/x.md && rm ${D}/y.md", ["/m/x.md", "/m/y.md"]),
        ("cp note.md /m", ["/m", "/m/note.md"]),
        ("sed -i 's/a/b/' /m/x.md", ["/m/x.md"]),
        ("sed -i.bak -e s/a/b/ /m/x.md", ["/m/x.md"]),
        ("perl -pi -e 's/a/b/' /m/x.md", ["/m/x.md"]),
        ("dd if=/dev/zero of=/m/x.md count=1", ["/m/x.md"]),
        ("find /m -name '*.md' -delete", ["/m/*"]),
        ("if true; then sudo touch /m/x.md; fi", ["/m/x.md"]),
        ("(cd /m; shred x.md)", ["/m/x.md"]),
        ("rm \\\n  /m/x.md", ["/m/x.md"]),
        ("# don't\nrm /m/x.md", ["/m/x.md"]),
    ],
)
def test_files_that_a_command_changes(command: str, files: list[str]) -> None:
    assert written_by(command) == files


@pytest.mark.parametrize(
    "command",
    [
        "",
        "cat /m/x.md",
        "cat /m/MEMORY.md 2>/dev/null || echo none",
        "ls -la /m/ 2>&1 | head",
        "grep -ri rm /m/x.md > /tmp/out",
        "sed -n 1,20p /m/x.md",
        "cp /m/x.md /tmp/",
        "cd /m && cat x.md | wc -l",
        "diff <(cat /m/x.md) /m/y.md",
        "wc -l < /m/x.md",
        "git log -- /m/x.md",
        "echo 'rm /m/x.md'",
    ],
)
def test_reading_a_file_is_not_changing_it(command: str) -> None:
    assert [path for path in written_by(command) if path.startswith("/m")] == []


@given(st.text(st.sampled_from("rm cd>|&;<$'\"\\\n(){}=/mx.EOF-i"), max_size=60) | st.text(max_size=60))
def test_no_command_is_too_odd(command: str) -> None:
    assert isinstance(written_by(command), list)
