// What changed since the run before.

import { run } from "./api.js";
import { ago, h, named, number, patch, visible } from "./dom.js";

const failures = (count) => (count === 1 ? "failure" : "failures");
const kinds = (count) => `${number(count)} ${count === 1 ? "kind" : "kinds"} of lines`;

// One sentence about the run before
function sentence(previous, exitCode) {
  const { exit_code: code, ago_ms: ms, gone, new: fresh } = previous;
  const how = code === null ? "did not exit by itself" : `exited ${code}${code === exitCode ? " too" : ""}`;
  let changes = "";
  if (gone === 0 && fresh === 0) changes = ": the same failures";
  else if (gone === 0) changes = `: ${number(fresh)} new ${failures(fresh)}`;
  else if (gone) changes = `: ${number(gone)} ${failures(gone)} gone${fresh ? `, ${number(fresh)} new` : ""}`;
  return `The run before, ${ago(Date.now() - ms)}, ${how}${changes}.`;
}

// That sentence as parts of a notice, with a link to that run and a button that compares
export function previousRun(job, page, compare) {
  const { previous } = job;
  return [sentence(previous, job.exit_code), " ", h("button", { onclick: compare }, "Compare"), " ", page.link("a", `job/${previous.job_id}`, "Open it")];
}

export function paneHead(title, label, close) {
  return h("div.found-head", h("h2", title), h("button.quiet", { "aria-label": label, onclick: close }, "✕"));
}

// Lines [number, text]; a click picks one by its place among them
export function lineList(lines, pick, now = -1) {
  const texts = ([line, text]) => [h("span.number", number(line)), h("span.text", visible(text).slice(0, 300))];
  return h(pick ? "ol" : "ol.gone", lines.map((line, at) => h("li", pick ? h(`button.quiet${at === now ? ".now" : ""}`, { onclick: () => pick(at) }, texts(line)) : texts(line))));
}

// The lines that are new, each of which leads to its place, and those that are gone
export async function showChanges(pane, id, toLine, signal) {
  const { output, compared, hint } = await run("log", { job_id: id, compare: true, max_bytes: 262144 }, signal);
  const lines = compared ? output.split("\n").filter(Boolean) : [];
  const border = lines.findIndex((line) => line.startsWith("[")); // the others begin with their number
  const rows = (some) => some.map((line) => [Number.parseInt(line, 10), line.slice(line.indexOf(":") + 1)]);
  const fresh = rows(border < 0 ? lines : lines.slice(0, border));
  pane.hidden = false;
  patch(pane, paneHead(`New: ${kinds(compared?.new ?? 0)}`, "Close the comparison", () => { pane.hidden = true; }),
    hint && h("p.dim", named(hint)), lineList(fresh, (at) => toLine(fresh[at][0])),
    compared?.gone ? [h("h2", `Gone: ${kinds(compared.gone)}`), lineList(border < 0 ? [] : rows(lines.slice(border + 1)))] : null);
}
