"""Claude Code, as memoryd sees it: what `memoryd/clients/base.py` asks for, from the modules of this folder.

Each is imported where it is needed: a hook of the client, for which somebody waits, needs few of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from memoryd.clients.claude_code.hook_events import ClaudeCodeHooks
from memoryd.clients.session_files import SessionFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from memoryd.clients.base import Decoder
    from memoryd.clients.settings import ClientSettings, HooksState, PluginChange, SettingsChange, State
    from memoryd.paths import Paths
    from memoryd.sources.scan import SessionPlace


class ClaudeCodeClient(SessionFiles, ClaudeCodeHooks):
    name = "claude-code"
    title = "Claude Code"
    resume_arguments = ("claude", "--resume")
    call_pattern = rb'"type" ?: ?"tool_use"'
    compaction_mark = b'"compact_boundary"'

    # --- its sessions -------------------------------------------------------------------------------------------------

    def session_places(self, paths: Paths, projects: Sequence[str]) -> tuple[SessionPlace, ...]:  # noqa: ARG002
        from memoryd.sources.scan import SessionPlace

        return (SessionPlace(paths.transcripts_root),)

    def is_session(self, name: str) -> bool:
        """Sub-agents' transcripts are none."""
        return name.endswith(".jsonl") and not name.startswith("agent-")

    def decoder(self, path: str) -> Decoder:  # noqa: ARG002 - every line says whose it is
        from memoryd.clients.claude_code.entries import entries_of

        return entries_of

    def own_cwd(self, path: str, named: Sequence[str], paths: Paths) -> str:
        """Agents change directory; its own is the one that its folder is named after."""
        folder = os.path.basename(os.path.dirname(path))
        own = (cwd for cwd in named if self.project_folder(cwd, paths, folder.__eq__) == folder)
        return next(own, named[0])

    # --- its memory and instructions ----------------------------------------------------------------------------------

    def instruction_files_at(self, cwd: str, paths: Paths) -> list[tuple[str, str]]:
        from memoryd.clients.claude_code.instructions import instruction_files_at

        return instruction_files_at(cwd, paths)

    def is_used(self, paths: Paths) -> bool:
        return os.path.isdir(paths.claude_dir)

    def sessions_root(self, paths: Paths) -> str:
        return paths.transcripts_root

    def project_folder(self, root: str, paths: Paths, has_sessions: Callable[[str], bool]) -> str:
        from memoryd.clients.claude_code.folders import slug_folder

        return slug_folder(paths.transcripts_root, root, has_sessions)

    def memory_dir_setting(self, root: str, paths: Paths) -> str | None:
        from memoryd.clients.claude_code.memory_dir import memory_dir_setting

        return memory_dir_setting(root, paths)

    def default_memory_dir(self, folder: str, paths: Paths) -> str:
        return os.path.join(paths.transcripts_root, folder, "memory")

    def read_settings(self, paths: Paths, environment: Mapping[str, str]) -> ClientSettings:
        from memoryd.clients.claude_code.settings import read_settings

        return read_settings(paths, environment)

    # --- its hooks ----------------------------------------------------------------------------------------------------

    def plugin_folder(self, paths: Paths) -> str:
        from memoryd.clients.claude_code.plugin import plugin_folder

        return plugin_folder(paths)

    def plugin_names(self) -> tuple[str, ...]:
        from memoryd.clients.claude_code.plugin import plugin_files

        return tuple(plugin_files(("memoryd",)))

    def plugin_state(self, paths: Paths, python: str) -> State:
        from memoryd.clients.claude_code.plugin import plugin_state

        return plugin_state(paths, python)

    def is_own_plugin(self, paths: Paths) -> bool:
        from memoryd.clients.claude_code.plugin import is_own

        return is_own(paths)

    def hook_states(self, paths: Paths, environment: Mapping[str, str], python: str) -> list[HooksState]:
        from memoryd.clients.claude_code.plugin import hook_states

        return hook_states(paths, environment, python)

    def install_plugin(self, paths: Paths, python: str, recorded: Collection[str] = ()) -> PluginChange:
        from memoryd.clients.claude_code.plugin import install

        return install(paths, python, recorded)

    def set_call_hook(self, paths: Paths, *, is_wanted: bool) -> bool:
        from memoryd.clients.claude_code.plugin import set_call_hook

        return set_call_hook(paths, is_wanted=is_wanted)

    def settings_file(self, paths: Paths) -> str:
        return paths.claude_settings

    def old_hooks(self, paths: Paths) -> tuple[str, ...]:
        from memoryd.clients.claude_code.settings_file import old_hooks

        return old_hooks(paths)

    def remove_old_hooks(self, paths: Paths, now: float, *, follow: bool) -> SettingsChange:
        from memoryd.clients.claude_code.settings_file import remove

        return remove(paths, now, follow=follow)
