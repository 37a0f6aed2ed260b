"""Names in code: whether a word names a path of a repository, a symbol of its code, or neither. Pure.

Only the form of the word is looked at, and in doubt it is neither: most words with a slash or a dot are no files.
"""

from __future__ import annotations

import re


def _words(table: str) -> frozenset[str]:
    return frozenset(table.split())


_EXTENSIONS = _words(
    """
    adoc astro bash bat c cc cfg cjs clj cmake conf cpp cs css csv cue dart elm erl ex exs fish fs go gql gradle
    graphql groovy h hbs hcl hpp hrl hs htm html ini ipynb java jinja jinja2 jl js json json5 jsonc jsx kt kts less
    lock lua m md mdx mjs mk ml mod mts nix org php pl plist po prisma properties proto ps1 py pyi pyx r rake rb rs
    rst sass scala scss service sh sql sum svelte svg swift tf tfvars toml ts tsx txt vue xml yaml yml zig zsh
    """
)
_FILE_NAMES = _words(
    """
    Brewfile CODEOWNERS Containerfile Dockerfile Gemfile GNUmakefile Jenkinsfile Justfile Makefile Procfile Rakefile
    Tiltfile Vagrantfile justfile makefile
    """
)
_FOLDERS = _words(
    """
    api app apps assets backend bench benches bin client cmd components conf config core crates db deploy doc docs
    e2e examples fixtures frontend infra internal lib libs migrations modules ops packages pkg plugins public
    schemas scripts server services shared spec src static templates test tests tools web
    """
)
"""Two parts without an extension are as likely `owner/repo` or `read/write`, unless they begin with one of these."""

_NO_FOLDERS = _words(
    """
    application audio bug bugfix build chore ci dependabot feat feature font fix heads hotfix image message
    multipart origin pr refactor refs release releases remotes renovate revert tags text topic upstream video wip
    """
)
"""Begin names of branches and types of media. Folders may be called so too; then their files have an extension."""

_SCRIPT_LIBRARIES = re.compile(
    r"(?:alpine|backbone|chart|d3|day|deno|discord|ember|express|htmx|knockout|moment|nest|next|node|nuxt|p5|pdf|react"
    r"|socket|solid|svelte|three|vue)\.js",
    re.IGNORECASE,
)
_NOT_IN_PATHS = re.compile(r"[<>{}$%=|\\\"'`\s\0!?&;,…]|\.\.\.|//|path/to/")
_PLACE_IN_FILE = re.compile(r"(?:::.*|#.*|(?::\d+(?:[-:]\d+)*)|:)$")
_HOST = re.compile(r"[\w-]+(?:\.[\w-]+)+")

