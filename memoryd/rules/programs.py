"""Knowledge about programs: which commands do which kind of work, other spellings of the same command, names of file kinds.

Only what is so for every user of a program. A kind of work that is not here is found by the commands that a memory names.
"""

from __future__ import annotations

from typing import NamedTuple


def _names(table: str) -> frozenset[str]:
    return frozenset(table.split())


class Work(NamedTuple):
    """A kind of work, as memories speak of it and as commands do it."""

    name: str
    phrases: tuple[str, ...]
    """A memory speaks of it that has all words of a phrase, or another word for the same concept, in any language."""
    commands: tuple[str, ...]
    """`+` at the end: with something behind it."""
    target: str = ""
    """Begins the name of a script or target that does it, as in `make deploy`."""
    part_of: str = ""
    """The wider kind: a memory that names this one says nothing about all of that."""


WORK = (
    Work("commit", ("commit", "commit message"), ("git commit",)),
    Work("amend", ("amend",), ("git commit --amend",), part_of="commit"),
    Work("push", ("push",), ("git push",)),
    Work("force push", ("force push",), ("git push --force", "git push --force-with-lease"), part_of="push"),
    Work("delete branch", ("delete branch",), ("git push --delete", "git branch -D", "git branch -d")),
    Work("merge", ("merge", "squash"), ("git merge", "gh pr merge", "glab mr merge")),
    Work("rebase", ("rebase",), ("git rebase", "git pull --rebase")),
    Work("pull request", ("pull request",), ("gh pr create", "glab mr create")),
    Work(
        "deploy",
        ("deploy",),
        ("kubectl apply", "helm upgrade", "helm install", "terraform apply", "flyctl deploy", "serverless deploy"),
        "deploy",
    ),
    Work(
        "release",
        ("release",),
        ("git tag +", "npm publish", "pnpm publish", "cargo publish", "twine upload", "gh release create"),
        "releas",
    ),
    Work(
        "test",
        ("test", "test suite", "unit test", "integration test"),
        ("pytest", "tox", "nox", "jest", "vitest", "rspec", "phpunit", "go test", "cargo test", "dotnet test"),
        "test",
    ),
    Work(
        "dependency",
        ("dependency", "add package", "new package"),
        (
            "npm install +",
            "pnpm add",
            "yarn add",
            "bun add",
            "pip install +",
            "uv add",
            "uv pip install",
            "poetry add",
            "cargo add",
            "go get +",
            "gem install",
            "bundle add",
            "composer require",
        ),
    ),
    Work("migration", ("migration", "migrate"), ("alembic upgrade", "prisma migrate", "flyway migrate"), "migrat"),
    Work("format", ("format",), ("black", "ruff format", "prettier", "gofmt", "cargo fmt", "rustfmt"), "fmt"),
    Work("lint", ("lint",), ("eslint", "ruff check", "cargo clippy", "golangci-lint", "flake8", "pylint"), "lint"),
)

WITH_SUBCOMMANDS = _names(
    """
    alembic apt apt-get aws az brew bun bundle cargo composer conda docker docker-compose dotnet flyctl gcloud gem gh glab
    gradle helm kubectl mvn npm pip pipenv pnpm podman poetry prisma rails ruff systemctl terraform twine uv yarn
    """
)
PROGRAMS = WITH_SUBCOMMANDS | _names(
    """
    ansible-playbook black curl eslint flake8 gofmt golangci-lint grep jest mypy mysql npx phpunit playwright prettier psql pylint pytest
    rg rspec rustfmt scp sqlite3 ssh sudo tox tsc vitest wget
    """
)
"""Names that are no ordinary words: they mean the program also where they stand in a sentence without backticks."""

