// All jobs: what runs, what waits for a person, what ended how.

import { about, filter, groups, jobs, sorted, want } from "./jobs.js";
import { base } from "./api.js";
import { OVER, age, ago, badge, begun, bytes, condition, every, h, lasted, made, named, number, on, one, over, patch, press, shell, standing } from "./dom.js";
import { inWords, strip } from "./order.js";
import { inbox, nextQuestion, notifier } from "./questions.js";
import { deleteJobs, startCommand } from "./start.js";
import { cpuOf, small, watchUsage } from "./usage.js";

const ROW = 34;
// What a column is sorted by, and which way first
const COLUMNS = {
  name: [(job) => job.name.toLowerCase(), 1], cpu: [cpuOf, -1],
  memory: [(job) => job.usage?.peak_memory_bytes ?? 0, -1], owner: [(job) => job.owner ?? "", 1], state: [(job) => condition(job).text, 1],
  output: [(job) => job.output_bytes, -1], ended: [(job) => job.finished_at ?? "9", -1], took: [lasted, -1],
};
const AIMING_MS = 1500; // that the order holds after the pointer moved over the list
const picked = new Set(); // ids of jobs that are deleted together
const kept = { text: "", group: "all", sort: "", scroll: 0, chosen: null };

export function show({ input, chips, clean, count, notify, inbox: asked, heads, scroller, space }, signal, page) {
  let found = [];
  const address = new URLSearchParams(location.search);
  kept.text = address.get("q") ?? "";
  kept.group = groups[address.get("show")] ? address.get("show") : "all";
  kept.sort = address.get("sort") ?? "";
  Object.assign(kept, history.state);
  let toScroll = kept.scroll;
  input.value = kept.text;
  on(input, "input", () => { kept.text = input.value; anew(); });
  inbox(asked, signal);
  const turnNotify = notifier(notify);

  function anew() {
    const said = new URLSearchParams({ ...(kept.text && { q: kept.text }), ...(kept.group !== "all" && { show: kept.group }), ...(kept.sort && { sort: kept.sort }) });
    page.list = said.size ? `?${said}` : "";
    history.replaceState(null, "", base + page.list);
    scroller.scrollTop = toScroll = 0;
    refresh();
  }

  // The column that sorts, from small to large (1) or the other way (-1)
  function order() {
    const id = kept.sort.replace("-", ""), [, first] = COLUMNS[id] ?? [];
    return [id, kept.sort === id ? first : -first];
  }

  function ordered(some) {
    const [id, sign] = order(), [value] = COLUMNS[id] ?? [];
    if (!value && /\bline:/.test(kept.text)) return some.sort((a, b) => (standing.get(a.job_id)?.place ?? 0) - (standing.get(b.job_id)?.place ?? 0));
    return value ? some.map((job) => [value(job), job]).sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0)).map(([, job]) => job) : sorted(some);
  }

  function sort(by) {
    kept.sort = by;
    anew();
  }
  on(heads, "click", ({ target: { dataset: { by } } }) => { if (by) sort(kept.sort === by ? `-${by}` : kept.sort === `-${by}` ? "" : by); });

  function type(text) {
    input.value = kept.text = text;
    anew();
  }

  let pressed = false, pointed = 0, late = 0;
  let isAll = true, lines = 0; // rows, those of jobs that were not read too
  on(scroller, "pointermove", () => { pointed = Date.now(); }, { passive: true });
  on(scroller, "pointerdown", () => { pressed = true; });
  on(scroller, "click", (event) => {
    const at = event.target.closest(".row");
    if (event.target.matches(".pick")) turnPick(at.dataset.job, event.shiftKey);
    kept.chosen = at?.dataset.job ?? kept.chosen;
    // The texts of a row can be selected; a click on them is one on the link below them
    if (at && !event.target.closest("a, button, input") && getSelection().isCollapsed) at.querySelector(".name").dispatchEvent(new MouseEvent("click", event));
  }, true);
  for (const name of ["pointerup", "pointercancel", "dragend"]) addEventListener(name, () => setTimeout(() => { pressed = false; }), { signal });

  const picks = () => found.filter((job) => picked.has(job.job_id));

  // Pick this job, or do not any more; `all`: and those from the chosen one to it
  function turnPick(id, all) {
    const [from, to] = [all ? kept.chosen : id, id].map((one) => found.findIndex((job) => job.job_id === one)).sort((a, b) => a - b);
    const how = picked.has(id) ? "delete" : "add";
    for (const job of found.slice(Math.max(0, from), to + 1)) picked[how](job.job_id);
    refresh();
  }

  // What a person aims at stays where it is: others wait
  function refresh(arrived = false) {
    const all = [...jobs.values()];
    const typed = all.filter(filter(kept.text));
    clearTimeout(late);
    if (arrived && (pressed || Date.now() < pointed + AIMING_MS)) {
      found = found.map((job) => jobs.get(job.job_id) ?? job);
      late = setTimeout(() => refresh(true), AIMING_MS / 5);
    } else found = ordered(typed.filter(groups[kept.group]));
    isAll = !kept.text && kept.group === "all" && !kept.sort;
    if (!isAll) want(Infinity); // any of those that were not read may belong here
    lines = isAll ? Math.max(found.length, about.total) : found.length;
    const [by, sign] = order();
    for (const head of heads.children) {
      press(head, head.dataset.by === by);
      head.dataset.way = head.dataset.by !== by ? "" : sign > 0 ? " ↑" : " ↓";
    }
    for (const chip of chips.children) {
      const name = chip.dataset.do;
      press(chip, kept.group === name);
      chip.lastChild.textContent = name === "all" && !kept.text ? number(about.total) : `${number(typed.filter(groups[name]).length)}${about.left ? "+" : ""}`;
    }
    const { length } = picks();
    clean.textContent = length ? `Delete ${number(length)}…` : "Clean up…";
    count.textContent = length ? `${number(length)} picked` : about.left ? `${number(jobs.size)} of ${number(about.total)} jobs read` : lineSaid();
    space.style.height = `${lines * ROW}px`;
    if (toScroll && about.loaded) { scroller.scrollTop = toScroll; toScroll = 0; }
    draw();
  }

  // Of a list of one line: how it is doing
  function lineSaid() {
    const { turns } = (/\bline:/.test(kept.text) && standing.get(found[0]?.job_id)) || {};
    return turns ? named(`${inWords(turns)} ${turns.held_back}`) : "";
  }

  let drawn = [];
  function draw() {
    if (about.refused) return page.stranger(about.refused);
    drawn = [];
    if (!found.length) return void patch(space, nothing());
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 4), last = first + Math.ceil(scroller.clientHeight / ROW) + 9;
    const focused = document.activeElement?.closest(".row")?.dataset.job;
    const where = found.findIndex((job) => job.job_id === focused);
    drawn = found.slice(first, last).map((job, offset) => [job, first + offset]);
    if (where >= 0 && (where < first || where >= last)) drawn.push([found[where], where]);
    const unread = [];
    for (let at = Math.max(first, found.length); at < Math.min(last, lines); at += 1) unread.push(h("div.row", { "data-key": at, role: "listitem", style: { top: `${at * ROW}px` } }, h("div.title", "…")));
    if (unread.length) want(last);
    return void patch(space, drawn.map(([job, at]) => row(job, at)), unread);
  }

  function nothing() {
    if (!about.loaded) return h("p.empty", "Reading jobs…");
    const { whole, root } = made(jobs.size ? "no-match" : "no-jobs");
    root?.append(about.root);
    return whole;
  }

  function row(job, at) {
    const command = shell(job.command), name = one(job.name), chain = strip(job.job_id), { turns } = standing.get(job.job_id) ?? {};
    return h("div", {
      class: `row ${condition(job).kind}${job.job_id === kept.chosen ? " chosen" : ""}`, id: `job-${job.job_id}`, "data-job": job.job_id,
      role: "listitem", "aria-posinset": at + 1, "aria-setsize": lines,
      style: { top: `${at * ROW}px` },
    },
    h("input.pick", { type: "checkbox", checked: picked.has(job.job_id), tabIndex: -1, title: "Pick (x); with Shift all from the chosen one", "aria-label": `Select ${name}` }),
    h("div.title", h("a.name", { href: `${base}job/${job.job_id}`, tabIndex: job.job_id === kept.chosen ? 0 : -1, draggable: "false" }, name), chain ?? (command !== name && h("span.command", command)),
      turns && only("line", turns.name, one(turns.name)),
      job.host && only("host", job.host, `on ${one(job.host)}`), job.sandbox && h("span.tag", one(job.sandbox.mode)),
      (job.tags ?? []).slice(0, 4).map((tag) => only("tag", tag, one(tag))), h("span.last", one(job.last_line))),
    small(job), h("span.size", job.output_bytes > 0 && bytes(job.output_bytes)),
    h("div.who", h("span", job.owner && job.owner !== "cli" ? one(job.owner) : ""), job.session && only("session", job.session, one(job.session).slice(-4))), h("div.how", badge(job)),
    h("span.when", job.finished_at ? ago(Date.parse(job.finished_at)) : ""), h("span.took", job.finished_at && begun(job) ? `took ${age(job)}` : age(job)));
  }

  // A label that filters the list by what it says
  function only(name, value, text) {
    return h("button", { class: `tag ${name}`, tabIndex: -1, title: `Only ${name}:${value}`, onclick: () => type(`${name}:${value}`) }, text);
  }

  function choose(step, absolute = null) {
    if (!found.length) return;
    const now = found.findIndex((job) => job.job_id === kept.chosen);
    const at = Math.max(0, Math.min(found.length - 1, absolute ?? (now < 0 ? 0 : now + step)));
    kept.chosen = found[at].job_id;
    const top = at * ROW;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    if (top + ROW > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + ROW - scroller.clientHeight;
    draw();
    document.querySelector(`#job-${kept.chosen} .name`)?.focus({ preventScroll: true });
  }

  const pick = (name) => { kept.group = name; anew(); };
  const seen = () => Math.floor(scroller.clientHeight / ROW);
  page.does({
    filter: () => input.focus(),
    next: () => choose(1), previous: () => choose(-1), first: () => choose(0, 0), last() { if (lines > found.length) scroller.scrollTop = lines * ROW; else choose(0, lines - 1); }, pageDown: () => choose(seen()), pageUp: () => choose(-seen()),
    sort() { const ids = ["", ...Object.keys(COLUMNS)]; sort(ids[(ids.indexOf(kept.sort.replace("-", "")) + 1) % ids.length]); },
    async new() {
      const id = await startCommand();
      if (id) page.go(`job/${id}`);
    },
    pick() { if (kept.chosen) turnPick(kept.chosen); },
    clean() {
      const some = picks(), what = some.length ? "the picked jobs" : isAll ? "all jobs" : "the jobs that this list shows";
      deleteJobs((some.length ? some : found).filter((job) => OVER.has(job.state)).map((job) => job.job_id), `Those of ${what} that have ended, with their output`);
    },
    question: nextQuestion, notify: turnNotify,
    open() { if (kept.chosen) page.go(`job/${kept.chosen}`); },
    ...Object.fromEntries(Object.keys(groups).map((group) => [group, () => pick(group)])),
    everything() { type(""); pick("all"); },
  });
  on(input, "keydown", (event) => {
    if (event.key === "Escape") { if (input.value) type(""); else scroller.focus(); event.stopPropagation(); }
    if (event.key === "ArrowDown" || event.key === "Enter") { scroller.focus(); choose(0); event.preventDefault(); event.stopPropagation(); if (event.key === "Enter" && found.length === 1) page.go(`job/${found[0].job_id}`); }
  });

  let frame = 0;
  on(scroller, "scroll", () => { cancelAnimationFrame(frame); frame = requestAnimationFrame(draw); }, { passive: true });
  addEventListener("jobs", () => refresh(true), { signal });
  watchUsage(() => drawn.map(([job]) => job.job_id).filter((id) => jobs.get(id)?.state === "running" && !jobs.get(id).host), draw, signal);
  addEventListener("resize", draw, { signal });
  every(1000, draw, signal);
  over(signal, () => clearTimeout(late));
  page.list = location.search;
  page.place = () => ({ scroll: kept.scroll = scroller.scrollTop, chosen: kept.chosen });
  document.title = "outlive";
  refresh();
  scroller.focus({ preventScroll: true });
}
