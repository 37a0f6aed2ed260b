"""The Bash tool without a shell: runs the few programs that `commands` lets through, over what the view opens.

Programs that read files get copies without secrets, as descriptors; programs that look at names (ls, find, stat) run inside of
a directory that the view has opened, by its descriptor, and look at nothing through a link. So between check and use there
is no path that somebody could exchange. Time, memory and output are limited from outside.
"""

from __future__ import annotations

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, suppress
from typing import IO, TYPE_CHECKING, NamedTuple, Self

from memoryd.engines.model.bash_commands import FIND_LIMITS, FIND_PASSES_OVER, BashWord, parse
from memoryd.engines.model.sandbox import MOST_DEPTH, Pattern, ToolError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memoryd.engines.model.bash_commands import BashCommand
    from memoryd.engines.model.sandbox import Sandbox

SECONDS = 10.0
OUTPUT_BYTES = 65_536
_READ_BYTES = OUTPUT_BYTES + 16_384
"""Secrets are looked for before the output is cut, so a little more is read than shown: see the view."""
_ERROR_BYTES = 2_048
_FILE_BYTES = 8 << 20
_ALL_FILES_BYTES = 16 << 20
"""All that one call reads: taking the secrets out of a megabyte takes half a second."""
_MOST_OPERANDS = 200
_MOST_DIRECTORIES = 50
_MOST_NOTES = 5

_PATH = "/usr/bin:/bin"
# The style makes dates of ls the same in every year; other systems do not know the variable.
_ENVIRONMENT = {"PATH": _PATH, "LC_ALL": "C.UTF-8", "TZ": "UTC", "TIME_STYLE": "long-iso"}

_NOT_STARTED = 119
# Limits and the directory are set by a Python of its own that becomes the program: a preexec_fn runs Python between fork and
# exec, which is not safe in a process with threads, and newer versions warn of it. -I -S: it imports nothing from anywhere.
_START = f"""
import os, resource, sys
try:
    os.fchdir(int(sys.argv[1]))
    seconds = int(sys.argv[2])
    for name, limit in (("CPU", seconds), ("FSIZE", 0), ("CORE", 0), ("AS", 1 << 29)):
        try:
            resource.setrlimit(getattr(resource, "RLIMIT_" + name), (limit, limit))
        except ValueError:
            pass  # this system has no such limit, or a lower one
    os.execv(sys.argv[3], sys.argv[4:])
except BaseException:
    os._exit({_NOT_STARTED})
"""

_LONG_LINE = re.compile(r"(\S+ +\d+ +\d+ +\d+ +\S+ \d{4}-\d\d-\d\d \d\d:\d\d )?(.*)")
# Where each program prints the name of a file: what a file says is not to be touched.
_DESCRIPTOR = re.compile(r"/dev/fd/(\d+)")
_NAMED_LINES = re.compile(r"^/dev/fd/(\d+)(?:\0|$)", re.MULTILINE)
_HEADERS = re.compile(r"^==> /dev/fd/(\d+) <==$", re.MULTILINE)
_NOWHERE = re.compile(r"(?!)()")
_NAMES = {"wc": _DESCRIPTOR, "head": _HEADERS, "tail": _HEADERS, "cat": _NOWHERE}


class Output(NamedTuple):
    text: str
    is_error: bool = False


class Ended(NamedTuple):
    """A program that ran: what it printed, perhaps cut, and said on the side."""

    code: int
    text: str
    errors: str
    is_cut: bool


