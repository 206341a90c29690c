// What stands beside the output of a job: [name, value], without what is not known.

import { OVER, age, begun, bytes, clock, duration, number, one } from "./dom.js";

const at = (time) => time && clock(Date.parse(time));
const words = (...parts) => parts.filter(Boolean).join(" · ");

export function factsOf(job, end, lines) {
  const { engine, queue, sandbox, usage } = job;
  return [
    ["exit code", job.exit_code], ["signal", job.signal], ["reason", job.reason], ["pid", job.state === "running" ? job.pid : null],
    ["started", at(begun(job))], [begun(job) ? "ended" : "given up", at(job.finished_at)], ["took", job.finished_at && age(job)],
    ["host", job.host ?? job.machine], ["engine", engine && words(engine.name, engine.job_id, engine.state)],
    ["queue", queue && !OVER.has(job.state) && words(queue.state, queue.reason)], ["may start", at(queue?.estimated_start)],
    ["out of reach", job.reachable === false && job.unreachable_since && `since ${at(job.unreachable_since)}`],
    ["sandbox", sandbox && `${sandbox.mode}, network ${sandbox.network}`],
    ["owner", job.owner], ["time limit", job.timeout_ms && duration(job.timeout_ms)],
    ["CPU time", usage && duration((usage.user_ms ?? 0) + (usage.system_ms ?? 0))], ["most memory", usage?.peak_memory_bytes && bytes(usage.peak_memory_bytes)],
    ["output", end === undefined ? null : bytes(end)], ["lines", lines && number(lines)],
    ["restarted from", job.restarted_from?.slice(-8).toLowerCase()],
  ].filter(([name, value]) => value || (value === 0 && name === "exit code"));
}

// An event in one line
export function said(event) {
  const words = [event.type.replaceAll("_", " ")];
  if (event.type === "finished") words.push(event.exit_code != null ? `exit ${event.exit_code}` : event.signal ?? event.reason ?? "");
  for (const name of ["line", "prompt", "signal", "by", "reason", "sink", "error"]) if (event[name] && event.type !== "finished") words.push(String(event[name]));
  return one(words.join(" · ")).slice(0, 160);
}
