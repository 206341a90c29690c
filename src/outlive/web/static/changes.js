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
  return [sentence(previous, job.exit_code), " ", h("button", { onclick: compare }, "Compare"), " ",
    h("a", { href: `${page.base}job/${previous.job_id}`, onclick: (event) => page.follow(event, `job/${previous.job_id}`) }, "Open it")];
}

// The lines that are new, each of which leads to its place, and those that are gone
export async function showChanges(pane, id, toLine, signal) {
  const answer = await run("log", { job_id: id, compare: true, max_bytes: 262144 }, signal);
  const lines = answer.output.split("\n").filter(Boolean);
  const border = lines.findIndex((line) => line.startsWith("[")); // the others begin with their number
  const rows = (some) => some.map((line) => [Number.parseInt(line, 10), line.slice(line.indexOf(":") + 1)]);
  const texts = (line, text) => [h("span", { class: "number" }, number(line)), h("span", { class: "text" }, visible(text).slice(0, 300))];
  const fresh = answer.compared ? rows(border < 0 ? lines : lines.slice(0, border)) : [];
  const gone = answer.compared && border >= 0 ? rows(lines.slice(border + 1)) : [];
  pane.hidden = false;
  patch(pane, h("div", { class: "found-head" }, h("h2", {}, `New: ${kinds(answer.compared?.new ?? 0)}`),
    h("button", { class: "quiet", "aria-label": "Close the comparison", onclick: () => { pane.hidden = true; } }, "✕")),
    answer.hint ? h("p", { class: "dim" }, named(answer.hint)) : null,
    h("ol", {}, fresh.map(([line, text]) => h("li", {}, h("button", { class: "quiet", onclick: () => toLine(line) }, texts(line, text))))),
    answer.compared?.gone ? [h("h2", {}, `Gone: ${kinds(answer.compared.gone)}`),
      h("ol", { class: "gone" }, gone.map(([line, text]) => h("li", {}, texts(line, text))))] : null);
}
