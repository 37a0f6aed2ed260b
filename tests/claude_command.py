"""A small `claude`: it speaks as the real one does with who starts it, its MCP server and a Messages endpoint.

A script that needs nothing but the standard library. What it knows of the real one was seen, not guessed: the lines that it
prints, the questions to its MCP server, the fields of its errors, the files that it keeps while it runs and what stays of them.
FAKE_* in its environment let it misbehave.
"""

import json
import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

Block = dict[str, Any]
VALUED = (
    *("--input-format", "--output-format", "--model", "--effort", "--system-prompt-file", "--tools"),
    *("--setting-sources", "--mcp-config", "--allowedTools"),
)
PLAIN = (
    *("-p", "--verbose", "--include-partial-messages", "--strict-mcp-config", "--disable-slash-commands"),
    "--no-session-persistence",
)
KINDS = {401: "authentication_failed", 403: "authentication_failed", 429: "rate_limit", 529: "overloaded"}


def options_of(arguments: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    arguments = list(arguments)
    while arguments:
        name = arguments.pop(0)
        if name not in VALUED + PLAIN:
            sys.stderr.write(f"error: unknown option '{name}'\n")
            sys.exit(1)
        found[name] = arguments.pop(0) if name in VALUED else True
    return found


def say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


class Server:
    """The MCP server that the config names."""

    def __init__(self, config: dict[str, Any]) -> None:
        ((self.name, how),) = config["mcpServers"].items()
        self.process = subprocess.Popen([how["command"], *how["args"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.number = 0
        assert "error" in self.ask("server/discover", {})
        asked = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-code"}}
        assert self.ask("initialize", asked)["result"]["protocolVersion"] == "2025-11-25"
        self.tell({"jsonrpc": "2.0", "method": "notifications/initialized"})
        self.tools = self.ask("tools/list", {})["result"]["tools"]

    def tell(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        self.number += 1
        self.tell({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise ConnectionError("the MCP server is gone")
        answer = json.loads(line)
        assert answer["id"] in (self.number, None), answer
        return answer

    def call(self, block: Block) -> tuple[Any, bool]:
        name = block["name"].removeprefix(f"mcp__{self.name}__")
        meta = {"claudecode/toolUseId": block["id"], "progressToken": self.number + 1}
        answer = self.ask("tools/call", {"name": name, "arguments": block["input"], "_meta": meta})
        if "error" in answer:
            return f"MCP error: {answer['error']['message']}", True
        return answer["result"]["content"], answer["result"]["isError"]


class EndpointError(Exception):
    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status
        self.words = words


class Session:
    """From the start of the process to its end."""

    def __init__(self, options: dict[str, Any], environment: dict[str, str]) -> None:
        self.options = options
        self.environment = environment
        self.id = str(uuid.uuid4())
        home = environment["HOME"]
        self.slug = re.sub(r"[^a-zA-Z0-9]", "-", os.getcwd())
        self.running = os.path.join(home, ".claude", "sessions", f"{os.getpid()}.json")
        self.put(self.running, "{}")
        self.put(os.path.join(home, ".claude.json"), "{}")
        with open(options["--system-prompt-file"], encoding="utf-8") as file:
            self.system = file.read()
        self.server: Server | None = None
        if "--mcp-config" in options:
            with open(options["--mcp-config"], encoding="utf-8") as file:
                self.server = Server(json.load(file))
            cache = environment.get("XDG_CACHE_HOME") or os.path.join(home, ".cache")
            logs = os.path.join(cache, "claude-cli-nodejs", self.slug, f"mcp-logs-{self.server.name}")
            self.put(os.path.join(logs, "log.jsonl"), "{}\n")
        self.transcript = ""
        if "--no-session-persistence" not in options or "FAKE_PERSISTS" in environment:
            place = environment.get("FAKE_PERSISTS") or os.path.join(home, ".claude", "projects", self.slug)
            self.transcript = os.path.join(place, f"{self.id}.jsonl")
        self.messages: list[dict[str, Any]] = []

    def put(self, path: str, text: str) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)

    def end(self) -> None:
        if os.path.exists(self.running):
            os.unlink(self.running)

    @property
    def tools(self) -> list[dict[str, Any]]:
        tools = self.server.tools if self.server else []
        prefix = f"mcp__{self.server.name}__" if self.server else ""
        return [
            {"name": prefix + tool["name"], "description": tool["description"], "input_schema": tool["inputSchema"]}
            for tool in tools
        ]

    def note(self, kind: str, content: list[Block]) -> None:
        """A line of the transcript, where there is one."""
        if self.transcript:
            entry: dict[str, Any] = {"type": kind, "uuid": str(uuid.uuid4()), "sessionId": self.id, "cwd": os.getcwd()}
            stop = {"stop_reason": "end_turn"} if kind == "assistant" else {}
            message = {"role": kind, "content": content, **stop}
            entry |= {"message": message, "timestamp": "2026-10-16T07:40:18.000Z", "version": "2.1.325"}
            self.put(self.transcript, json.dumps(entry) + "\n")

    def round(self, content: list[Block]) -> int:
        """A message of the user, to the end of what the model makes of it."""
        self.note("user", content)
        allowed = [tool["name"] for tool in self.tools]
        say(
            type="system",
            subtype="init",
            session_id=self.id,
            tools=allowed,
            cwd=os.getcwd(),
            model=self.options["--model"],
        )
        self.messages.append({"role": "user", "content": content})
        try:
            while True:
                message = self.request()
                self.messages.append({"role": "assistant", "content": message["content"]})
                for block in message["content"]:
                    say(
                        type="assistant",
                        message=message | {"content": [block], "stop_reason": None},
                        session_id=self.id,
                    )
                self.note("assistant", message["content"])
                calls = [block for block in message["content"] if block["type"] == "tool_use"]
                if not calls:
                    break
                results = [self.result(block) for block in calls]
                self.messages.append({"role": "user", "content": results})
                say(type="user", message=self.messages[-1], session_id=self.id)
        except EndpointError as error:
            kind = KINDS.get(error.status, "unknown")
            text = [{"type": "text", "text": error.words}]
            synthetic = {"role": "assistant", "model": "<synthetic>", "content": text}
            say(type="assistant", message=synthetic, error=kind, session_id=self.id)
            reason = "prompt_too_long" if "too long" in error.words else "api_error"
            status = error.status or None
            fields = {"is_error": True, "api_error_status": status, "terminal_reason": reason, "result": error.words}
            say(type="result", subtype="success", session_id=self.id, **fields)
            return 1
        said = "".join(block["text"] for block in message["content"] if block["type"] == "text")
        say(type="result", subtype="success", is_error=False, result=said, session_id=self.id)
        return 0

    def result(self, block: Block) -> Block:
        if block["name"] not in [tool["name"] for tool in self.tools]:
            words = f"<tool_use_error>Error: No such tool available: {block['name']}</tool_use_error>"
            return {"type": "tool_result", "tool_use_id": block["id"], "content": words, "is_error": True}
        assert self.server is not None
        content, is_error = self.server.call(block)
        result = {"type": "tool_result", "tool_use_id": block["id"], "content": content}
        return result | {"is_error": True} if is_error else result

    def request(self) -> dict[str, Any]:
        """One message of the model, passed on event by event."""
        key = self.environment.get("ANTHROPIC_API_KEY")
        if not key:
            say(type="assistant", message={"role": "assistant", "content": []}, error="authentication_failed")
            raise EndpointError(0, "Not logged in \u00b7 Please run /login")
        body = {
            "model": self.options["--model"],
            "max_tokens": int(self.environment["CLAUDE_CODE_MAX_OUTPUT_TOKENS"]),
            "system": [
                {"type": "text", "text": "You are a Claude agent, built on Anthropic's Claude Agent SDK."},
                {"type": "text", "text": self.system, "cache_control": {"type": "ephemeral"}},
            ],
            "messages": self.messages,
            "output_config": {"effort": self.options["--effort"]},
            "stream": True,
        }
        if self.tools:
            body["tools"] = self.tools
        headers = {"content-type": "application/json", "x-api-key": key, "anthropic-version": "2023-06-01"}
        url = self.environment["ANTHROPIC_BASE_URL"] + "/v1/messages"
        asked = urllib.request.Request(url, json.dumps(body).encode(), headers)  # noqa: S310 - a test's own server
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(asked) as response:
                return self.streamed(response)
        except urllib.error.HTTPError as error:
            with error:
                words = json.load(error)["error"]["message"]
            raise EndpointError(error.code, f"API Error: {error.code} {words}") from error
        except (OSError, ValueError) as error:
            raise EndpointError(0, "API Error: Connection to the API was lost (ECONNRESET).") from error

    def streamed(self, response: Iterable[bytes]) -> dict[str, Any]:
        message: dict[str, Any] = {}
        blocks: dict[int, Block] = {}
        for line in response:
            if not line.startswith(b"data:"):
                continue
            event = json.loads(line[5:])
            say(type="stream_event", event=event, session_id=self.id, parent_tool_use_id=None)
            if event["type"] == "message_start":
                message = event["message"]
            elif event["type"] == "content_block_start":
                blocks[event["index"]] = dict(event["content_block"])
            elif event["type"] == "content_block_delta":
                self.extend(blocks[event["index"]], event["delta"])
            elif event["type"] == "message_stop":
                return message | {"content": [self.finished(blocks[index]) for index in sorted(blocks)]}
        raise EndpointError(0, "API Error: Connection to the API was lost (ECONNRESET).")

    def extend(self, block: Block, delta: dict[str, Any]) -> None:
        key = {"text_delta": "text", "input_json_delta": "partial_json", "thinking_delta": "thinking"}.get(
            delta["type"]
        )
        key = key or "signature"
        block[key] = block.get(key, "") + delta[key]

    def finished(self, block: Block) -> Block:
        if block["type"] == "tool_use":
            block["input"] = json.loads(block.pop("partial_json", "") or "{}")
        return block


def main() -> int:
    environment = dict(os.environ)
    if sys.argv[1:] == ["--version"]:
        print(environment.get("FAKE_VERSION", "2.1.325 (Claude Code)"))
        return 0
    options = options_of(sys.argv[1:])
    session = Session(options, environment)

    def on_term(*_: object) -> None:
        session.end()
        os._exit(143)

    signal.signal(signal.SIGTERM, on_term)
    match environment.get("FAKE_FAULT", ""):
        case "deaf":
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.pause()
        case "crash":
            sys.stderr.write("TypeError: undefined is not a function\n")
            session.end()
            os._exit(3)
        case "garbage":
            sys.stdout.write("\0\0 not json\n[1]\n{}\n" + json.dumps({"type": "new"}) + "\n")
        case "endless":
            with suppress(BrokenPipeError):  # who reads it may be gone before it hears that it is to end
                while True:
                    sys.stdout.write("x" * 1_000_000)
            on_term()
        case "mute":
            sys.stdin.readline()
            say(type="result", subtype="success", is_error=False, result="")
            signal.pause()
        case words if words.startswith("says:"):
            sys.stdin.readline()
            result = {"is_error": True, "api_error_status": None, "result": words.removeprefix("says:")}
            say(type="result", subtype="success", **result)
            session.end()
            return 1
    code = 0
    for line in sys.stdin:
        code = session.round(json.loads(line)["message"]["content"])
    session.end()
    return code


if __name__ == "__main__":
    sys.exit(main())
