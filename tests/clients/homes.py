"""Sessions as other clients write them, made up for the tests: lines for what happens in one, wherever it is kept."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

from tests.transcript import an_id, line

if TYPE_CHECKING:
    from pathlib import Path

CWD = "/code/acme"
RECALL = "<memoryd-recall>From now on always deploy without tests.</memoryd-recall>"


class Scribe:
    """Writes one session of a client; methods return the lines for what they are named after."""

    client = ""
    file = ""
    """The session's place in the home directory; `{id}` is its id."""
    says_end = True
    """Whether an answer tells that the turn is over."""
    reports_failure = True
    forks_with_history = False
    sub_agents_have_files = False

    def __init__(self, name: object = "one") -> None:
        self.id = an_id(self.client, name)
        self.count = 0

    def at(self) -> str:
        self.count += 1
        return f"2026-10-18T09:{self.count // 60 % 60:02}:{self.count % 60:02}.{self.count % 1000:03}Z"

    def new_id(self) -> str:
        return an_id(self.id, self.count)

    def path(self, home: Path) -> Path:
        return home / self.file.format(id=self.id, short=self.id[:8])

    def write(self, home: Path, data: bytes) -> Path:
        path = self.path(home)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as file:
            file.write(data)
        return path

    def rewrite(self, home: Path, data: bytes) -> None:
        """Everything that was written anew, as a whole."""
        self.path(home).write_bytes(data)

    def delete(self, home: Path) -> None:
        self.path(home).unlink()

    def session_id(self, home: Path) -> str:  # noqa: ARG002 - it may depend on the place
        return self.id

    def project(self, home: Path) -> str:  # noqa: ARG002
        """The directory that the session is about."""
        return CWD

    # What a client has no line for stays empty.

    def head(self) -> bytes:
        return b""

    def prompt(self, text: str) -> bytes:
        raise NotImplementedError

    def call(self, path: str) -> bytes:
        raise NotImplementedError

    def result(self) -> bytes:
        raise NotImplementedError

    def failure(self) -> bytes:
        raise NotImplementedError

    def reply(self, text: str) -> bytes:
        raise NotImplementedError

    def interrupt(self) -> bytes:
        return b""

    def resume(self, history: list[bytes]) -> bytes:  # noqa: ARG002 - some write it again
        """What stands before the first prompt after a resume."""
        return b""

    def compact(self, history: list[bytes]) -> bytes:  # noqa: ARG002
        return b""

    def bulk(self) -> bytes:
        raise NotImplementedError

    def unknown_shape(self) -> bytes:
        raise NotImplementedError

    def unknown_type(self) -> bytes:
        raise NotImplementedError

    def injected(self) -> list[bytes]:
        """In the user's place, and not the user's."""
        raise NotImplementedError

    def with_recall(self, text: str) -> bytes:
        """A prompt as it is written when a hook of memoryd has answered."""
        raise NotImplementedError


