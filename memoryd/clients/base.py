"""Contract with the client of a coding agent: all that memoryd needs to know about one.

A session is a row of lines, whatever it is kept in. Lines that are appended are read from where the last look ended; where
lines were rewritten, all are read again, and messages are known by their ids. Nothing but `decoder` looks into a line, so a
client that keeps sessions in a database can hand out its rows as lines (`memoryd/sources/session.py:OpenSession`).

Every client can be read: `CodingClient`. Some can do more, and are in a list for that in `memoryd/clients/registry.py`:
`HookClient` runs memoryd's hooks, `PluginClient` takes memoryd's plugin, `ConnectedClient` has memoryd in files of its own,
`MemoryClient` reads a memory directory by itself.

Methods are asked for once for a session or a command, never for each line: `decoder` returns the function that is called
then. A new client is a folder beside `claude_code`, an object in `registry.ALL`, and a sample in `tests/clients/samples.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from memoryd.record import NamedTuple

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Collection, Mapping, Sequence
    from typing import Any

    from memoryd.clients.connections import ClientPiece, Obstacle
    from memoryd.clients.settings import ClientSettings, HooksState, PluginChange, SettingsChange, State
    from memoryd.clients.tool_actions import ToolAction
    from memoryd.model import Entry, Inventory, ToolCall
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace
    from memoryd.sources.session import OpenSession

    Decoder = Callable[[bytes, Counter[str]], tuple[Entry, ...]]
    """A line to its entries: none where it holds nothing that counts, several where a line holds several.

    Only the user's own words become a `Prompt`: what the client, an editor, a tool or memoryd put beside them is left out.
    A line is understood by itself, since a search decodes single lines; what only the head of a session says (its id, its
    directory) is read before. A message has the same ids wherever it is written again: by a resume, a fork, a compaction.
    What is written again without being read at the same place, such as the history inside of a compaction, is left out.

    Never raises. The counter gets what had to be repaired or left out, by kind; `unknown_shape` is an entry that should have
    counted and was not understood, `unknown_type` one of a type that this memoryd has never heard of.
    """


class RecentActivity(NamedTuple):
    """What a session did lately."""

    tools: tuple[str, ...] = ()
    """Those that were called lately, the last one first."""
    files: frozenset[str] = frozenset()
    """The files of the directory asked for that tools were called with since the session was last compacted."""


class HookCall(NamedTuple):
    """What a client tells when it runs a hook."""

    kind: Literal["prompt", "start", "call", "end", "release"]
    """A prompt was sent; a session begins; a tool is about to be called; a turn has ended; a session ends or is about to be
    compacted.
    """
    session_id: str
    cwd: str
    transcript: str = ""
    prompt: str = ""
    """The user's words; empty where there are none, as in a command of the client."""
    is_compacted: bool = False
    """The session goes on without what it was shown before."""
    is_empty: bool = False
    """The session begins with nothing: it has not seen the index."""
    is_resumed: bool = False
    """The session goes on with what it was, perhaps after a long time."""
    is_before_compaction: bool = False
    action: ToolAction | None = None
    """What a tool is about to do."""
    call_id: str = ""


class HookInputError(Exception):
    """What a client sent to a hook is not understood."""


class CodingClient(Protocol):
    """What is asked of every client."""

    @property
    def name(self) -> str:
        """In commands, and in the database for each session."""

    @property
    def title(self) -> str:
        """In sentences."""

    # --- its sessions -------------------------------------------------------------------------------------------------

    @property
    def deletes_early(self) -> bool:
        """Whether it deletes sessions long before their time: they are read before those of other clients."""

    @property
    def counts_rows(self) -> bool:
        """Whether offsets in its sessions are numbers of rows, not bytes."""

    @property
    def moved_by(self) -> tuple[str, ...]:
        """Variables of the environment by which its files are elsewhere, beside those of XDG."""

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:
        """Where its sessions are, on this machine and in these directories of known projects. They need not be there."""

    def is_session(self, name: str) -> bool:
        """Whether a change of a file of this name is a change of conversations with the user."""

    def inventory(self, place: SessionPlace, only: Collection[str] | None = None) -> Inventory:
        """The sessions at one of its places; with `only`, in these folders alone."""

    def session_id(self, path: str) -> str:
        """The id by which the client knows the session at a path of its inventory."""

    def open_session(self, path: str) -> OpenSession:
        """A session to be read. Raises OSError and NotATranscriptError."""

    def decoder(self, path: str) -> Decoder:
        """What decodes the lines of one session."""

    def own_cwd(self, path: str, named: Sequence[str], paths: Paths) -> str:
        """Where a session was begun, of the directories that are named in it, in order of appearance."""

    def resume_words(self, session_id: str) -> tuple[str, ...]:
        """The command that goes on with a session, and its arguments."""

    def recent_activity(self, data: bytes, directory: str) -> RecentActivity:
        """By the last bytes of a session, without decoding them: somebody waits for it."""

    # --- its tools ----------------------------------------------------------------------------------------------------

    def summarize_call(self, call: ToolCall) -> str:
        """A call in a few words, without what the tool answered."""

    def written_below(self, call: ToolCall, directory: str) -> list[str]:
        """The files of a directory that a call sets out to change, by their names below it."""

    # --- its instructions and its own memory --------------------------------------------------------------------------

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        """The instruction files that apply at a directory, with their texts; later ones weigh more."""

    def own_memories(self, paths: Paths) -> list[str]:
        """Directories and files in which it keeps memories of its own making, as far as they are there."""


