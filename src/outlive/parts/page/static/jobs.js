// The jobs as the page knows them: kept up to date by one long poll, for whatever is shown. The newest and those
// that run are known at once, older ones as far as the list is scrolled.

import { call } from "./api.js";
import { standing } from "./dom.js";
import { forever, sleep } from "./polling.js";

export const jobs = new Map();
export const needing = new Map(); // id → the jobs that start after it
export const about = { root: "", total: 0, oldest: "", left: 0, loaded: false, refused: null }; // left: older ones that were not read
const AT_ONCE = 10_000;
const HIDDEN_MS = 6000; // between two answers that only notifications wait for
let wanted = AT_ONCE;
let list = "";
let next = 0;
let reading = false;

export function begin() {
  const signal = new AbortController().signal;
  forever(async () => {
    const found = await call("jobs", { after: next, list, wait_ms: about.loaded ? 25000 : 0 }, signal);
    take(found);
    readOlder();
    if (document.hidden) await sleep(HIDDEN_MS, signal);
  }, signal, (error) => {
    if (error.status !== 401) return true;
    about.refused = error.error;
    tell([]);
    return false;
  }, true);
}

// Read older jobs until so many are known
export function want(count) {
  wanted = Math.max(wanted, count);
  readOlder();
}

async function readOlder() {
  if (reading || document.hidden) return;
  reading = true;
  try {
    while (about.left && jobs.size < wanted) take(await call("jobs", { list, before: about.oldest }));
  } catch { /* the long poll sees to it */ }
  reading = false;
}

function take(found) {
  const changes = [], first = found.list !== list;
  if (first) {
    jobs.clear();
    needing.clear();
    list = found.list;
  }
  for (const job of found.jobs) {
    const before = jobs.get(job.job_id);
    if (before && found.next === undefined) continue; // what the long poll said of it is newer
    job.text = searched(job);
    jobs.set(job.job_id, job);
    for (const { job_id: other } of job.needs ?? []) needing.set(other, (needing.get(other) ?? new Set()).add(job.job_id));
    if (!first && found.next !== undefined) changes.push({ before, job });
  }
  for (const id of found.removed ?? []) jobs.delete(id);
  if (found.turns) stand(found.turns);
  next = found.next ?? next;
  about.root = found.root;
  about.total = found.total;
  about.loaded = true;
  if (found.oldest !== undefined) Object.assign(about, { oldest: found.oldest, left: found.left });
  tell(changes);
}

function stand(all) {
  standing.clear();
  for (const turns of all) for (const [some, first] of [[turns.running, null], [turns.waiting, 1]]) some.forEach((id, at) => standing.set(id, { turns, place: first && at + first }));
  standing.delete("");
}

// The window has an event "jobs" for whatever is new of them, and "job" for each that changed while this page looked on
function tell(changes) {
  dispatchEvent(new Event("jobs"));
  for (const detail of changes) dispatchEvent(new CustomEvent("job", { detail }));
}

function searched(job) {
  return [job.name, job.command, job.job_id, job.owner, job.cwd, job.state, job.reason, job.host, job.queue?.reason, job.sandbox?.mode, ...(job.tags ?? [])]
    .join("\n").toLowerCase();
}

// Running ones first, then the newest: ids sort by time
export function sorted(found) {
  const rank = (job) => (job.state === "running" || job.approval?.state === "pending" ? 1 : 0);
  return found.sort((a, b) => rank(b) - rank(a) || (a.job_id < b.job_id ? 1 : -1));
}

// What is typed into the filter: words that all have to be found; name:value looks in one place
export function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const tests = words.map((word) => {
    const [, place, value] = /^(state|tag|owner|session|cwd|name|host|line|exit|since):(.*)$/.exec(word) ?? [];
    if (place === "tag") return (job) => (job.tags ?? []).some((tag) => tag.toLowerCase() === value || tag.toLowerCase().startsWith(`${value}.`));
    if (place === "host") return (job) => (job.host ?? "local").toLowerCase() === value;
    if (place === "line") return (job) => standing.get(job.job_id)?.turns.name.toLowerCase() === value;
    if (place === "exit") return (job) => String(job.exit_code) === value;
    if (place === "since") {
      const [, count, unit] = /^(\d+)([mhd])$/.exec(value) ?? [0, 0, "m"], from = Date.now() - count * { m: 6e4, h: 36e5, d: 864e5 }[unit];
      return (job) => Date.parse(job.finished_at) >= from || !job.finished_at;
    }
    if (word === "is:failed") return groups.failed; // as list --failed
    if (place) return (job) => String(job[place] ?? "").toLowerCase().includes(value);
    return (job) => job.text.includes(word);
  });
  return (job) => tests.every((test) => test(job));
}

export const groups = {
  all: () => true,
  running: (job) => job.state === "running",
  asks: (job) => job.waiting_for_input || job.approval?.state === "pending",
  failed: (job) => job.failed,
};