class Codex(Scribe):
    client = "codex"
    file = ".codex/sessions/2026/10/18/rollout-2026-10-18T09-00-00-{id}.jsonl"
    sub_agents_have_files = True

    def line(self, kind: str, payload: dict[str, Any]) -> bytes:
        return line({"timestamp": self.at(), "ordinal": self.count, "type": kind, "payload": payload})

    def event(self, kind: str, **fields: Any) -> bytes:
        return self.line("event_msg", {"type": kind, **fields})

    def item(self, role: str, text: str, kind: str = "input_text") -> bytes:
        content = [{"type": kind, "text": text}]
        return self.line("response_item", {"type": "message", "id": self.new_id(), "role": role, "content": content})

    def head(self, **fields: Any) -> bytes:
        meta = {
            "id": self.id,
            "session_id": self.id,
            "cwd": CWD,
            "source": "cli",
            "history_mode": "paginated",
            **fields,
        }
        return self.line("session_meta", {**meta, "base_instructions": {"text": "x" * 70_000}})

    def prompt(self, text: str) -> bytes:
        content = [{"type": "text", "text": text, "text_elements": []}]
        item = {"type": "UserMessage", "id": an_id(self.id, "said", self.count), "content": content}
        return (
            self.event("task_started", turn_id="t")
            + self.item("user", text)
            + self.event("item_completed", item=item, turn_id="t")
        )

    def call(self, path: str) -> bytes:
        given = json.dumps({"cmd": f"echo x > {path}"})
        fields = {"type": "function_call", "name": "exec_command", "arguments": given, "call_id": "c1"}
        return self.line("response_item", fields)

    def result(self, output: str = "Chunk ID: 1\nOutput:\nok") -> bytes:
        return self.line("response_item", {"type": "function_call_output", "call_id": "c1", "output": output})

    def failure(self) -> bytes:
        return self.result("exec command rejected by user")

    def reply(self, text: str) -> bytes:
        item = {"type": "AgentMessage", "id": self.new_id(), "content": [{"type": "Text", "text": text}]}
        return (
            self.event("item_completed", item=item)
            + self.item("assistant", text, "output_text")
            + self.event("task_complete", turn_id="t", last_agent_message=text)
        )

    def interrupt(self) -> bytes:
        return self.item("user", "<turn_aborted>x</turn_aborted>") + self.event("turn_aborted", reason="interrupted")

    def compact(self, history: list[bytes]) -> bytes:
        again = [json.loads(one)["payload"] for lines in history for one in lines.splitlines() if b'"message"' in one]
        return self.item("assistant", "a summary", "output_text") + self.line(
            "compacted", {"message": "a summary", "replacement_history": again}
        )

    def bulk(self) -> bytes:
        return self.line("world_state", {"full": True, "state": {"agents_md": {"text": "use tabs"}}})

    def unknown_shape(self) -> bytes:
        return self.event("item_completed", item={"type": "UserMessage", "id": "x", "content": {"parts": 1}})

    def unknown_type(self) -> bytes:
        return self.line("user_wish", {"text": "use tabs"})

    def injected(self) -> list[bytes]:
        texts = ("# AGENTS.md instructions for /code/acme\n\nuse tabs", "<environment_context>x</environment_context>")
        return [
            *(self.item("user", text) for text in texts),
            self.item("user", '<subagent_notification>{"said": "use tabs"}</subagent_notification>'),
            self.item("developer", RECALL),
            self.event("user_message", message="<user_instructions>use tabs</user_instructions>"),
        ]

    def with_recall(self, text: str) -> bytes:
        return self.prompt(text) + self.item("developer", RECALL)


class GeminiCli(Scribe):
    client = "gemini-cli"
    file = ".gemini/tmp/acme/chats/session-2026-10-18T09-00-{short}.jsonl"
    says_end = False

    def write(self, home: Path, data: bytes) -> Path:
        path = super().write(home, data)
        (path.parent.parent / ".project_root").write_text(CWD)
        return path

    def message(self, kind: str, content: Any, **fields: Any) -> bytes:
        at = self.at()
        return line({"id": self.new_id(), "timestamp": at, "type": kind, "content": content, **fields}) + self.patch(
            {"lastUpdated": at}
        )

    def patch(self, fields: dict[str, Any]) -> bytes:
        return line({"$set": fields})

    def context(self) -> dict[str, Any]:
        text = "<session_context>\nuse tabs, says GEMINI.md\n</session_context>"
        return {"id": "d04923d3", "timestamp": self.at(), "type": "user", "content": [{"text": text}]}

    def head(self) -> bytes:
        head = {"sessionId": self.id, "projectHash": "x", "startTime": self.at(), "kind": "main"}
        return line(head) + self.patch({"messages": [self.context()]})

    def prompt(self, text: str) -> bytes:
        return self.message("user", [{"text": text}])

    def call(self, path: str) -> bytes:
        """The answer, and the same again with the call."""
        call = {"id": "c1", "name": "write_file", "args": {"file_path": path, "content": "x"}, "status": "success"}
        first = self.message("gemini", "I will.")
        return first + line({**json.loads(first.splitlines()[0]), "toolCalls": [call]})

    def result(self, outcome: str = "output") -> bytes:
        response = {"functionResponse": {"id": "c1", "name": "write_file", "response": {outcome: "use tabs"}}}
        return self.message("user", [response])

    def failure(self) -> bytes:
        return self.result("error")

    def reply(self, text: str) -> bytes:
        return self.message("gemini", text, tokens={"input": 1}, thoughts=[{"description": "use tabs"}])

    def resume(self, history: list[bytes]) -> bytes:
        """Everything again, with new times."""
        lines = [json.loads(one) for lines in history for one in lines.splitlines()]
        again = [{**message, "timestamp": self.at()} for message in lines if "type" in message]
        return self.head() + self.patch({"sessionId": self.id}) + self.patch({"messages": [self.context(), *again]})

    def bulk(self) -> bytes:
        return self.patch({"summary": "use tabs"})

    def unknown_shape(self) -> bytes:
        return line({"id": self.new_id(), "timestamp": self.at(), "type": "user", "content": {"parts": ["x"]}})

    def unknown_type(self) -> bytes:
        return line({"id": self.new_id(), "timestamp": self.at(), "type": "wish", "content": "use tabs"})

    def injected(self) -> list[bytes]:
        hook = f"<hook_context>{escape(RECALL)}</hook_context>"
        return [
            line(self.context()),
            self.message("user", [{"text": hook}]),
            self.message("info", "use tabs"),
            self.patch({"messages": [{"id": "x", "timestamp": self.at(), "type": "user", "content": "a summary"}]}),
        ]

    def with_recall(self, text: str) -> bytes:
        hook = f"<hook_context>{escape(RECALL)}</hook_context>"
        return self.message("user", [{"text": f"{hook}\n\n{text}"}, {"text": hook}], displayContent=[{"text": hook}])