class Alarm:
    """A descriptor that becomes readable when the seconds have passed: one limit for all programs of a call."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.reader, self._writer = os.pipe()
        self._timer = threading.Timer(seconds, os.write, (self._writer, b"!"))
        self._timer.daemon = True
        self._timer.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        self._timer.join()  # it must not write to a number that is somebody else's by then
        os.close(self.reader)
        os.close(self._writer)


def run(view: Sandbox, text: str, seconds: float = SECONDS) -> Output:
    """What a command prints. Raises ToolError, or NotAllowedError for what is not allowed."""
    command = parse(text)
    with Alarm(seconds) as alarm:
        if command.program == "grep":
            return _grep(view, command, alarm)
        if command.program == "find":
            return _find(view, command, alarm)
        if command.program == "ls":
            return _ls(view, command, alarm)
        names = _expanded(view, command.operands)
        if not names:
            raise ToolError(f"{command.program} needs the name of a file")
        if command.program == "stat":
            return _stat(view, command, names, alarm)
        argv = [command.program, *_argv(command.options)]
        return _output([_over_files(view, argv, names, alarm, _NAMES[command.program])])


def search(view: Sandbox, arguments: Sequence[str], names: Sequence[str], seconds: float = SECONDS) -> Output:
    """What `grep` prints for files of the view: `name:line`. Its arguments are our own, up to the pattern behind -e."""
    with Alarm(seconds) as alarm:
        return _over_many(view, ["grep", "-H", "--null", *arguments], names, alarm)


# -- programs that read files -----------------------------------------------------------------------------------------


def _over_files(
    view: Sandbox, argv: list[str], names: Sequence[str], alarm: Alarm, where_names_are: re.Pattern[str]
) -> Ended:
    """Run a program over copies of the files, in the order given and without their secrets."""
    with ExitStack() as stack:
        copies: dict[str, str] = {}
        notes = []
        read = 0
        for name in names:
            text, is_cut = view.text(name, _FILE_BYTES)
            read += len(text)
            if read > _ALL_FILES_BYTES:
                raise ToolError("these files are too much for one call")
            if is_cut:
                notes.append(f"Of {shown(name)} only the first {_FILE_BYTES >> 20} MB were read.")
            copies[str(stack.enter_context(_copy(text)).fileno())] = name
        numbers = [int(number) for number in copies]
        ended = _run([*argv, "--", *(f"/dev/fd/{number}" for number in numbers)], view.descriptor, numbers, alarm)

    def with_name(found: re.Match[str]) -> str:
        return found[0].replace(f"/dev/fd/{found[1]}", copies.get(found[1], found[1])).replace("\0", ":")

    errors = _DESCRIPTOR.sub(with_name, ended.errors)
    return ended._replace(text=where_names_are.sub(with_name, ended.text), errors="\n".join((*notes, errors)).strip())


def _copy(text: str) -> IO[bytes]:
    """A file without a name that holds the text; nothing of it lies on a disk where the system can avoid that."""
    file = open(os.memfd_create("copy"), "w+b") if sys.platform == "linux" else tempfile.TemporaryFile()  # noqa: SIM115
    file.write(text.replace("\0", "\ufffd").encode("utf-8", "replace"))  # with NUL, grep takes it for no text at all
    file.seek(0)
    return file


def _grep(view: Sandbox, command: BashCommand, alarm: Alarm) -> Output:
    operands = command.operands
    pattern = []
    if not command.has("-e"):
        if not operands:
            raise ToolError("grep needs a pattern")
        pattern, operands = ["-e", operands[0].text], operands[1:]
    given = _expanded(view, operands)
    is_deep = command.has("-r")
    if not given and not is_deep:
        raise ToolError("grep needs the name of a file, or -r for all of them")
    names: list[str] = []
    for name in given or ["."]:
        entries = view.walk(name)
        if not is_deep and entries != [(name, False)]:
            raise ToolError(f"{shown(name)} is a directory; use -r")
        names += [entry.name for entry in entries if not entry.is_directory and _is_wanted(command, entry.name)]
    ours = ("-r", "-H", "-h", "--include", "--exclude", "--exclude-dir")
    argv = ["grep", *_argv(option for option in command.options if option[0] not in ours), *pattern]
    if command.has("-h") or not (is_deep or command.has("-H") or len(names) > 1):
        argv.insert(1, "-h")
    elif not command.has("-l") and not command.has("-L"):
        argv[1:1] = ["-H", "--null"]
    return _over_many(view, argv, names, alarm)


def _is_wanted(command: BashCommand, name: str) -> bool:
    *folders, last = name.split("/")
    included = [Pattern(pattern) for pattern in command.values("--include")]
    return (
        (not included or any(pattern.matches(last) for pattern in included))
        and not any(Pattern(pattern).matches(last) for pattern in command.values("--exclude"))
        and not any(Pattern(each).matches(folder) for each in command.values("--exclude-dir") for folder in folders)
    )


def _over_many(view: Sandbox, argv: list[str], names: Sequence[str], alarm: Alarm) -> Output:
    """Search any number of files, some at a time: descriptors are few. What cannot be opened is passed over and told."""
    has_names = "-h" not in argv[:2]
    readable, notes = [], []
    size = 0
    for name in dict.fromkeys(names):
        try:
            with view.open(name) as opened:
                size += min(opened.status.st_size, view.limit_of(name, _FILE_BYTES))
            if size > _ALL_FILES_BYTES:
                notes.append(f"{shown(name)} and what follows was not read: it is too much for one call.")
                break
            readable.append(name)
        except ToolError as error:
            notes.append(f"{error}; it was passed over.")
    ended: list[Ended] = []
    for start in range(0, len(readable), _MOST_OPERANDS):
        some = readable[start : start + _MOST_OPERANDS]
        ended.append(_over_files(view, argv, some, alarm, _NAMED_LINES if has_names else _NOWHERE))
        if sum(len(each.text) for each in ended) > OUTPUT_BYTES:
            break
    output = _output([each._replace(code=0) if each.code == 1 else each for each in ended])
    if not output.is_error and not any(each.text for each in ended):
        notes.insert(0, "no matches")
    return output._replace(text="\n".join((*filter(None, [output.text]), *notes[:_MOST_NOTES])))


# -- programs that look at names --------------------------------------------------------------------------------------


def _ls(view: Sandbox, command: BashCommand, alarm: Alarm) -> Output:
    """List each directory from inside, and files from the directory that they are in."""
    options = [*_argv(part for part in command.options if part[0] not in ("-a", "-l", "-d", "-R")), "-q"]
    if command.has("-l"):
        options.append("-n")  # who is who on this machine is none of the model's business
    files: list[str] = []
    directories: list[str] = []
    for name in _expanded(view, command.operands) or ["."]:
        with view.open(name) as opened:
            is_listed = opened.is_directory and not command.has("-d")
        if not is_listed:
            files.append(name)
        elif command.has("-R"):
            directories += [name, *(entry.name for entry in view.walk(name) if entry.is_directory)]
        else:
            directories.append(name)
    if len(directories) > _MOST_DIRECTORIES:
        raise ToolError(f"these are {len(directories)} directories, and {_MOST_DIRECTORIES} is the most; use find")
    ended = []
    for folder, names in _by_folder(files).items():
        with view.open(folder) as opened:
            listed = _run(["ls", *options, "-d", "--", *names], opened.descriptor, [], alarm)
        prefix = "" if folder == "." else f"{folder}/"
        lines = [_LONG_LINE.sub(rf"\g<1>{prefix}\g<2>", line, count=1) for line in listed.text.splitlines()]
        ended.append(listed._replace(text="\n".join(lines)))
    for name in directories:
        with view.open(name) as opened:
            listed = _run(["ls", *options], opened.descriptor, [], alarm)
        # The total counts blocks of the disk: the same files have others tomorrow.
        lines = [line for line in listed.text.splitlines() if not re.fullmatch(r"total \S+", line)]
        heading = [f"{name}:"] if files or len(directories) > 1 else []
        ended.append(listed._replace(text="\n".join((*heading, *lines))))
    return _output(ended, "\n\n")


def _stat(view: Sandbox, command: BashCommand, names: list[str], alarm: Alarm) -> Output:
    """The default of `stat` tells of inodes and of when we read last; ours only what can matter."""
    form = (command.values("-c") or ["%n: %F, %s bytes, modified %y"])[-1]
    ended = []
    for folder, inner in _by_folder(names).items():
        prefix = "" if folder == "." else f"{folder}/".replace("%", "%%")
        ours = re.sub(r"%(.)", lambda found: f"{prefix}%n" if found[1] == "n" else found[0], form)  # noqa: B023
        with view.open(folder) as opened:
            ended.append(_run(["stat", "-c", ours, "--", *inner], opened.descriptor, [], alarm))
    return _output(ended)


def _find(view: Sandbox, command: BashCommand, alarm: Alarm) -> Output:
    """Search from inside of each directory; the parentheses make our -print0 the only action, whatever was asked for."""
    ended = []
    for word in command.operands or (BashWord(".", is_pattern=False),):
        with view.open(word.text) as opened:
            name = opened.name
            if not opened.is_directory:
                raise ToolError(f"{shown(word.text)} is a file; find looks into directories")
            parts = [(option, _from_inside(name, option, value)) for option, value in command.options]
            limits = _argv(part for part in parts if part[0] in FIND_LIMITS)
            tests = _argv(part for part in parts if part[0] not in FIND_LIMITS)
            grouped = ["(", *tests, ")"] if tests else []
            found = _run(["find", ".", *limits, *FIND_PASSES_OVER, *grouped, "-print0"], opened.descriptor, [], alarm)
        paths = [path for path in found.text.split("\0") if path and "/." not in path]
        lines = sorted(name + re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", path[1:]) for path in paths)
        ended.append(found._replace(text="\n".join(lines)))
    return _output(ended)


def _from_inside(name: str, option: str, value: str | None) -> str | None:
    """A pattern for paths was written for the path that was given, and the search begins inside of that."""
    if value is not None and option in ("-path", "-ipath", "-wholename"):
        plain = value if name == "." else value.removeprefix("./")
        return f".{plain.removeprefix(name)}" if plain.startswith(f"{name}/") else value
    return value


# -- all programs -----------------------------------------------------------------------------------------------------


def _expanded(view: Sandbox, words: Iterable[BashWord]) -> list[str]:
    """The names that the words stand for; patterns as a shell would, but that one without a match is an error."""
    names: list[str] = []
    for word in words:
        if not word.is_pattern:
            with view.open(word.text) as opened:
                names.append(opened.name)
            continue
        pattern = Pattern(word.text)
        depth = MOST_DEPTH if "**" in word.text else word.text.count("/") + 1
        matching = [entry.name for entry in view.candidates(word.text, depth=depth) if pattern.matches(entry.name)]
        if not matching:
            raise ToolError(f"nothing matches {shown(word.text)}")
        names += matching
    if len(names) > _MOST_OPERANDS:
        raise ToolError(f"these are {len(names)} names; give at most {_MOST_OPERANDS}, or use grep -r or find")
    return names


def _by_folder(names: Iterable[str]) -> dict[str, list[str]]:
    """Plain names by the directory that they are in. The directory itself is in itself: what is above is not ours."""
    folders: dict[str, list[str]] = {}
    for name in sorted(names):
        *above, last = name.split("/")
        folders.setdefault("/".join(above) or ".", []).append(last)
    return folders


def _argv(options: Iterable[tuple[str, str | None]]) -> list[str]:
    words: list[str] = []
    for name, value in options:
        words += [name] if value is None else [f"{name}={value}"] if name.startswith("--") else [name, value]
    return words


def _output(ended: Sequence[Ended], separator: str = "\n") -> Output:
    texts = [each.text.rstrip("\n") for each in ended if each.text]
    notes = [each.errors.strip() for each in ended if each.errors.strip()]
    if any(each.is_cut for each in ended):
        notes.append("The output was cut: narrow the command.")
    return Output("\n".join((*filter(None, [separator.join(texts)]), *notes)), any(each.code for each in ended))


def _run(argv: Sequence[str], directory: int, descriptors: Sequence[int], alarm: Alarm) -> Ended:
    """Run one program inside of a directory, and end it when it prints too much or the alarm goes off."""
    program = shutil.which(argv[0], path=_PATH)
    if program is None:
        raise ToolError(f"{argv[0]} is not installed")
    output, errors = bytearray(), bytearray()
    seconds = str(int(alarm.seconds) + 1)
    process = subprocess.Popen(  # noqa: S603 - argv is ours, from the tables of `commands` and names of the view
        [sys.executable, "-I", "-S", "-c", _START, str(directory), seconds, program, *argv],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_ENVIRONMENT,
        pass_fds=(directory, *descriptors),
        start_new_session=True,
    )
    is_late = False
    with process, selectors.DefaultSelector() as selector:
        for stream, read in ((process.stdout, output), (process.stderr, errors), (alarm.reader, None)):
            if stream is not None:
                selector.register(stream, selectors.EVENT_READ, read)
        while len(selector.get_map()) > 1 and len(output) <= _READ_BYTES and not is_late:
            for key, _ in selector.select():
                if key.data is None:
                    is_late = True
                elif piece := os.read(key.fd, 65_536):
                    key.data.extend(piece)
                    del errors[_ERROR_BYTES:]
                else:
                    selector.unregister(key.fileobj)
        is_cut = len(output) > _READ_BYTES
        # Both streams are closed, or we want no more. Until it is waited for, the number is still its own.
        if not is_late and not is_cut:
            with suppress(subprocess.TimeoutExpired):
                process.wait(alarm.seconds)
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
    if is_late:
        raise ToolError(f"{argv[0]} was stopped after {alarm.seconds:g} seconds: narrow the command")
    if process.returncode == _NOT_STARTED or (process.returncode < 0 and not is_cut):
        raise ToolError(f"{argv[0]} was stopped: it went over a limit of memory or time")
    text = output[:_READ_BYTES].decode("utf-8", "replace")
    return Ended(0 if is_cut else process.returncode, text, errors.decode("utf-8", "replace"), is_cut)