_IDENTIFIER = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
_DOTTED = re.compile(rf"({_IDENTIFIER}(?:(?:\.|::|#|->){_IDENTIFIER}){{0,4}})(\([^()]*\))?")
_SNAKE = re.compile(r"_*[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+")
_CAMEL = re.compile(r"_*(?:[A-Z]{2,}[a-z]|[A-Za-z][a-z0-9]+[A-Z])[A-Za-z0-9]*")
_CAPITALISED = re.compile(r"[A-Z][a-z]\w+")
_DOMAIN = re.compile(r"\.(?:ai|app|co|com|de|dev|io|net|org)$", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")
_SHORTEST_CALL = 3
_MOST_STARS = 4
_LONGEST_PATH = 255
_OF_THE_MACHINE = re.compile(
    r".*_(?:API_KEY|KEY|TOKEN|SECRET|PASSWORD|URL|URI|DSN|HOST|PORT|HOME|DIR|PATH|ENV|USER|REGION|ID)"
)
"""Constants that are as a rule variables of the environment, whether or not the memory says so."""

_NO_SYMBOLS = re.compile(
    r"""
    (?i:(?:camel|pascal|snake|kebab|title|upper|lower|screaming)\w*case)
    | (?:[Ff]oo|[Bb]ar|[Bb]az|[Mm]y|[Yy]our|[Ss]ome|[Ee]xample)[A-Z_]\w* | __\w+__
    | (?:Mac|mac|i|iPad|watch|tv)OS | iPhone | iPad | IPv[46] | OAuth2? | [A-Z]\w+(?:DB|SQL|QL|CI|API|JS|MQ|SSL|SSH|RTC)
    | (?:Git|You|Linked|Word|Power|Pay|Page|Pager|Launch|Click|Data|Digital|Cloud|Big|Dev|Jet|Hub|Service|Share
      |Sonar|Stack|Sales|Send|Mail|Whats|Zoo|Lang|Hugging|Open|Quick)
      (?:Hub|Lab|Ops|Tube|Track|In|Press|Shell|Pal|Duty|Darkly|House|Up|Dog|Bricks|Ocean|Front|Flare|Watch|Query|Brains
      |Spot|Now|Point|Qube|Overflow|Force|Grid|Chimp|App|Keeper|Chain|Face|AI|Telemetry|Books|Cannon)
    | (?:Java|Type|Coffee|Action)Script | ChatGPT | VSCode | WebStorm | IntelliJ | PyCharm | NumPy | SciPy | PyTorch
    | TensorFlow | SageMaker | WebAssembly | WebSocket
    """,
    re.VERBOSE,
)
"""Examples, styles of writing, and products."""


def begins_like_branch(path: str) -> bool:
    """Whether a path may as well be the name of a branch: `release/2.4`, `feature/login`."""
    return path.partition("/")[0] in _NO_FOLDERS


def path_in(word: str, *, is_code: bool) -> str | None:
    """The path that a word is, as from the root of the repository; an absolute one stays so. A folder ends in `/`."""
    word = _PLACE_IN_FILE.sub("", word) if is_code else _PLACE_IN_FILE.sub("", word.rstrip(".,:")).strip("*")
    begins_here = word.startswith("./")
    word = word.removeprefix("./")
    if (
        not 0 < len(word) <= _LONGEST_PATH
        or word.count("*") > _MOST_STARS
        or word.startswith(("~", "@", "-", "../", "*"))
        or _NOT_IN_PATHS.search(word)
    ):
        return None
    parts = word.strip("/").split("/")
    *folders, last = parts
    if not all(parts) or "." in parts or ".." in parts or word.replace("/", "").replace("-", "").isdigit():
        return None
    if folders and not word.startswith((".", "/")) and _HOST.fullmatch(folders[0]):
        return None  # a host of the web
    if _is_file_name(last) and not word.endswith("/"):
        is_path = bool(folders) or begins_here or is_code
    elif word.endswith("/"):
        is_path = (is_code or bool(folders)) and parts[0].lower() not in _NO_FOLDERS and any(map(str.islower, parts))
    else:
        is_path = is_code and (begins_here or _is_plain_path(parts))
    if word.startswith("/"):
        is_path = is_path and len(folders) > 1  # `/login` and `/api/users` are routes
    return word if is_path else None


def _is_file_name(name: str) -> bool:
    stem, dot, extension = name.rpartition(".")
    if not dot:
        return name in _FILE_NAMES
    return bool(stem) and extension in _EXTENSIONS and not _SCRIPT_LIBRARIES.fullmatch(name)


def _is_plain_path(parts: list[str]) -> bool:
    """Whether words with slashes between them are a path, although the last one has no extension."""
    first = parts[0]
    if len(parts) == 1 or first.lower() in _NO_FOLDERS or not any(map(str.islower, parts)):
        return False
    return len(parts) > 2 or first in _FOLDERS or first.startswith(".")  # noqa: PLR2004 - see _FOLDERS


def symbol_in(word: str) -> str | None:
    """The symbol that a word in backticks is, without arguments; a dotted one keeps its dots."""
    found = _DOTTED.fullmatch(word.removeprefix("@"))
    if found is None:
        return None
    name, call = found[1], found[2]
    parts = _parts(name)
    if any(map(_NO_SYMBOLS.fullmatch, parts)) or _SCRIPT_LIBRARIES.fullmatch(name) or _DOMAIN.search(name):
        return None
    if is_constant(name) and _OF_THE_MACHINE.fullmatch(name):
        return None
    is_call = call is not None and len(parts[-1]) >= _SHORTEST_CALL
    is_method = len(parts) > 1 and any(map(_CAPITALISED.fullmatch, parts))
    return name if is_call or is_method or any(map(_is_code_like, parts)) else None


def is_constant(name: str) -> bool:
    return _CONSTANT.fullmatch(name) is not None


def words_of(symbol: str) -> list[str]:
    """The words that must be in the code if the symbol is: those that tell it from plain language, or else all."""
    parts = _parts(symbol)
    return [part for part in parts if _is_code_like(part)] or parts


def _parts(name: str) -> list[str]:
    return re.findall(_IDENTIFIER, name)


def _is_code_like(word: str) -> bool:
    return (_SNAKE.fullmatch(word) or _CAMEL.fullmatch(word)) is not None
