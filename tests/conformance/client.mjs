// A client of one of the TypeScript SDKs, driven over stdin and stdout by lines of JSON:
//   {"tools": true} is answered with the names of the tools, {"name": …, "arguments": …} with the result of the call.
// The one argument says how to connect: package ("sdk": 1.x, "client": its successor), era, transport, and
// command and env (stdio) or url and token. The first line of the output is what was negotiated.
import { createInterface } from "node:readline";

const how = JSON.parse(process.argv[2]);
const about = { name: "typescript", version: "1" };
const old = how.package === "sdk";
const room = `@modelcontextprotocol/${how.package}`;

async function transport() {
  if (how.transport === "stdio") {
    const { StdioClientTransport } = await import(old ? `${room}/client/stdio.js` : `${room}/stdio`);
    const [command, ...args] = how.command;
    return new StdioClientTransport({ command, args, env: how.env, stderr: "inherit" });
  }
  const requestInit = { headers: { Authorization: `Bearer ${how.token}` } };
  if (how.transport === "sse") {
    const { SSEClientTransport } = await import(old ? `${room}/client/sse.js` : room);
    return new SSEClientTransport(new URL(how.url), { requestInit });
  }
  const { StreamableHTTPClientTransport } = await import(old ? `${room}/client/streamableHttp.js` : room);
  return new StreamableHTTPClientTransport(new URL(how.url), { requestInit });
}

function say(found) {
  process.stdout.write(JSON.stringify(found) + "\n");
}

const { Client } = await import(old ? `${room}/client/index.js` : room);
const mode = how.era === "modern" ? { pin: "2026-07-28" } : "legacy";
const client = new Client(about, old ? {} : { versionNegotiation: { mode } });
await client.connect(await transport());
say({ server: client.getServerVersion().name, version: client.getNegotiatedProtocolVersion?.() ?? null });
for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  say(asked.tools ? (await client.listTools()).tools.map((tool) => tool.name) : await client.callTool(asked));
}
await client.close();
