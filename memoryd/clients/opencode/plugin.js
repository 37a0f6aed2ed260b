// Made by memoryd setup; memoryd uninstall removes it.
// Each prompt gets what is remembered about it. Whatever goes wrong, opencode goes on without it.
import { execFile } from "node:child_process"

const COMMAND = ["memoryd"]
const CHANGING = ["bash", "edit", "write", "patch"]

const hook = (event, given) =>
  new Promise((resolve) => {
    const [program, ...rest] = COMMAND
    const child = execFile(program, [...rest, "hook", event, "--client", "opencode"], { timeout: 5000 }, (error, text) => {
      try {
        resolve(error || !text ? {} : JSON.parse(text))
      } catch {
        resolve({})
      }
    })
    child.stdin?.on("error", () => {})
    child.stdin?.end(JSON.stringify(given))
  })

export const Memoryd = async ({ directory }) => {
  const session = (id) => ({ session_id: id, cwd: directory })
  const begun = new Map() // what is told about a session that begins goes with its first prompt
  const begin = (id, source) => begun.set(id, hook("session-created", { ...session(id), source }))
  return {
    event: async ({ event }) => {
      const id = event.properties?.sessionID
      if (event.type === "session.created" && !event.properties?.info?.parentID) begin(id, "startup")
      if (event.type === "session.compacted") begin(id, "compact")
      if (event.type === "session.idle") await hook("session-idle", session(id))
    },
    "chat.message": async (input, output) => {
      const said = output.parts.find((part) => part.type === "text" && !part.synthetic)
      if (!said) return
      const first = (await begun.get(said.sessionID))?.context
      begun.delete(said.sessionID)
      const found = (await hook("chat-message", { ...session(said.sessionID), prompt: said.text })).context
      const text = [first, found].filter(Boolean).join("\n")
      const { sessionID, messageID } = said
      const id = "prt_zzmemoryd" + Date.now().toString(36)
      if (text) output.parts.push({ id, sessionID, messageID, type: "text", synthetic: true, text })
    },
    "tool.execute.before": async (input, output) => {
      if (!CHANGING.includes(input.tool)) return
      const call = { tool_name: input.tool, tool_input: output.args, tool_use_id: input.callID }
      const { refusal } = await hook("tool-execute-before", { ...session(input.sessionID), ...call })
      if (refusal) throw new Error(refusal)
    },
  }
}