class SettingsClient(CodingClient, Protocol):
    """A client whose settings matter to memoryd."""

    def read_settings(self, paths: Paths, environment: Mapping[str, str]) -> ClientSettings:
        """What its settings and the environment say, as far as it matters to memoryd."""


class HookClient(CodingClient, Protocol):
    """A client that runs memoryd's hooks."""

    @property
    def hook_events(self) -> tuple[str, ...]:
        """By the names that `memoryd hook` is run with."""

    @property
    def shows_notices(self) -> bool:
        """Whether it shows a hook's notice to the user."""

    def read_hook_call(self, event: str, given: Any) -> HookCall:
        """What one of its hooks was given as JSON. Raises HookInputError."""

    def hook_answer(self, event: str, text: str, notice: str = "") -> str:
        """A text for the model and a notice for the user, either may be empty, as the client wants to be answered.

        Empty where the client takes neither with this event.
        """

    def hook_refusal(self, event: str, reason: str) -> str:
        """The answer that keeps a tool from being called, with the reason for the model."""


class PluginClient(HookClient, SettingsClient, Protocol):
    """A client that takes its hooks from memoryd's plugin."""

    def plugin_folder(self, paths: Paths) -> str:
        """Where it finds memoryd's plugin."""

    def plugin_names(self) -> tuple[str, ...]:
        """The files of the plugin, by their paths in its folder."""

    def plugin_state(self, paths: Paths, python: str) -> State:
        """Whether the plugin is there, and runs this Python's memoryd."""

    def is_own_plugin(self, paths: Paths) -> bool:
        """Whether there is such a folder, and memoryd made it."""

    def hook_states(self, paths: Paths, environment: Mapping[str, str], python: str) -> list[HooksState]:
        """Each hook of the plugin, and whether it is installed for this Python."""

    def install_plugin(self, paths: Paths, python: str, recorded: Collection[str] = ()) -> PluginChange:
        """Make the plugin, or bring it up to date; `recorded` are the files that an earlier memoryd made. Raises ClientError."""

    def set_call_hook(self, paths: Paths, *, is_wanted: bool) -> bool:
        """Put the hook that is run before tool calls into the plugin, or take it out; whether that changed anything.

        Only where the plugin's hooks are just as `install_plugin` has written them. Raises OSError.
        """

    def settings_file(self, paths: Paths) -> str:
        """Its settings, into which older versions of memoryd put their hooks."""

    def old_hooks(self, paths: Paths) -> tuple[str, ...]:
        """The events for which such hooks are still there. Raises ClientError."""

    def remove_old_hooks(self, paths: Paths, now: float, *, follow: bool) -> SettingsChange:
        """Take them out, and leave every other byte as it is; `follow` a link, if the file is one.

        Raises ClientError, BusyError.
        """


class ConnectedClient(CodingClient, Protocol):
    """A client into whose settings and folders memoryd is put, to hand memories back."""

    @property
    def program(self) -> str:
        """The command by which it is started."""

    def settings_folder(self, paths: Paths) -> str:
        """The directory with its settings; where it is, somebody uses the client."""

    def pieces(self, paths: Paths, python: str) -> tuple[ClientPiece, ...]:
        """What is put into which of its files."""

    def obstacle(self, paths: Paths, python: str) -> Obstacle | None:
        """Why the client does not use what was put there, and what to do about it; None where it does."""


class MemoryClient(SettingsClient, Protocol):
    """A client that loads the index of a memory directory by itself, where it expects it."""

    def is_used(self, paths: Paths) -> bool:
        """Whether somebody has used it here."""

    def sessions_root(self, paths: Paths) -> str:
        """The directory in which every project has a folder for its sessions."""

    def project_folder(self, root: str, paths: Paths, has_sessions: Callable[[str], bool]) -> str:
        """The name of the folder for what was said in a directory; of several that it may be, `has_sessions` finds it."""

    def memory_dir_setting(self, root: str, paths: Paths) -> str | None:
        """Where its settings say that the memory of a project is; None where they do not. Nothing that a repository
        ships counts.
        """

    def default_memory_dir(self, folder: str, paths: Paths) -> str:
        """Where the memory of a project is, by its folder, if no setting says otherwise."""
