// The host of this view: messages to it and from it (MCP Apps, 2026-01-26), and calls of the server
// through it. Takes the place of api.js.

import { Refused } from "../polling.js";

const PROTOCOL = "2026-01-26";
const ANSWER_MS = 30_000; // a host that is silent for so long has lost the call
const MOST_FAILURES = 4; // of calls one after the other, which a server that is started again may cost
const WAIT_MS = 5000; // of a long poll: a host may let the model's next call wait behind it
const CONTROLS = new Set(["keyboard", "type"]);
const READS = new Set(["events", "list", "log", "poll", "screen", "status", "usage", "wait"]);

const open = new Map(); // id → { resolve, reject }
const handlers = new Map(); // method → function of its parameters; what it returns is the answer to a request
let last = 0;
let failures = 0;
let origin = "*"; // of the host, once it has answered: another page in its place is sent nothing
export const host = { hostCapabilities: {}, hostContext: {} };

addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== parent || parent === window || message?.jsonrpc !== "2.0") return;
  if (origin !== "*" && event.origin !== origin) return;
  if (message.method) taken(message);
  else if (open.has(message.id)) {
    if (event.origin !== "null") origin = event.origin;
    const { resolve, reject } = open.get(message.id);
    if (message.error) reject(Object.assign(new Error(message.error.message ?? "refused"), { code: message.error.code }));
    else resolve(message.result);
  }
});

function taken({ id, method, params }) {
  const handler = handlers.get(method) ?? (method === "ping" ? () => ({}) : null);
  let result = null;
  try {
    result = handler?.(params ?? {}) ?? {};
  } catch {
    return id === undefined ? undefined : post({ id, error: { code: -32602, message: "Invalid params" } });
  }
  if (id === undefined) return undefined;
  return post(handler ? { id, result } : { id, error: { code: -32601, message: "Method not found" } });
}

function post(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, origin);
}

export function on(method, handler) {
  handlers.set(method, handler);
}

export function notify(method, params = {}) {
  post({ method, params });
}

// One request to the host. Errors: Error with the code of its error; AbortError.
export function request(method, params = {}, signal = undefined) {
  last += 1;
  const id = last;
  return new Promise((resolve, reject) => {
    const give = (ends) => (value) => {
      open.delete(id);
      clearTimeout(timer);
      signal?.removeEventListener("abort", gone);
      ends(value);
    };
    const stop = give(reject);
    const gone = () => {
      notify("notifications/cancelled", { requestId: id });
      stop(new DOMException("", "AbortError"));
    };
    const timer = setTimeout(() => stop(new Error("the host does not answer")), ANSWER_MS);
    open.set(id, { resolve: give(resolve), reject: stop });
    if (signal?.aborted) return stop(new DOMException("", "AbortError"));
    signal?.addEventListener("abort", gone);
    return post({ id, method, params });
  });
}

export async function begin(version) {
  Object.assign(host, await request("ui/initialize", {
    appInfo: { name: "outlive", version },
    appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
    protocolVersion: PROTOCOL,
  }));
  notify("ui/notifications/initialized");
}

export function asksServer() {
  return Boolean(host.hostCapabilities?.serverTools);
}

// One call of the server. Errors: Refused with the server's error object, or status 0 and the words of the
// host; Error, after which it may be tried again; AbortError.
export async function call(method, given = {}, signal = undefined) {
  const controls = CONTROLS.has(method) || (method === "process" && !READS.has(given.action));
  const asked = given.wait_ms > WAIT_MS ? { ...given, wait_ms: WAIT_MS } : given;
  if (!asksServer()) throw refusal("this host does not let it ask the server");
  let answer;
  try {
    answer = await request("tools/call", { name: controls ? "job_control" : "job_view", arguments: { method, given: asked } }, signal);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    failures += 1;
    if (controls || error.code === -32601 || failures >= MOST_FAILURES) throw refusal(error.message);
    throw error;
  }
  const found = answer?.structuredContent;
  if (found?.ok) {
    failures = 0;
    return found;
  }
  if (!found?.error) throw refusal((answer?.content ?? []).map((part) => part.text ?? "").join(" ") || "it gave no reason");
  throw new Refused({ job_not_found: 404, internal_error: 500 }[found.error.code] ?? 409, found.error);
}

function refusal(why) {
  return new Refused(0, { code: "host", message: why });
}

export function run(action, given = {}, signal = undefined) {
  return call("process", { action, ...given }, signal);
}
