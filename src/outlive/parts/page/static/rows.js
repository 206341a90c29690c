// The output of a job in a window: any of its rows, however many there are.
//
// Only the rows that are seen exist. Elements cannot be millions of pixels high, so beyond that the
// scroll bar is a scale: a large movement goes to its place on it, a small one moves by rows.

import { parts, show as showParts } from "./ansi.js";
import { clock, h, number, on, patch } from "./dom.js";

const HIGHEST = 6_000_000; // pixels; Firefox draws nothing beyond 17 million
const CHUNK = 200;
const MOST_KEPT = 12_000; // rows in memory

export class Rows {
  // load(row, count, signal) → an answer of the server; link(seq) → the address of a row, or null;
  // whole: what has the whole of a line that is too long to be shown
  total = 0;
  top = 0;
  last = 0;
  atEnd = true;
  marks = null;
  target = null; // the row that is pointed at
  aim = null; // the row gone to, until one scrolls: seen at any height
  tail = null; // rows without numbers, while lines are counted
  kept = new Map();
  asked = new Map(); // chunk → AbortController
  groups = new Map();
  folded = new Set();
  folds = [];
  layer = h("div.layer");
  space = h("div.space");
  element = h("div.rows", { tabIndex: 0, role: "region", "aria-label": "Output" }, this.space, this.layer);
  control = new AbortController();

  constructor({ load, link, whole = "Download has them all", onMove = () => {} }) {
    Object.assign(this, { load, link, whole, onMove });
    const { signal } = this.control;
    // What is pressed or selected does not move away under the hand
    on(this.element, "pointerdown", () => { this.pressed = this.atEnd; });
    addEventListener("pointerup", () => { if (this.pressed) { this.pressed = false; this.measure(); } }, { signal });
    on(document, "selectionchange", () => {
      const chosen = getSelection();
      if (!this.atEnd || chosen.isCollapsed || !this.layer.contains(chosen.anchorNode)) return;
      this.top = this.lastTop;
      this.atEnd = false;
      this.onMove();
    }, { signal });
    on(this.element, "scroll", () => this.scrolled(), { passive: true });
    this.watch = new ResizeObserver(() => { if (this.aim === null) this.draw(); else this.toRow(this.aim); });
    this.watch.observe(this.element);
  }

  close() {
    this.watch.disconnect();
    this.control.abort();
    this.clear();
  }

  get rowHeight() {
    this.height ??= parseFloat(getComputedStyle(this.element).lineHeight) || 18;
    return this.height;
  }

  get seen() {
    return Math.max(1, this.element.clientHeight / this.rowHeight);
  }

  // --- what is known ---

  clear() {
    this.kept.clear();
    for (const one of this.asked.values()) one.abort();
    this.asked.clear();
  }

  // Take an answer of the server, of rows that may have grown since
  take(found) {
    if (found.total_rows === null) {
      this.tail = found.rows;
      this.draw();
      return;
    }
    if (this.tail) {
      this.tail = null;
      this.clear();
    }
    if (found.total_rows < this.total) { this.clear(); this.total = 0; }
    this.kept.delete(this.total - 1); // perhaps half a line
    this.keep(found);
    if (this.kept.size > MOST_KEPT) this.drop();
    this.measure();
  }

  keep({ rows, first_row: first, total_rows: total }) {
    rows.forEach((row, at) => this.kept.set(first + at, row));
    this.total = Math.max(this.total, total);
  }

  drop() {
    for (const row of this.kept.keys()) if (Math.abs(row - this.rowAt(this.top)) > 2000 && row < this.total - 1000) this.kept.delete(row);
  }

  measure() {
    const digits = String(this.total).length;
    this.element.style.setProperty("--digits", Math.max(4, digits + Math.floor((digits - 1) / 3)));
    this.space.style.height = `${Math.min(this.count * this.rowHeight, HIGHEST)}px`;
    if (this.pressed) return;
    if (this.atEnd) this.toEnd();
    else this.draw();
  }

  // --- groups, of which some are folded: only their first row is shown, and `top` counts only what is ---

  // Groups [first row, last row]: all folded, or none
  group(groups, folded) {
    this.groups = new Map(groups);
    this.folded = new Set(folded ? this.groups.keys() : []);
    this.fold();
  }

  fold() {
    this.folds = [];
    for (const [head, last] of this.groups) if (this.folded.has(head) && head > (this.folds.at(-1)?.[1] ?? -1)) this.folds.push([head + 1, last]);
    this.measure();
  }

  get count() {
    return this.folds.reduce((left, [from, to]) => left - (to - from + 1), this.total);
  }

  rowAt(place) {
    let row = place;
    for (const [from, to] of this.folds) if (row >= from) row += to - from + 1; else break;
    return row;
  }

  // --- moving ---

  get range() {
    return this.element.scrollHeight - this.element.clientHeight;
  }

  get lastTop() {
    return Math.max(0, this.count - this.seen);
  }

  toEnd() {
    this.atEnd = true;
    this.top = this.lastTop;
    this.place(this.range);
    this.draw();
  }

