// Made by memoryd setup; memoryd uninstall removes it.
// Each prompt gets what is remembered about it. Whatever goes wrong, pi goes on without it.
import { execFile } from "node:child_process";

const COMMAND: string[] = ["memoryd"];
const CHANGING = ["bash", "edit", "write"];

function hook(event: string, given: object): Promise<any> {
  return new Promise((resolve) => {
    const [program, ...rest] = COMMAND;
    const child = execFile(program, [...rest, "hook", event, "--client", "pi"], { timeout: 5000 }, (error, text) => {
      try {
        resolve(error || !text ? {} : JSON.parse(text));
      } catch {
        resolve({});
      }
    });
    child.stdin?.on("error", () => {});
    child.stdin?.end(JSON.stringify(given));
  });
}

function session(ctx: any): object {
  const file = ctx?.sessionManager?.getSessionFile?.() ?? "";
  const id = file.split("/").pop().replace(/\.jsonl$/, "").split("_").pop();
  return { session_id: id, transcript_path: file, cwd: ctx?.cwd ?? process.cwd() };
}

export default function (pi: any) {
  let begun = ""; // what is told about a session that begins goes with its first prompt
  const begin = async (source: string, ctx: any) => {
    begun = (await hook("session-start", { ...session(ctx), source })).context ?? "";
  };
  pi.on("session_start", (event: any, ctx: any) => begin(event.reason ?? "startup", ctx));
  pi.on("session_compact", (_event: any, ctx: any) => begin("compact", ctx));
  pi.on("session_before_compact", async (_event: any, ctx: any) => {
    await hook("session-before-compact", session(ctx));
  });
  pi.on("before_agent_start", async (event: any, ctx: any) => {
    const found = (await hook("before-agent-start", { ...session(ctx), prompt: event.prompt })).context ?? "";
    const content = [begun, found].filter(Boolean).join("\n");
    begun = "";
    return content ? { message: { customType: "memoryd-recall", content, display: false } } : undefined;
  });
  pi.on("tool_call", async (event: any, ctx: any) => {
    if (!CHANGING.includes(event.toolName)) return undefined;
    const call = { tool_name: event.toolName, tool_input: event.input, tool_use_id: event.toolCallId };
    const { refusal } = await hook("tool-call", { ...session(ctx), ...call });
    return refusal ? { block: true, reason: refusal } : undefined;
  });
  pi.on("agent_end", async (_event: any, ctx: any) => {
    await hook("agent-end", session(ctx));
  });
}