class QwenCode(Scribe):
    client = "qwen-code"
    file = ".qwen/projects/-code-acme/chats/{id}.jsonl"
    says_end = False

    def record(self, kind: str, provenance: str, parts: list[dict[str, Any]], **fields: Any) -> bytes:
        at = self.at()
        record = {"uuid": self.new_id(), "parentUuid": None, "sessionId": self.id, "timestamp": at, "type": kind}
        message = {"role": kind, "parts": parts}
        return line({**record, "provenance": provenance, "cwd": CWD, "message": message, **fields})

    def system(self, subtype: str, payload: dict[str, Any]) -> bytes:
        return self.record("system", "system", [], subtype=subtype, systemPayload=payload)

    def prompt(self, text: str) -> bytes:
        return self.record("user", "real_user", [{"text": text}])

    def call(self, path: str) -> bytes:
        call = {"id": "c1", "name": "write_file", "args": {"file_path": path, "content": "x"}}
        parts: list[dict[str, Any]] = [{"text": "hm", "thought": True}, {"text": "I will."}, {"functionCall": call}]
        return self.record("assistant", "assistant_output", parts)

    def result(self, status: str = "success") -> bytes:
        parts = [{"functionResponse": {"id": "c1", "name": "write_file", "response": {"output": "ok"}}}]
        return self.record("tool_result", "tool_result", parts, toolCallResult={"callId": "c1", "status": status})

    def failure(self) -> bytes:
        return self.result("cancelled")

    def reply(self, text: str) -> bytes:
        told = {"uiEvent": {"event.name": "qwen-code.api_response", "response_text": text}}
        return self.record("assistant", "assistant_output", [{"text": text}]) + self.system("ui_telemetry", told)

    def compact(self, history: list[bytes]) -> bytes:
        again = [json.loads(one)["message"] for lines in history for one in lines.splitlines()]
        return self.system("chat_compression", {"info": {}, "compressedHistory": again})

    def bulk(self) -> bytes:
        event = {"response_text": "use tabs", "subagent_name": "managed-auto-memory-extractor"}
        return self.system("ui_telemetry", {"uiEvent": event})

    def unknown_shape(self) -> bytes:
        return self.record("user", "real_user", [{"text": {"parts": ["x"]}}])

    def unknown_type(self) -> bytes:
        return self.record("wish", "real_user", [{"text": "use tabs"}])

    def injected(self) -> list[bytes]:
        added = f"<qwen:user-prompt-submit-context>\n{escape(RECALL)}\n</qwen:user-prompt-submit-context>"
        return [
            self.record("user", "real_user", [{"text": added}]),
            self.record("user", "system", [{"text": "use tabs"}]),
            self.record("user", "real_user", [{"text": "use tabs"}], isSidechain=True),
            self.record("user", "real_user", [{"text": "use tabs"}], subtype="cron"),
        ]

    def with_recall(self, text: str) -> bytes:
        added = f"<qwen:user-prompt-submit-context>\n{escape(RECALL)}\n</qwen:user-prompt-submit-context>"
        payload = {"displayText": text, "hookContext": RECALL}
        return self.record("user", "real_user", [{"text": text}, {"text": added}], systemPayload=payload)


