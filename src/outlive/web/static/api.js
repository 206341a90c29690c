// Calls of the server. A page goes on by itself when the server comes back.

import { Refused } from "./polling.js";

const BASE = new URL("..", import.meta.url).pathname;
const STORED = `outlive-key:${BASE}`;
const given = document.querySelector('meta[name="outlive-key"]').content;

export const base = BASE;
export let connected = true;
const listeners = new Set();

export function begin() {
  // The key stays in storage that only pages of this origin, its port included, can read
  if (given) {
    localStorage.setItem(STORED, given);
    if (location.pathname.startsWith(`${BASE}open/`)) history.replaceState(null, "", BASE);
  }
  return localStorage.getItem(STORED);
}

// Let this browser in with a token of `outlive serve`
export async function login(token) {
  const { key } = await call("login", { token });
  localStorage.setItem(STORED, key);
}

export function forget() {
  localStorage.removeItem(STORED);
}

export function onConnection(listener) {
  listeners.add(listener);
}

function tell(now) {
  if (now === connected) return;
  connected = now;
  for (const listener of listeners) listener(now);
}

// One call. Errors: Refused with the server's error object; TypeError without a connection; AbortError.
export async function call(method, given = {}, signal = undefined) {
  let answer;
  try {
    answer = await fetch(`${BASE}api/${method}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Outlive-Key": localStorage.getItem(STORED) ?? "" },
      body: JSON.stringify(given),
      signal,
      cache: "no-store",
    });
  } catch (error) {
    if (error.name !== "AbortError") tell(false);
    throw error;
  }
  // An answer without an object is one of a server that ends, or of a proxy without one
  if (answer.status === 429 || (answer.status >= 500 && !answer.headers.get("content-type")?.includes("json"))) {
    tell(false);
    throw new TypeError("busy");
  }
  tell(true);
  let found;
  try {
    found = await answer.json();
  } catch {
    throw new Refused(answer.status, { code: "internal_error", message: `the server answered ${answer.status}` });
  }
  if (!found.ok) throw new Refused(answer.status, found.error);
  return found;
}

export function run(action, given = {}, signal = undefined) {
  return call("process", { action, ...given }, signal);
}

// Add a style sheet of this folder to the document
export function useStyles(path) {
  document.head.append(Object.assign(document.createElement("link"), { rel: "stylesheet", href: new URL(path, import.meta.url).href }));
}
