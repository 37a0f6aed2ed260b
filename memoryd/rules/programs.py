"""Knowledge about programs: other spellings of the same command, programs that run another one, names of file kinds.

Only what is so for every user of a program.
"""

from __future__ import annotations


def _names(table: str) -> frozenset[str]:
    return frozenset(table.split())


WITH_SUBCOMMANDS = _names(
    """
    alembic apt apt-get aws az brew bun bundle cargo composer conda docker docker-compose dotnet flyctl gcloud gem gh glab
    gradle helm kubectl mvn npm pip pipenv pnpm podman poetry prisma rails ruff systemctl terraform twine uv yarn
    """
)
COMMON_SUBCOMMANDS = _names(
    """
    add apply build check clean clippy compose create delete deploy destroy down exec fmt format generate get import init install
    lint list logs mod plan prune publish pull push remove restart rm run scale server shell start state stop sync test uninstall
    up update upgrade version volume workspace
    """
)
"""Words behind the name of a program that are hardly ever something else."""
PROGRAMS = WITH_SUBCOMMANDS | _names(
    """
    ansible-playbook black curl eslint flake8 flutter gofmt golangci-lint grep jest mypy mysql npx phpunit playwright prettier psql pylint pytest
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
NAMES_IN_PROSE = {"maven": "mvn", "bigquery": "bq"}
"""Programs that a sentence calls otherwise than a shell does."""
WRAPPER_SCRIPTS = {"gradle": "gradlew"}
"""A memory that speaks of the program means the script of the repository too, unless it tells them apart."""
SAME_SUBCOMMAND = {
    "npm": {"i": "install", "in": "install", "add": "install", "t": "test", "run-script": "run", "un": "uninstall"},
    "pnpm": {"i": "install"},
    "cargo": {"t": "test", "b": "build"},
    "rails": {"s": "server", "c": "console", "g": "generate"},
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
    "docker": frozenset(
        {"--context", "-H", "--host", "-f", "--file", "-p", "--project-name", "--env-file", "--profile"}
    ),
    "helm": frozenset({"--kube-context", "-n", "--namespace", "-f", "--values", "--set"}),
    "aws": frozenset({"--profile", "--region", "--endpoint-url", "--output"}),
    "gcloud": frozenset({"--project", "--account", "--region", "--zone"}),
    "make": frozenset({"-C", "-f"}),
    "yarn": frozenset({"--cwd"}),
    "uv": frozenset({"--directory", "--project", "--with"}),
    "poetry": frozenset({"-C", "--directory"}),
    "cargo": frozenset({"--manifest-path"}),
    "go": frozenset({"-C"}),
    "gradle": frozenset({"-p", "--project-dir", "-b"}),
    "gradlew": frozenset({"-p", "--project-dir", "-b"}),
    "mvn": frozenset({"-f", "--file", "-pl", "-P"}),
    "ssh": frozenset({"-i", "-p", "-l", "-o", "-J", "-F"}),
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
    **dict.fromkeys(
        ("npx", "uvx", "bunx", "pnpx", "sudo", "doas", "env", "nohup", "time", "exec", "command", "xargs"), 0
    ),
    **dict.fromkeys(("iex", "nice", "ionice", "setsid", "stdbuf", "caffeinate", "watch", "corepack"), 0),
    "timeout": 1,
}
"""Programs that run the command behind them, and how many words stand in between."""
STARTING_SUBCOMMANDS = {
    **dict.fromkeys(
        ("uv run", "poetry run", "pipenv run", "pdm run", "rye run", "hatch run", "pixi run", "pipx run"), 0
    ),
    **dict.fromkeys(("bundle exec", "rbenv exec", "npm exec", "npm x", "pnpm exec", "pnpm dlx", "bun x"), 0),
    **dict.fromkeys(
        ("bun run", "yarn run", "pnpm run", "yarn exec", "yarn dlx", "mise exec", "mise x", "asdf exec"), 0
    ),
    **dict.fromkeys(("yarn workspace", "direnv exec"), 1),
}
"""The same, of a program and its subcommand."""
STARTING_BEHIND_DASHES = _names("mise op doppler infisical chamber aws-vault dotenv dotenvx npm pnpm nix devbox")
"""Programs that run what stands behind `--`."""
RUNNING_ELSEWHERE = frozenset(
    {"docker compose exec", "docker compose run", "docker-compose exec", "docker-compose run"}
)
"""They run a command of the project in a container, behind the name of a service."""
OPTIONS_OF_COMPOSE = frozenset(
    {"-e", "--env", "-u", "--user", "-w", "--workdir", "-p", "--publish", "-v", "--volume", "--name"}
)
"""Those with a value."""
PACKAGE_MANAGERS = frozenset({"yarn", "pnpm", "bun"})
"""They run a program of a package by its name alone, unless that is one of their own subcommands."""
OF_PACKAGE_MANAGERS = _names(
    """
    add audit autoclean bin cache config constraints create dedupe deploy dlx exec explain fetch global help import info init
    install link list ln login ls node npm outdated pack patch plugin pm prune publish rebuild remove rm root run search set stage
    start store test unplug up update upgrade version versions why workspace workspaces x
    """
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
GO_SUBCOMMANDS = _names("build clean fmt generate get install list mod run test vet work")
"""The same for go, which is a verb as well."""
READERS = frozenset(
    {
        "cat",
        "less",
        "head",
        "tail",
        "ls",
        "grep",
        "rg",
        "find",
        "wc",
        "diff",
        "jq",
        "file",
        "stat",
        "cd",
        "which",
        "tree",
    }
)
"""What they are called with is not changed by them."""
READING_SUBCOMMANDS = {
    "git": _names(
        "blame describe diff grep log ls-files ls-remote ls-tree reflog rev-list rev-parse shortlog show status"
    ),
    "kubectl": _names("api-resources describe explain get logs top version"),
    "docker": _names("images inspect logs ps version"),
    "helm": _names("get history lint list search show status template"),
    "terraform": _names("fmt output providers show validate version"),
}
READING_OPTIONS = {
    "git tag": frozenset({"-l", "--list", "--contains", "--points-at", "--sort", "-n", "-v", "--verify"}),
    "git branch": frozenset(
        {"-l", "--list", "--contains", "--show-current", "-a", "-r", "--all", "-v", "-vv", "--sort"}
    ),
}
"""With one of them a command only tells something."""
TELLERS = _names("echo printf gh glab")
"""Their words are text for people."""
CONSUMERS = _names(
    "helm kubectl kustomize kubeconform docker podman docker-compose terraform psql mysql ansible-playbook tar zip du"
)
"""The files that they are called with stay as they are."""
OF_CLOUDS = _names("aws az gcloud gsutil kubectl nomad rsync scp ssh")
"""Programs that change machines, clusters and buckets, beside those that deploy."""
DEPLOYING_TASKS = _names("cap fab just make rake task")
TASK_RUNNERS = _names("cap fab inv invoke rake nx turbo mix task mise rails artisan")
"""Any of their words may be the task."""
ORDINARY_WORDS = (
    READERS
    | TELLERS
    | _names(
        """
    go make node python ruby php perl java swift dart just task code time watch open sort cut test kill touch source export set read
    write wait sleep exec eval env install patch split join date clear history top screen host type true false yes who link more
    service import convert display compare run start stop dev build cp mv rm mkdir rmdir ln chmod bash sh zsh tee sed awk bc dd df
    du id nl od ps su tr vi at as ed ar ld up
    alias bg break builtin caller continue declare disown enable exit fc fg getopts hash help jobs let local logout mapfile popd
    printf pushd pwd readonly return shift shopt suspend times trap typeset ulimit umask unalias unset
    """
    )
)
"""Programs whose names are words of any sentence: they are not meant where they stand in one."""

LANGUAGE_PROGRAMS = {
    "python": _names("black flake8 isort mypy nox pip pipenv poetry pylint pytest python ruff tox uv"),
    "go": _names("go gofmt golangci-lint gotestsum"),
    "golang": _names("go gofmt golangci-lint gotestsum"),
    "rust": _names("cargo rustfmt"),
    "java": _names("gradle gradlew mvn"),
    "kotlin": _names("gradle gradlew mvn"),
    "typescript": _names("bun cypress eslint jest node npm npx playwright pnpm prettier tsc vite vitest yarn"),
    "javascript": _names("bun cypress eslint jest node npm npx playwright pnpm prettier tsc vite vitest yarn"),
    "ruby": _names("bundle gem rails rake rspec rubocop ruby"),
    "php": _names("artisan composer pest php phpstan phpunit sail"),
    "csharp": _names("dotnet msbuild nuget"),
    "elixir": _names("iex mix"),
    "dart": _names("dart flutter fvm"),
    "terraform": _names("terraform"),
}
"""Programs that work on one language: what a memory says of Python's tests is not about those of Go."""
OF_LANGUAGES = frozenset().union(*LANGUAGE_PROGRAMS.values())
LANGUAGE_OF_PACKAGES = {"gem": "ruby", "gems": "ruby", "crate": "rust", "crates": "rust"}
"""Words for the packages of one language."""
LANGUAGE_MANIFESTS = {
    name: LANGUAGE_PROGRAMS[language]
    for language, names in {
        "python": "pyproject.toml setup.py setup.cfg requirements.txt Pipfile",
        "go": "go.mod",
        "rust": "Cargo.toml",
        "java": "pom.xml build.gradle build.gradle.kts",
        "typescript": "package.json",
        "ruby": "Gemfile",
        "php": "composer.json",
    }.items()
    for name in names.split()
}
"""The programs of the language that a file names the packages of."""

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
    "csharp": ("cs", "csproj"),
    "elixir": ("ex", "exs"),
    "dart": ("dart",),
    "protobuf": ("proto",),
    "shell": ("sh", "bash"),
}