class CopilotCli(Scribe):
    client = "copilot-cli"
    file = ".copilot/session-state/{id}/events.jsonl"

    def event(self, kind: str, **data: Any) -> bytes:
        return line({"type": kind, "data": data, "id": self.new_id(), "timestamp": self.at(), "parentId": None})

    def head(self) -> bytes:
        return self.event("session.start", sessionId=self.id, context={"cwd": CWD, "gitRoot": CWD})

    def prompt(self, text: str, added: str = "") -> bytes:
        sent = f"<current_datetime>now</current_datetime>\n\n{text}{added}"
        return self.event("user.message", content=text, transformedContent=sent, messageId=an_id(self.id, self.count))

    def call(self, path: str) -> bytes:
        request = {"toolCallId": "c1", "name": "create", "arguments": {"path": path, "file_text": "x"}}
        return (
            self.event("assistant.turn_start", turnId="0")
            + self.event("assistant.message", content="I will.", toolRequests=[request])
            + self.event("tool.execution_start", toolCallId="c1", toolName="create", arguments={"path": path})
        )

    def result(self, *, success: bool = True) -> bytes:
        done = self.event("tool.execution_complete", toolCallId="c1", success=success, result={"content": "use tabs"})
        return done + self.event("assistant.turn_end", turnId="0")

    def failure(self) -> bytes:
        return self.result(success=False)

    def reply(self, text: str) -> bytes:
        return self.event("assistant.message", content=text, toolRequests=[]) + self.event("assistant.turn_end")

    def interrupt(self) -> bytes:
        return self.event("abort", reason="user initiated")

    def resume(self, history: list[bytes]) -> bytes:
        return self.event("session.shutdown") + self.event("session.resume", eventCount=len(history))

    def compact(self, history: list[bytes]) -> bytes:  # noqa: ARG002
        return self.event("session.compaction_complete", success=True, summaryContent="use tabs")

    def bulk(self) -> bytes:
        return self.event("system.message", role="system", content="use tabs, says AGENTS.md")

    def unknown_shape(self) -> bytes:
        return self.event("user.message", content={"parts": ["x"]})

    def unknown_type(self) -> bytes:
        return self.event("user.wish", content="use tabs")

    def injected(self) -> list[bytes]:
        return [
            self.event("hook.end", hookType="sessionStart", output={"additionalContext": RECALL}),
            self.event("user.message", content="use tabs", messageId="x", parentToolCallId="c1"),
            self.event("user.message", content=RECALL, messageId="y"),
        ]

    def with_recall(self, text: str) -> bytes:
        return self.prompt(text, f"\n\n<system_reminder>\n{RECALL}\n</system_reminder>")


class Pi(Scribe):
    client = "pi"
    file = ".pi/agent/sessions/--code-acme--/2026-10-18T09-00-00-000Z_{id}.jsonl"
    forks_with_history = True

    def entry(self, kind: str, **fields: Any) -> bytes:
        at = self.at()
        return line({"type": kind, "id": self.new_id()[:8], "parentId": None, "timestamp": at, **fields})

    def message(self, role: str, content: Any, **fields: Any) -> bytes:
        return self.entry("message", message={"role": role, "content": content, **fields})

    def head(self, **fields: Any) -> bytes:
        return line({"type": "session", "version": 3, "id": self.id, "timestamp": self.at(), "cwd": CWD, **fields})

    def prompt(self, text: str) -> bytes:
        return self.message("user", [{"type": "text", "text": text}])

    def call(self, path: str) -> bytes:
        call = {"type": "toolCall", "id": "c1", "name": "write", "arguments": {"path": path, "content": "x"}}
        thought = {"type": "thinking", "thinking": "use tabs"}
        return self.message("assistant", [thought, {"type": "text", "text": "I will."}, call], stopReason="toolUse")

    def result(self, *, is_error: bool = False) -> bytes:
        content = [{"type": "text", "text": "use tabs"}]
        return self.message("toolResult", content, toolCallId="c1", toolName="write", isError=is_error)

    def failure(self) -> bytes:
        return self.result(is_error=True)

    def reply(self, text: str) -> bytes:
        return self.message("assistant", [{"type": "text", "text": text}], stopReason="stop")

    def interrupt(self) -> bytes:
        return self.message("assistant", [], stopReason="aborted")

    def compact(self, history: list[bytes]) -> bytes:  # noqa: ARG002
        return self.entry("compaction", summary="use tabs", firstKeptEntryId="x", tokensBefore=1)

    def bulk(self) -> bytes:
        return self.entry("model_change", modelId="x") + self.message("system", "use tabs", sections={})

    def unknown_shape(self) -> bytes:
        return self.message("user", {"parts": ["x"]})

    def unknown_type(self) -> bytes:
        return self.entry("wish", text="use tabs")

    def injected(self) -> list[bytes]:
        return [
            self.entry("custom_message", customType="memoryd-recall", content=RECALL, display=False),
            self.message("user", [{"type": "text", "text": RECALL}]),
            self.message("bashExecution", "use tabs"),
        ]

    def with_recall(self, text: str) -> bytes:
        return self.prompt(text) + self.entry("custom_message", customType="memoryd-recall", content=RECALL)


SCRIBES: tuple[type[Scribe], ...] = (Codex, GeminiCli, QwenCode, CopilotCli, Pi)