SAME_PROGRAM = {
    "pip3": "pip",
    "python3": "python",
    "nodejs": "node",
    "gmake": "make",
    "fly": "flyctl",
    "mvnw": "mvn",
}
NAMES_IN_PROSE = {"maven": "mvn"}
"""Programs that a sentence calls otherwise than a shell does."""
SAME_SUBCOMMAND = {
    "npm": {"i": "install", "in": "install", "add": "install", "t": "test", "run-script": "run", "un": "uninstall"},
    "pnpm": {"i": "install"},
    "cargo": {"t": "test", "b": "build"},
    "docker": {"container run": "run"},
}
SAME_OPTION = {
    "git push": {"-f": "--force", "-d": "--delete"},
    "rm": {"-R": "-r", "--recursive": "-r", "--force": "-f"},
    "git commit": {"-n": "--no-verify"},
}
OPTIONS_WITH_VALUE = {
    "git": frozenset({"-C", "-c", "--git-dir", "--work-tree"}),
    "npm": frozenset({"--prefix", "-w", "--workspace"}),
    "pnpm": frozenset({"-C", "--dir", "-F", "--filter"}),
    "kubectl": frozenset({"--context", "-n", "--namespace", "--kubeconfig"}),
    "docker": frozenset({"--context", "-H", "--host"}),
    "make": frozenset({"-C", "-f"}),
    "timeout": frozenset({"-s", "-k", "--signal", "--kill-after"}),
    "sudo": frozenset(
        {
            *("-u", "-g", "-h", "-p", "-C", "-D", "-R", "-r", "-t", "-T", "-U"),
            *("--user", "--group", "--host", "--chdir"),
        }
    ),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "nice": frozenset({"-n", "--adjustment"}),
    "exec": frozenset({"-a"}),
    "time": frozenset({"-f", "-o", "--format", "--output"}),
    "xargs": frozenset(
        {*("-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a"), *("--max-args", "--max-procs", "--delimiter", "--arg-file")}
    ),
    "npx": frozenset({"-p", "--package"}),
}
"""Between a program and its subcommand."""
STARTERS = {
    "npx": 0,
    "uvx": 0,
    "bunx": 0,
    "sudo": 0,
    "env": 0,
    "nohup": 0,
    "time": 0,
    "exec": 0,
    "command": 0,
    "xargs": 0,
    "nice": 0,
    "timeout": 1,
}
"""Programs that run the command behind them, and how many words stand in between."""
STARTING_SUBCOMMANDS = frozenset(
    {"uv run", "poetry run", "pipenv run", "bundle exec", "pnpm exec", "yarn exec", "pnpm dlx", "yarn dlx", "pipx run"}
)
SHELLS = frozenset({"sh", "bash", "zsh", "dash"})
BY_TARGETS = frozenset({"make", "just"})
"""Their words are targets in any order."""
GIT_SUBCOMMANDS = _names(
    "add branch checkout cherry-pick clean clone commit fetch merge pull push rebase reset restore revert stash switch tag"
)
"""Without one of them, git in a sentence says nothing about a call."""
INTERPRETERS = frozenset({"python", "node", "ruby", "php", "perl", "bash", "sh"})
"""What stands behind them is a program with words of its own."""
READERS = frozenset(
    {"cat", "less", "head", "tail", "ls", "grep", "rg", "find", "wc", "diff", "jq", "file", "stat", "cd"}
)
"""What they are called with is not changed by them."""

LANGUAGE_PROGRAMS = {
    "python": _names("black flake8 isort mypy nox pip pipenv poetry pylint pytest python ruff tox uv"),
    "go": _names("go gofmt golangci-lint gotestsum"),
    "golang": _names("go gofmt golangci-lint gotestsum"),
    "rust": _names("cargo rustfmt"),
    "java": _names("gradle gradlew mvn"),
    "kotlin": _names("gradle gradlew mvn"),
    "typescript": _names("bun cypress eslint jest node npm npx playwright pnpm prettier tsc vite vitest yarn"),
    "javascript": _names("bun cypress eslint jest node npm npx playwright pnpm prettier vite vitest yarn"),
    "ruby": _names("bundle rake rspec ruby"),
    "php": _names("composer php phpunit"),
    "terraform": _names("terraform"),
}
"""Programs that work on one language: what a memory says of Python's tests is not about those of Go."""

FILE_KINDS = {
    "python": ("py", "pyi"),
    "typescript": ("ts", "tsx", "mts"),
    "javascript": ("js", "jsx", "mjs", "cjs"),
    "rust": ("rs",),
    "golang": ("go",),
    "go": ("go",),
    "java": ("java",),
    "kotlin": ("kt", "kts"),
    "swift": ("swift",),
    "ruby": ("rb",),
    "php": ("php",),
    "sql": ("sql",),
    "css": ("css", "scss", "less"),
    "html": ("html", "htm"),
    "markdown": ("md", "mdx"),
    "yaml": ("yaml", "yml"),
    "terraform": ("tf", "tfvars"),
    "protobuf": ("proto",),
    "shell": ("sh", "bash"),
}
