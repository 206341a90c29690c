// Jobs in order: the chain that a job is in, as boxes with arrows, and the line in which it waits for its turn.

import { base } from "./api.js";
import { condition, h, named, nth, number, one, standing } from "./dom.js";
import { about, jobs, needing } from "./jobs.js";

const MOST = 60; // boxes of one picture
const IN_ROW = 4, IN_COLUMN = 2; // boxes of one row of the list, and of a column of it
const WIDTH = 168, HEIGHT = 46, ACROSS = 40, LABELLED = 104, DOWN = 10; // of a box, and between two, in pixels

// The jobs that are joined to this one, with what each needs: {id → [{ job_id, name, text, holds }]}
function joined(id) {
  const found = new Map(), left = [id];
  while (left.length && found.size < MOST) {
    const next = left.shift();
    if (found.has(next)) continue;
    const needs = new Map(); // of several conditions for one job, all
    for (const { job_id: other, name, condition: text, holds } of jobs.get(next)?.needs ?? []) {
      const before = needs.get(other);
      needs.set(other, { job_id: other, name, text: [before?.text, text].filter(Boolean).join(", "), holds: holds && before?.holds !== false });
    }
    found.set(next, [...needs.values()]);
    left.push(...needs.keys(), ...[...needing.get(next) ?? []].filter((other) => jobs.has(other)));
  }
  return found;
}

// The ids in columns: each behind all that it needs
function columnsOf(found) {
  const depths = new Map(), columns = [];
  const depth = (id) => {
    if (!depths.has(id)) {
      depths.set(id, 0); // what is spoilt may be a circle
      depths.set(id, Math.max(0, ...found.get(id).filter((need) => found.has(need.job_id)).map((need) => depth(need.job_id) + 1)));
    }
    return depths.get(id);
  };
  for (const id of [...found.keys()].sort()) (columns[depth(id)] ??= []).push(id);
  return [...columns].map((column) => column ?? []);
}

const nameOf = (id, found) => one(jobs.get(id)?.name ?? [...found.values()].flat().find((need) => need.job_id === id)?.name ?? id.slice(-8).toLowerCase());

function box(id, name, here, after = "", tag = "a.box") {
  const job = jobs.get(id), gone = { kind: "idle", icon: "–", text: about.left ? "not read" : "deleted" };
  const { kind, icon, text: how } = job ? condition(job) : gone, text = job?.waits && job.state === "created" ? "waits" : how;
  return h(job || about.left ? tag : tag.replace("a", "span"), {
    class: `${tag.split(".")[1]} ${kind}`, href: job || about.left ? `${base}job/${id}` : null, title: `${name}: ${text}${after && `, ${after}`}`,
    "aria-current": id === here ? "true" : null, draggable: "false", tabIndex: tag === "a.box" ? null : -1,
  }, h("span.called", name), " ", h("span.word", h("span.icon", { "aria-hidden": "true" }, icon), text), after && h("span.for-readers", `, ${after}`));
}

const afterWhat = (id, found) => {
  const needs = found.get(id).map((need) => `${nameOf(need.job_id, found)}${need.text && ` (${need.text})`}`).join(", ");
  return needs && `after ${needs}`;
};

// In a row of the list: the columns around the job, as many as there is room for
export function strip(id) {
  const found = joined(id);
  if (found.size < 2) return null;
  const columns = columnsOf(found), at = columns.findIndex((column) => column.includes(id));
  let first = at, last = at + 1;
  const fits = (from, to) => from >= 0 && to <= columns.length && columns.slice(from, to).reduce((sum, { length }) => sum + Math.min(length, IN_COLUMN), 0) <= IN_ROW;
  for (let more = true; more;) {
    more = false;
    if (fits(first - 1, last)) { first -= 1; more = true; }
    if (fits(first, last + 1)) { last += 1; more = true; }
  }
  const some = (column) => (column.length > IN_COLUMN && column.includes(id) ? [id, ...column.filter((other) => other !== id)] : column).slice(0, IN_COLUMN);
  return h("span.chain", { role: "group", "aria-label": "Chain" }, first > 0 && "…",
    columns.slice(first, last).map((column, place) => [place + first > 0 && h("span.arrow", { "aria-hidden": "true" }, "→"), some(column).map((other) => box(other, nameOf(other, found), id, afterWhat(other, found), "a.small")), column.length > IN_COLUMN && `+${column.length - IN_COLUMN}`]),
    last < columns.length && "→ …");
}

