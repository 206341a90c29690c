// An MCP server on stdio in front of OpenClaw's own exec and process tools. Argument: its package.
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const { createOpenClawCodingTools } = await import(pathToFileURL(`${process.argv[2]}/dist/plugin-sdk/agent-harness.js`));
const made = createOpenClawCodingTools({ workspaceDir: process.cwd(), exec: { host: "gateway", security: "full", ask: "off" } });
const tools = new Map(made.filter((one) => ["exec", "process"].includes(one.name)).map((one) => [one.name, one]));
const answer = (id, result) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, result })}\n`);
const methods = {
  initialize: () => ({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "openclaw-exec", version: "0" } }),
  "tools/list": () => ({ tools: [...tools.values()].map((one) => ({ name: one.name, description: "", inputSchema: one.parameters })) }),
  "tools/call": async ({ name, arguments: given }, id) => {
    try {
      const found = await tools.get(name).execute(`call-${id}`, given);
      return { content: found.content, structuredContent: found.details };
    } catch (error) {
      return { content: [{ type: "text", text: String(error) }], isError: true };
    }
  },
};
createInterface({ input: process.stdin }).on("line", async (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id !== undefined) answer(id, await methods[method](params, id));
}).on("close", () => process.exit(0));
