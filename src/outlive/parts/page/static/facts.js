// What stands beside the output of a job.

import { age, bytes, clock, duration, number, one } from "./dom.js";

const KINDS = { at: (time) => clock(Date.parse(time)), ms: duration, bytes };

// [name, value]
export function factsOf(job, end, lines) {
  const found = (job.facts ?? []).map(([name, value, kind]) => [name, KINDS[kind]?.(value) ?? value]);
  if (job.finished_at) found.push(["took", age(job)]);
  if (end !== undefined) found.push(["output", bytes(end)]);
  return lines ? [...found, ["lines", number(lines)]] : found;
}

// An event in one line
export function said(event) {
  const words = [event.type.replaceAll("_", " ")];
  if (event.type === "finished") words.push(event.exit_code != null ? `exit ${event.exit_code}` : event.signal ?? event.reason ?? "");
  for (const name of ["line", "prompt", "signal", "by", "reason", "sink", "error"]) if (event[name] && event.type !== "finished") words.push(String(event[name]));
  return one(words.join(" · ")).slice(0, 160);
}
