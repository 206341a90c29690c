// Calls of the server. Each is sealed with a key that only this page and its server have, and so is its
// answer: another program that listens in the server's place can neither read nor answer it
// (docs/reference/page-api.md).

import { Refused, sleep } from "./polling.js";

const BASE = new URL("..", import.meta.url).pathname;
const STORED = `outlive-key:${BASE}`;
const RANDOM = 16; // bytes of each end
const utf8 = new TextEncoder();

export const base = BASE;
export let connected = true;
let tab = null; // { name, key, last }: what the calls of this page are sealed with
let joining = null;
let ended = null;

// --- secrets ---

const bytesOf = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (char) => char.charCodeAt(0));
const hex = (data) => Array.from(new Uint8Array(data), (byte) => byte.toString(16).padStart(2, "0")).join("");
const digest = (...parts) => new Blob(parts).arrayBuffer().then((data) => crypto.subtle.digest("SHA-256", data));

async function nameOf(secret) {
  return hex(await digest("outlive id\0", secret)).slice(0, 32);
}

async function keyOf(secret, purpose, ...parts) {
  const signing = await crypto.subtle.importKey("raw", secret, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
  const data = await new Blob([`outlive ${purpose}\0`, ...parts]).arrayBuffer();
  return crypto.subtle.importKey("raw", await crypto.subtle.sign("HMAC", signing, data), "AES-GCM", false, ["encrypt", "decrypt"]);
}

function sealing(direction, number) {
  const iv = new DataView(new ArrayBuffer(12));
  iv.setUint8(0, direction);
  iv.setBigUint64(4, BigInt(number));
  return { name: "AES-GCM", iv: iv.buffer };
}
const question = (number) => sealing(0, number), reply = (number) => sealing(1, number);

// Ask for a key by the name of a secret. Only a server that knows the secret can answer.
async function exchange(path, member, secret, more = async () => ({})) {
  const page = crypto.getRandomValues(new Uint8Array(RANDOM));
  const body = JSON.stringify({ [member]: await nameOf(secret), nonce: hex(page), ...await more(page) });
  const answer = await send(path, { "Content-Type": "application/json" }, body);
  if (answer.status !== 200) throw refusal(answer.status, await answer.json().catch(() => ({})));
  const data = await answer.arrayBuffer();
  const server = data.slice(0, RANDOM);
  const key = await keyOf(secret, path, page, server);
  try {
    const said = await crypto.subtle.decrypt(reply(0), key, data.slice(RANDOM));
    return { name: hex(server), key, last: 0, said: JSON.parse(new TextDecoder().decode(said)) };
  } catch {
    throw over();
  }
}

// Let this page in, by the link in its address or by what was kept. The address has the secret in its
// fragment, which browsers send to no server. Errors: Refused.
export async function begin() {
  if (!crypto.subtle) throw new Refused(0, { code: "denied", message: "The page needs HTTPS, or an address of this machine" });
  const [, link] = /^#link=([\w-]+)$/.exec(location.hash) ?? [];
  let refused = null;
  if (link) {
    history.replaceState(null, "", BASE);
    try {
      keep((await exchange("enter", "link", bytesOf(link))).said.key);
    } catch (error) {
      refused = error;
    }
  }
  if (!localStorage.getItem(STORED)) throw refused ?? refusal(401, {});
  try {
    await join();
  } catch (error) {
    throw refused ?? error;
  }
}

// Let this browser in with a token of `outlive serve`, which is sealed with its own hash
export async function login(token) {
  const hash = await digest(token);
  const { said } = await exchange("login", "token", hash, async (page) => {
    const key = await keyOf(hash, "token", page);
    const sealed = new Uint8Array(await crypto.subtle.encrypt(question(0), key, utf8.encode(token)));
    return { sealed: btoa(String.fromCharCode(...sealed)) };
  });
  keep(said.key);
}

// The key stays in storage that only pages of this address can read
function keep(key) {
  localStorage.setItem(STORED, key);
}

export function forget() {
  localStorage.removeItem(STORED);
}

function join() {
  joining ??= exchange("tab", "session", bytesOf(localStorage.getItem(STORED) ?? ""))
    .then((found) => { tab = found; }).finally(() => { joining = null; });
  return joining;
}

// --- calls ---

function tell(now) {
  if (now === connected) return;
  connected = now;
  dispatchEvent(new Event("connection"));
}

function refusal(status, found) {
  return new Refused(status, found.error ?? { code: "denied", message: status === 401 ? "This browser has not been let in" : `the server answered ${status}` });
}

// What answers is not the server of this page: nothing is sent any more
function over() {
  if (!ended) {
    ended = new Refused(401, { code: "ended", message: "The server of this page has ended" });
    dispatchEvent(new Event("ended"));
  }
  return ended;
}

async function send(path, headers, body, signal, priority) {
  let answer;
  try {
    answer = await fetch(`${BASE}api/${path}`, { method: "POST", headers, body, signal, priority, cache: "no-store", redirect: "error" });
  } catch (error) {
    if (error.name !== "AbortError") tell(false);
    throw error;
  }
  const { status } = answer;
  // An answer without a seal is one of a server that ends, or of a proxy without one
  if (status === 429 || (status >= 500 && answer.headers.get("content-type") !== "application/octet-stream")) {
    tell(false);
    throw new TypeError("busy");
  }
  return answer;
}

async function sent(method, given, signal, priority) {
  const { name, key } = tab;
  const number = ++tab.last;
  const body = await crypto.subtle.encrypt(question(number), key, utf8.encode(JSON.stringify({ method, given, gzip: true })));
  const answer = await send("call", { "X-Outlive-Tab": name, "X-Outlive-Number": String(number) }, body, signal, priority);
  if (answer.headers.get("content-type") !== "application/octet-stream") return { answer };
  const data = await answer.arrayBuffer();
  try {
    const said = await crypto.subtle.decrypt(reply(number), key, data);
    const packed = new Uint8Array(said)[0] === 0x1f; // gzip; JSON begins with a brace
    return { answer, found: await new Response(packed ? new Response(said).body.pipeThrough(new DecompressionStream("gzip")) : said).json() };
  } catch {
    throw over();
  }
}

// A browser opens six connections to a server: of all its pages, four calls may wait there. Others look again and
// again, behind what a person does, and rarely in a hidden tab
async function held(method, act, signal) {
  for (const slot of method === "jobs" ? [method] : [1, 2, 3]) {
    const done = await navigator.locks.request(`outlive-${slot}`, { ifAvailable: true }, async (lock) => lock && [await act({})]);
    if (done) return done[0];
  }
  let looks = 0;
  do await sleep(document.hasFocus() ? 300 : 1000, signal); while (document.hidden && !signal?.aborted && (looks += 1) < 20);
  return act({ wait_ms: 0 });
}

export function call(method, given = {}, signal) {
  const act = (more) => one(method, { ...given, ...more }, signal, given.wait_ms || method === "samples" ? "low" : "high");
  return given.wait_ms ? held(method, act, signal) : act();
}

// One call. Errors: Refused with the server's error object; TypeError without a connection; AbortError.
async function one(method, given, signal, priority) {
  if (ended) throw ended;
  const before = tab;
  let { answer, found } = await sent(method, given, signal, priority);
  if (answer.status === 401 && !found) { // it has forgotten this tab, or is another server
    try {
      if (tab === before) await join();
    } catch (error) {
      throw error instanceof Refused ? over() : error;
    }
    ({ answer, found } = await sent(method, given, signal, priority));
  }
  if (!found) throw answer.ok || answer.status === 401 ? over() : refusal(answer.status, {});
  tell(true);
  if (!found.ok) throw new Refused(answer.status, found.error);
  return found;
}

export function run(action, given = {}, signal) {
  return call("process", { action, ...given }, signal);
}
