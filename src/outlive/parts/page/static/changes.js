// What changed since the run before.

import { base, run } from "./api.js";
import { ago, begun, clock, condition, counted, duration, h, lasted, made, named, number, patch, visible } from "./dom.js";

const kinds = (count) => `${counted(count, "kind")} of lines`;

// What the server says of the run before, with a link to it and buttons that compare
export function previousRun({ job_id: id, said }) {
  const { whole, words, link } = made("previous");
  words.textContent = named(said);
  link.href = `${base}job/${id}`;
  return whole;
}

// Show lines [number, text] beside the output; a click picks one by its place among them
export function showPane(pane, title, lines, pick, { now = -1, more = null, close = () => { pane.hidden = true; }, after = null }) {
  pane.hidden = false;
  patch(pane, h("div.found-head", h("h2", title), h("button.quiet", { "aria-label": "Close", onclick: close }, "✕")), more,
    h("ol", lines.map((line, at) => h("li", h(`button.quiet${at === now ? ".now" : ""}`, { onclick: () => pick(at) }, texts(line))))), after);
  pane.querySelector(".now")?.scrollIntoView({ block: "nearest" });
}

const texts = ([line, text]) => [h("span.number", Number.isFinite(line) ? number(line) : line), h("span.text", visible(text).slice(0, 300))];

// The lines that are new since another run, each of which leads to its place, and those that are gone
export async function showChanges(pane, id, compare, toLine, signal) {
  const { output, compared, hint } = await run("log", { job_id: id, compare, max_bytes: 262144 }, signal);
  const lines = compared ? output.split("\n").filter(Boolean) : [];
  const border = lines.findIndex((line) => line.startsWith("[")); // the others begin with their number
  const rows = (some) => some.map((line) => [Number.parseInt(line, 10), line.slice(line.indexOf(":") + 1)]);
  const fresh = rows(border < 0 ? lines : lines.slice(0, border));
  const gone = border < 0 ? [] : rows(lines.slice(border + 1));
  showPane(pane, `New: ${kinds(compared?.new ?? 0)}`, fresh, (at) => toLine(fresh[at][0]), {
    more: [compared && h("p.dim", "since ", h("a", { href: `${base}job/${compared.job_id}` }, `the run ${ago(Date.now() - compared.ago_ms)}`)), hint && h("p.dim", named(hint))],
    after: compared?.gone && [h("h2", `Gone: ${kinds(compared.gone)}`), h("ol.gone", gone.map((line) => h("li", texts(line))))],
  });
}

// A bar for each run of the command, as high as it took long
export function runBars(runs, id) {
  const longest = Math.max(1, ...runs.map(lasted));
  return runs.map((run) => {
    const { kind, text } = condition(run), said = `${text}, took ${duration(lasted(run))}`;
    return h(`a.${kind}`, { href: `${base}job/${run.job_id}`, "aria-current": run.job_id === id ? "true" : null, title: `${clock(Date.parse(begun(run)))}: ${said}`, "aria-label": said },
      h("span", { style: { height: `${Math.max(4, (100 * lasted(run)) / longest)}%` } }));
  });
}
