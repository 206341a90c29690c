// Starting a command from the page, and deleting jobs.

import { call, run } from "./api.js";
import { ask, bytes, counted, cut, one, plainWords, toast, tried } from "./dom.js";

const AT_ONCE = 400; // jobs that a call deletes

// Ask for a command, with what another job says of it → the id of its job, if it was started
export async function startCommand(job = {}) {
  const given = await ask("run", {
    command: plainWords(job.command), cwd: job.cwd ?? "", title: job.title ?? "", pty: job.pty ?? false,
    sandbox: job.sandbox?.mode ?? "", timeout: job.timeout_ms ? job.timeout_ms / 1000 : "", memory: job.resources?.memory ?? "",
  });
  if (!given) return null;
  const { command, cwd: workdir, title, pty, sandbox, timeout, memory } = given;
  const chosen = { command, workdir, title, pty, sandbox, timeout: Number(timeout), resources: memory && { memory } };
  return tried(async () => (await run("spawn", Object.fromEntries(Object.entries(chosen).filter(([, value]) => value)))).job_id);
}

// Delete those of these jobs that have ended, once a person has read what that frees → whether they are gone
export async function deleteJobs(ids, what) {
  const each = async (dry_run) => {
    let jobs = 0, freed = 0;
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const { deleted, freed_bytes } = await call("delete", { jobs: ids.slice(at, at + AT_ONCE), dry_run });
      jobs += deleted;
      freed += freed_bytes;
    }
    return jobs && `${counted(jobs, "job")}, ${bytes(freed)}`;
  };
  return tried(async () => {
    const would = await each(true);
    if (!would) toast("None of them has ended");
    else if (await ask("delete", { what: cut(one(what), 200), would })) {
      toast(`Deleted: ${await each(false)}`, "good");
      return true;
    }
    return false;
  });
}
