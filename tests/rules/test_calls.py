"""Tool calls as rules see them: whatever way a command is written, it is the same command."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoryd.clients.shell_commands import read_shell_line
from memoryd.clients.tool_actions import action_in
from memoryd.rules.calls import call_of, is_run
from memoryd.rules.match import Forbidden, StoredTrigger, is_at, keys_of, matched
from memoryd.rules.triggers import triggers_of
from memoryd.rules.work import work_of

if TYPE_CHECKING:
    from memoryd.rules.calls import Call


def run(line: str, cwd: str = "/repo", root: str = "") -> Call:
    return call_of(action_in("Bash", {"command": line}), cwd, root)


def edit(path: str, cwd: str = "/repo") -> Call:
    return call_of(action_in("Edit", {"file_path": path, "new_string": ""}), cwd, "/repo")


def runs(pattern: str, line: str) -> bool:
    return any(is_run(pattern, command) for command in run(line).commands)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("npm install", "npm install left-pad"),
        ("npm install", "cd web && npm i -D vite"),
        ("npm install", "npm --prefix web install"),
        ("npm install", "CI=1 npm install | tee log"),
        ("npm install", "bash -c 'cd web; npm install'"),
        ("npm install", "sudo -E npm install"),
        ("npm install", "timeout 60 npm install"),
        ("npm install", "result=$(npm install)"),
        ("npm install", "/usr/local/bin/npm install"),
        ("npm install", "if true; then npm install; fi"),
        ("git push --force", "git push -f origin x"),
        ("git push --force", "git -C ../other push --force"),
        ("git push --force", "git push origin +main"),
        ("rm -rf", "rm -r -f build"),
        ("rm -rf", "rm -fr build"),
        ("rm -rf", "rm --recursive --force build"),
        ("pip install", "python3 -m pip install x"),
        ("make test", "make -j4 lint test"),
        ("pytest", "uv run pytest -x"),
        ("kubectl", "kubectl --context prod get pods"),
    ],
)
def test_a_command_is_found_however_it_is_written(pattern: str, line: str) -> None:
    assert runs(pattern, line)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("npm install", "npm run install-hooks"),
        ("npm install", "pnpm install"),
        ("npm install", "echo 'npm install'"),
        ("npm install", "git commit -m 'npm install is gone'"),
        ("npm install", "cat <<'END'\nnpm install\nEND"),
        ("npm install", "# npm install\nls"),
        ("git push --force", "git push origin feature-f"),
        ("git push --force", "git push --force-with-lease"),
        ("rm -rf", "rm -r build"),
        ("rm -rf", "rm notes-rf.txt"),
        ("npm install +", "npm install"),
        ("black", "echo black"),
    ],
)
def test_what_only_looks_like_a_command_is_not_that_command(pattern: str, line: str) -> None:
    assert not runs(pattern, line)


@pytest.mark.parametrize(
    "line",
    [
        "command -v npm",
        "ls | sort # (npm)",
        'git commit -m "switch" # don\'t use npm (npm install)',
        'gh pr create --body "## Summary\nReplaced it (npm install no longer works)\n## Test plan"',
        "git commit -F - <<'END-MSG'\nnow; npm install is gone\nnpm install\nEND-MSG",
        'git commit -m "$(cat <<\'EOF\'\nsay "hi"; npm install\nnpm install\nEOF\n)"',
        "cut -d ';' npm",
        "grep -F '|' npm",
        "x=(npm yarn)",
        "npm() { pnpm; }",
        "function npm { pnpm; }",
        "case $x in npm) echo;; esac",
        "sudo -u npm ls",
        "xargs -I npm echo",
        "echo $(date) npm",
        "BIN=$(pwd)/npm ls",
        "echo 'never closed; npm install",
        "echo a > npm",
    ],
)
def test_a_line_that_does_not_run_a_command_is_not_refused(line: str) -> None:
    assert not Forbidden("run", "npm").fits(run(line))


@pytest.mark.parametrize(
    "line",
    [
        "grep x <<< y\nnpm install",
        "cat <<'END-MSG'\nx\nEND-MSG\nnpm install",
        "sudo -u deploy npm ci",
        "xargs -I{} npm install {}",
        "env -u CI A=b npm install",
        "echo $((1 + 2)); npm install",
        "echo a#b; npm install # now",
        'echo "$(npm install)"',
        "echo `npm install`",
        "diff <(npm ls) x",
        "(cd web; npm install)",
        '"npm" install',
        "npm 2>&1 | tail",
    ],
)
def test_a_line_that_runs_a_command_is_refused(line: str) -> None:
    assert Forbidden("run", "npm").fits(run(line))


def test_a_line_that_is_not_understood_still_gets_its_memory() -> None:
    call = run("x=(a b); npm install")
    assert not call.is_understood
    stored = [StoredTrigger(1, *trigger) for trigger in triggers_of("Never run `npm install`", "")]
    assert matched(call, stored) == [1]


@pytest.mark.parametrize("part", ["'a b' ", '"a $(b) c" ', "a;", "<<E\n", "$(", "`", '"', "(", "\\"])
def test_a_long_line_takes_no_longer_than_its_length(part: str) -> None:
    started = time.process_time()
    read_shell_line(part * (100_000 // len(part)))
    assert time.process_time() - started < 3
    assert run(f"npm install {part * 40_000}").commands == ()


@pytest.mark.parametrize(
    ("line", "works"),
    [
        ("git commit -m x", {"commit"}),
        ("git commit --amend", {"commit", "amend"}),
        ("git push -f", {"push", "force push"}),
        ("./scripts/deploy.sh prod", {"deploy"}),
        ("npm run test:unit", {"test"}),
        ("npm install", set()),
        ("npm install x", {"dependency"}),
        ("python manage.py migrate", {"migration"}),
        ("cat deploy.sh", set()),
        ("git log --oneline", set()),
    ],
)
def test_the_kind_of_work_is_told_by_the_command(line: str, works: set[str]) -> None:
    assert work_of(run(line)) == works


def test_paths_are_told_from_the_root_of_the_project() -> None:
    assert edit("/repo/db/x.py", "/repo/web").changed == ("db/x.py",)
    assert run("echo a > x.md", "/repo/web", "/repo").changed == ("web/x.md",)
    assert edit("/elsewhere/x.py").changed == ("/elsewhere/x.py",)
    assert edit("/repository/x.py").changed == ("/repository/x.py",)


@pytest.mark.parametrize("home", ["~", "$HOME", "${HOME}", "/home/me"])
def test_the_home_directory_is_the_same_however_it_is_written(monkeypatch: pytest.MonkeyPatch, home: str) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    for call in (run(f'echo x > "{home}/.ssh/config"'), run(f"cp a {home}/.ssh/config"), edit("/home/me/.ssh/config")):
        assert "/home/me/.ssh/config" in call.changed
        assert all(Forbidden("edit", f"{name}/.ssh/").fits(call) for name in ("~", "$HOME", "/home/me"))
    inside = call_of(action_in("Edit", {"file_path": "/home/me/shop/db/a.sql", "new_string": "x"}), "/home/me/shop")
    assert Forbidden("edit", f"{home}/shop/db/").fits(inside)
    assert not Forbidden("edit", f"{home}/shop/web/").fits(inside)
    trigger = triggers_of(f"Leave {home}/.ssh/config alone", "")[0]
    assert Forbidden("edit", trigger.pattern).fits(edit("/home/me/.ssh/config"))


@pytest.mark.parametrize(
    ("pattern", "path", "is_there"),
    [
        ("db/migrations/", "db/migrations/1.py", True),
        ("db/migrations/", "services/a/db/migrations/1.py", True),
        ("db/migrations/", "db/migrations_old/1.py", False),
        ("CHANGELOG.md", "CHANGELOG.md", True),
        ("CHANGELOG.md", "docs/CHANGELOG.md", True),
        ("CHANGELOG.md", "CHANGELOG.md.orig", False),
        ("src/**/gen/*.ts", "src/a/gen/b.ts", True),
        ("api/gen/", "api/generated/x.py", False),
        ("package.json", "/tmp/other/package.json", False),
        ("db/", "/tmp/other/db/x.py", False),
        ("*.lock", "/tmp/other/a.lock", False),
        ("/etc/hosts", "/etc/hosts", True),
        ("/etc/*.conf", "/etc/a.conf", True),
    ],
)
def test_a_path_is_the_one_that_is_named_or_lies_below_it(pattern: str, path: str, is_there: bool) -> None:
    assert is_at(pattern, path) is is_there


_WORDS = st.sampled_from(
    [
        "npm",
        "install",
        "git",
        "-f",
        "$(",
        ")",
        "`",
        "'",
        '"',
        ";",
        "&&",
        "|",
        "<<",
        "EOF",
        "\n",
        "\\",
        "#",
        "a=b",
        "bash",
        "-c",
    ]
)


@given(st.lists(_WORDS | st.text(max_size=8), max_size=30))
def test_no_shell_line_is_too_odd(words: list[str]) -> None:
    call = run(" ".join(words))
    assert all(command.words for command in call.commands)
    stored = [StoredTrigger(1, *trigger) for trigger in triggers_of("Never run `npm install`", "")]
    assert set(matched(call, stored)) <= {1}
    assert all(isinstance(key, str) for key in keys_of(call))