// Where the boxes are: cells by their keys, { column, row }, and the joins between two in neighbouring columns. A join that
// passes a column has a cell of its own there.
function placed(found) {
  const columns = columnsOf(found), cells = new Map(), joins = [];
  const add = (key, column) => cells.set(key, { key, column, from: [] }).get(key);
  columns.forEach((column, at) => column.forEach((key) => add(key, at)));
  const passing = (key, column) => cells.get(key) ?? (columns[column].push(key), add(key, column));
  for (const [id, needs] of found) {
    const end = cells.get(id);
    for (const { job_id: other, holds } of needs) {
      let before = cells.get(other);
      for (let column = before ? before.column + 1 : Infinity; column <= end.column; column += 1) {
        const next = column < end.column ? passing(`${other} ${column}`, column) : end;
        next.from.push(before);
        joins.push({ before, next, holds });
        before = next;
      }
    }
  }
  const mean = ({ from }) => from.reduce((sum, { row }) => sum + row, 0) / (from.length || 1);
  for (const column of columns) column.sort((a, b) => mean(cells.get(a)) - mean(cells.get(b))).forEach((key, row) => { cells.get(key).row = row; });
  return { cells, joins, wide: columns.length, high: Math.max(...columns.map(({ length }) => length)) };
}

// A line to a cell, level, down or up, and level again: solid if what is waited for holds
function join({ before, next, holds }, { left, top, across }, isBox) {
  const x = left(before) + WIDTH, from = top(before) + HEIGHT / 2, to = top(next) + HEIGHT / 2;
  const bend = Math.min(across - 12, 8 + 6 * (before.row % 4)); // those of several rows beside each other
  const line = (at, y, width, height, how) => h(`span.join${how}${holds ? ".holds" : ""}`, { style: { left: `${at}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` } });
  return [line(x, from, bend, 0, ".flat"), from !== to && line(x + bend, Math.min(from, to), 0, Math.abs(to - from), ""),
    line(x + bend, to, across - bend + (isBox ? 0 : WIDTH), 0, isBox ? ".flat.tip" : ".flat")];
}

// On the page of a job: every box at its place, and the lines between them
export function picture(id) {
  const found = joined(id);
  if (found.size < 2) return null;
  const { cells, joins, wide, high } = placed(found);
  const labels = new Map([...found].map(([other, needs]) => [other, needs.map((need) => need.text).filter(Boolean).join(", ")]));
  const across = [...labels.values()].some(Boolean) ? LABELLED : ACROSS;
  const at = { across, left: (cell) => cell.column * (WIDTH + across), top: (cell) => cell.row * (HEIGHT + DOWN) };
  const item = (cell) => h("li", { "data-key": cell.key, style: { left: `${at.left(cell)}px`, top: `${at.top(cell)}px` } }, box(cell.key, nameOf(cell.key, found), id, afterWhat(cell.key, found)),
    labels.get(cell.key) && h("span.label", { "aria-hidden": "true", title: labels.get(cell.key), style: { width: `${across - 22}px` } }, named(labels.get(cell.key))));
  const boxes = [...cells.values()].filter((cell) => found.has(cell.key)).sort((a, b) => a.column - b.column || a.row - b.row);
  return h("div.boxes", h("p.dim", `Chain of ${number(found.size)}${found.size >= MOST ? " or more" : ""} jobs`),
    h("div.wide", h("div.picture", { style: { width: `${wide * (WIDTH + across) - across}px`, height: `${high * (HEIGHT + DOWN) - DOWN}px` } },
      h("div", { "aria-hidden": "true" }, joins.map((one) => join(one, at, found.has(one.next.key)))),
      h("ol", { "aria-label": "Chain: each job is behind those that it starts after" }, boxes.map(item)))));
}

// Who has the turns of the line that a job is in, and who waits, in order
export function line(id) {
  const { turns } = standing.get(id) ?? {};
  if (!turns) return null;
  const of = turns.waiting.length, own = turns.waiting.indexOf(id);
  const places = [...turns.waiting.entries()].filter(([at]) => at < MOST || at === own);
  const item = (other, place, key) => h("li", { "data-key": key }, h("span.nth", place ? `${nth(place)} of ${number(of)}` : "runs"),
    other ? box(other, one(jobs.get(other)?.name ?? other.slice(-8).toLowerCase()), id) : h("span.box.idle", h("span.called", "another job"), " ", h("span.word", "not on this page")));
  return h("div.boxes", h("p.dim", `${inWords(turns)} `, turns.held_back && h("strong", named(turns.held_back))),
    h("div.wide", h("ol.turns", { "aria-label": inWords(turns) }, turns.running.map((other, at) => item(other, 0, `runs ${other || at}`)), places.map(([at, other]) => item(other, at + 1, `waits ${other || at}`)),
      of > places.length && h("li.dim", `and ${number(of - places.length)} more`))));
}

export const inWords = (turns) => `Line for ${one(turns.name)}: ${number(turns.running.length)} of ${number(turns.at_once)} run, ${number(turns.waiting.length)} in line.`;
