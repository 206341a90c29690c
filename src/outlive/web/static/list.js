// All jobs: what runs, what waits for a person, what ended how.

import { about, filter, groups, jobs, onJobs, sorted } from "./jobs.js";
import { ago, age, badge, begun, condition, fill, h, number, one, patch, shell } from "./dom.js";
import { small, watchUsage } from "./usage.js";

const ROW = 60;
const NAMES = { all: "All", running: "Running", asks: "Waiting for you", failed: "Failed" };
const AIMING_MS = 1500; // that the order holds after the pointer moved over the list
const kept = { text: "", group: "all", scroll: 0, chosen: null };

export function show(main, signal, page) {
  let found = [];
  const address = new URLSearchParams(location.search);
  kept.text = address.get("q") ?? "";
  kept.group = NAMES[address.get("show")] ? address.get("show") : "all";
  Object.assign(kept, history.state);
  let toScroll = kept.scroll;
  const input = h("input", {
    type: "search", id: "filter", placeholder: "Filter: words, state:running, tag:ci, host:…", "aria-label": "Filter jobs",
    value: kept.text, autocomplete: "off", spellcheck: "false",
    oninput: () => { kept.text = input.value; anew(); },
  });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Which jobs" });
  const count = h("p", { class: "count", role: "status" });
  const space = h("div", { class: "space" });
  const scroller = h("div", { class: "scroller", tabIndex: 0, role: "list", "aria-label": "Jobs", id: "jobs" }, space);
  fill(main, h("div", { class: "list-page" }, h("h1", { class: "for-readers" }, "Jobs"),
    h("div", { class: "bar" }, input, chips, count), scroller));

  function anew() {
    const said = new URLSearchParams({ ...(kept.text && { q: kept.text }), ...(kept.group !== "all" && { show: kept.group }) });
    page.list = said.size ? `?${said}` : "";
    history.replaceState(null, "", page.base + page.list);
    scroller.scrollTop = toScroll = 0;
    refresh();
  }

  let pressed = false, pointed = 0, late = 0;
  scroller.addEventListener("pointermove", () => { pointed = Date.now(); }, { passive: true });
  scroller.addEventListener("pointerdown", () => { pressed = true; });
  for (const name of ["pointerup", "pointercancel", "dragend"]) addEventListener(name, () => setTimeout(() => { pressed = false; }), { signal });

  // What a person aims at stays where it is: others wait
  function refresh(arrived = false) {
    const all = [...jobs.values()];
    const wanted = filter(kept.text);
    const typed = all.filter(wanted);
    clearTimeout(late);
    if (arrived && (pressed || Date.now() < pointed + AIMING_MS)) {
      found = found.map((job) => jobs.get(job.job_id) ?? job);
      late = setTimeout(() => refresh(true), AIMING_MS / 5);
    } else found = sorted(typed.filter(groups[kept.group]));
    patch(chips, Object.keys(NAMES).map((name) => h("button", {
      class: `chip ${name}`, "aria-pressed": String(kept.group === name),
      onclick: () => pick(name),
    }, NAMES[name], h("span", { class: "n" }, number(typed.filter(groups[name]).length)))));
    count.textContent = about.loaded ? "" : `${number(jobs.size)} of ${number(about.total)} jobs read…`;
    space.style.height = `${found.length * ROW}px`;
    if (toScroll && about.loaded) { scroller.scrollTop = toScroll; toScroll = 0; }
    draw();
  }

  let drawn = [];
  function draw() {
    if (about.refused) return page.stranger(about.refused);
    if (!found.length) {
      drawn = [];
      patch(space, nothing());
      return undefined;
    }
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 4);
    const last = Math.min(found.length, first + Math.ceil(scroller.clientHeight / ROW) + 9);
    const focused = document.activeElement?.closest(".row")?.dataset.job;
    const where = focused ? found.findIndex((job) => job.job_id === focused) : -1;
    drawn = found.slice(first, last).map((job, offset) => [job, first + offset]);
    if (where >= 0 && (where < first || where >= last)) drawn.push([found[where], where]);
    patch(space, drawn.map(([job, at]) => row(job, at)));
    return undefined;
  }

  function nothing() {
    if (!about.loaded) return h("p", { class: "empty" }, "Reading jobs…");
    if (jobs.size) return h("div", { class: "empty" }, h("p", {}, "No job matches."), h("button", { onclick: () => { kept.text = input.value = ""; pick("all"); } }, "Show all"));
    return h("div", { class: "empty" }, h("p", {}, "No jobs yet."), h("p", {}, "Start one: ", h("code", {}, "outlive run -- make test")), h("p", { class: "dim" }, `Jobs of ${about.root} appear here by themselves.`));
  }

  function row(job, at) {
    const state = condition(job);
    const command = shell(job.command);
    const name = one(job.name);
    const when = job.state === "running" ? age(job) : ago(Date.parse(job.finished_at ?? job.created_at));
    return h("div", {
      class: `row ${state.kind}${job.job_id === kept.chosen ? " chosen" : ""}`, id: `job-${job.job_id}`, "data-job": job.job_id,
      role: "listitem", "aria-posinset": at + 1, "aria-setsize": found.length,
      style: { top: `${at * ROW}px` },
    },
    h("div", { class: "what" },
      h("div", { class: "title" }, h("a", { class: "name", href: `${page.base}job/${job.job_id}`, tabIndex: job.job_id === kept.chosen ? 0 : -1, draggable: "false", onclick: (event) => { kept.chosen = job.job_id; page.follow(event, `job/${job.job_id}`); } }, name), command !== name && h("span", { class: "command" }, command),
        job.host && only("host", job.host, `on ${one(job.host)}`), job.sandbox && h("span", { class: "tag", title: "The sandbox that it runs in" }, one(job.sandbox.mode)),
        (job.tags ?? []).slice(0, 4).map((tag) => only("tag", tag, one(tag)))),
      h("div", { class: "last" }, job.last_line ? one(job.last_line) : h("span", { class: "dim" }, job.state === "running" ? "no output yet" : "no output"))),
    small(job),
    h("div", { class: "who" }, job.owner && job.owner !== "cli" ? one(job.owner) : ""),
    h("div", { class: "how" }, badge(job), h("span", { class: "when", title: job.finished_at ? (begun(job) ? `ran ${age(job)}` : age(job)) : "" }, job.state === "running" ? when : `${when}`)));
  }

  // A label that filters the list by what it says
  function only(name, value, text) {
    return h("button", { class: `tag ${name}`, tabIndex: -1, title: `Only ${name}:${value}`, onclick: () => { input.value = kept.text = `${name}:${value}`; anew(); } }, text);
  }

  function open(id) {
    kept.chosen = id;
    page.go(`job/${id}`);
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

  page.keys({
    "/": ["filter", () => input.focus()],
    j: ["next job", () => choose(1)], ArrowDown: ["", () => choose(1)],
    k: ["previous job", () => choose(-1)], ArrowUp: ["", () => choose(-1)],
    Home: ["", () => choose(0, 0)], End: ["", () => choose(0, found.length - 1)],
    PageDown: ["", () => choose(Math.floor(scroller.clientHeight / ROW))], PageUp: ["", () => choose(-Math.floor(scroller.clientHeight / ROW))],
    Enter: ["open the job", () => { if (kept.chosen) open(kept.chosen); }],
    1: ["all jobs", () => pick("all")], 2: ["running", () => pick("running")], 3: ["waiting for you", () => pick("asks")], 4: ["failed", () => pick("failed")],
  });
  const pick = (name) => { kept.group = name; anew(); };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { if (input.value) { input.value = kept.text = ""; anew(); } else scroller.focus(); event.stopPropagation(); }
    if (event.key === "ArrowDown" || event.key === "Enter") { scroller.focus(); choose(0); event.preventDefault(); event.stopPropagation(); if (event.key === "Enter" && found.length === 1) open(found[0].job_id); }
  });

  let waiting = false;
  scroller.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }, { passive: true });
  onJobs(() => refresh(true), signal);
  watchUsage(() => drawn.map(([job]) => job.job_id).filter((id) => jobs.get(id)?.state === "running" && !jobs.get(id).host), draw, signal);
  addEventListener("resize", draw, { signal });
  const timer = setInterval(draw, 1000);
  signal.addEventListener("abort", () => { clearInterval(timer); clearTimeout(late); });
  page.list = location.search;
  page.place = () => ({ scroll: kept.scroll = scroller.scrollTop, chosen: kept.chosen });
  document.title = "outlive";
  refresh();
  scroller.focus({ preventScroll: true });
}