  toRow(row, { point = false } = {}) {
    if (point) this.target = row;
    for (const [head, last] of this.groups) if (row > head && row <= last && this.folded.delete(head)) this.fold();
    const above = this.folds.reduce((hidden, [from, to]) => (row > to ? hidden + to - from + 1 : hidden), 0);
    this.to(row - above - Math.floor(this.seen / 3));
    this.aim = row;
  }

  by(rows) {
    this.to(this.top + rows, rows > 0);
  }

  // Make this the first row; `follow`: follow the end if it is the last that can be
  to(top, follow = false) {
    this.top = this.within(top);
    this.atEnd = follow && top >= this.lastTop;
    this.place(this.atEnd ? this.range : this.lastTop && (this.top / this.lastTop) * this.range);
    this.draw();
    this.onMove();
  }

  within(top) {
    return Math.max(0, Math.min(this.lastTop, top));
  }

  place(scroll) {
    this.element.scrollTop = scroll;
    this.last = this.element.scrollTop; // its own event finds nothing moved
    this.aim = null;
  }

  scrolled() {
    const now = this.element.scrollTop;
    const moved = now - this.last;
    if (Math.abs(moved) < 0.5) return;
    this.last = now;
    this.aim = null;
    if (now <= 0) this.top = 0;
    else if (this.count * this.rowHeight <= HIGHEST || Math.abs(moved) > 3 * this.element.clientHeight) this.top = this.range ? (now / this.range) * this.lastTop : 0;
    else this.top = this.within(this.top + moved / this.rowHeight);
    this.atEnd = now >= this.range - 2;
    this.draw();
    this.onMove();
  }

  // --- drawing ---

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    if (this.tail) {
      patch(this.layer, this.tail.slice(-Math.ceil(this.seen) - 1).map((row) => this.row(row, null)));
      this.layer.style.transform = `translateY(${Math.min(0, this.element.clientHeight - this.layer.offsetHeight)}px)`;
      return;
    }
    const isLast = this.atEnd || this.top >= this.lastTop;
    const first = Math.floor(isLast ? Math.max(0, this.count - this.seen - 1) : this.top);
    const shown = [];
    for (let at = first; at < Math.min(this.count, first + this.seen + 2); at += 1) shown.push(this.rowAt(at));
    this.need(shown);
    const style = { style: null }, found = shown.map((row) => this.row(this.kept.get(row), row, style));
    patch(this.layer, found);
    const height = this.layer.offsetHeight, room = this.element.clientHeight;
    const part = isLast ? 0 : (this.top - first) * (found[0]?.offsetHeight ?? this.rowHeight);
    const shift = isLast && height > room ? room - height : -part;
    this.layer.style.transform = `translateY(${this.element.scrollTop + shift}px)`;
  }

  row(data, row, style = { style: null }) {
    if (!data) return h("div.line.loading", h("span.number", "·"), h("span.text", " "));
    if (data.gap) {
      return h("div.line.gap", { role: "note" }, h("span.number", "⋯"),
        h("span.text", `${number(data.gap.lines)} lines (${number(data.gap.bytes)} bytes) are gone: the job printed more than its quota keeps`));
    }
    const [line, seq, runs, length, time, isExact] = data;
    const text = h("span.text");
    if (this.groups.has(row)) {
      const isFolded = this.folded.has(row);
      text.append(h("button.quiet.fold", { "aria-expanded": String(!isFolded), "aria-label": "Lines of this group", onclick: () => { this.folded[isFolded ? "delete" : "add"](row); this.fold(); } }, isFolded ? "▸" : "▾"));
    }
    showParts(text, parts(runs, style), this.marks);
    if (length) text.append(h("span.cut", ` … ${number(length)} bytes in this line; ${this.whole}`));
    const errors = runs.some((value, at) => at % 2 === 0 && value === 1);
    return h("div", { class: `line${errors ? " stderr" : ""}${row !== null && row === this.target ? " target" : ""}`, "data-seq": seq, "data-key": seq },
      h("a.number", { href: this.link(seq), tabIndex: -1, title: errors ? "stderr; link to this line" : "link to this line" }, line === null ? "" : number(line).replaceAll(",", "\u2009")),
      time && h("time", { title: isExact ? "when its first byte was printed" : "not before this time: when exactly is not recorded" }, `${isExact ? "" : "≥ "}${clock(time)}.${String(time % 1000).padStart(3, "0")}`), text);
  }

  need(rows) {
    const wanted = new Set(rows.filter((row) => !this.kept.has(row)).map((row) => Math.floor(row / CHUNK)));
    for (const [chunk, one] of this.asked) if (!wanted.has(chunk) && this.asked.size > 3) { one.abort(); this.asked.delete(chunk); }
    for (const chunk of wanted) if (!this.asked.has(chunk)) this.ask(chunk);
  }

  async ask(chunk) {
    const control = new AbortController();
    this.asked.set(chunk, control);
    try {
      const found = await this.load(chunk * CHUNK, CHUNK, control.signal);
      if (control.signal.aborted) return;
      this.asked.delete(chunk);
      if (found.total_rows === null) return;
      this.keep(found);
      this.measure();
    } catch (error) {
      if (control.signal.aborted) return;
      setTimeout(() => { this.asked.delete(chunk); this.draw(); }, 1000);
    }
  }
}
