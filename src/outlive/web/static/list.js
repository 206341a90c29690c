// All jobs: what runs, what waits for a person, what ended how.

import { about, filter, groups, jobs, onJobs, sorted } from "./jobs.js";
import { ago, age, badge, begun, condition, fill, h, number, one, shell } from "./dom.js";
import { small, watchUsage } from "./usage.js";

const ROW = 60;
const NAMES = { all: "All", running: "Running", asks: "Waiting for you", failed: "Failed" };
const kept = { text: "", group: "all", scroll: 0, chosen: null };

export function show(main, signal, page) {
  let found = [];
  const input = h("input", {
    type: "search", id: "filter", placeholder: "Filter: words, state:running, tag:ci, host:…", "aria-label": "Filter jobs",
    value: kept.text, autocomplete: "off", spellcheck: "false",
    oninput: () => { kept.text = input.value; kept.scroll = 0; scroller.scrollTop = 0; refresh(); },
  });
  const chips = h("div", { class: "chips", role: "group", "aria-label": "Which jobs" });
  const count = h("p", { class: "count", role: "status" });
  const space = h("div", { class: "space" });
  const scroller = h("div", { class: "scroller", tabIndex: 0, role: "listbox", "aria-label": "Jobs", id: "jobs" }, space);
  fill(main, h("div", { class: "list-page" }, h("h1", { class: "for-readers" }, "Jobs"),
    h("div", { class: "bar" }, input, chips, count), scroller));

  function refresh() {
    const all = [...jobs.values()];
    const wanted = filter(kept.text);
    const typed = all.filter(wanted);
    found = sorted(typed.filter(groups[kept.group]));
    fill(chips, Object.keys(NAMES).map((name) => h("button", {
      class: `chip ${name}`, "aria-pressed": String(kept.group === name),
      onclick: () => { kept.group = name; scroller.scrollTop = 0; refresh(); },
    }, NAMES[name], h("span", { class: "n" }, number(typed.filter(groups[name]).length)))));
    count.textContent = about.loaded ? "" : `${number(jobs.size)} of ${number(about.total)} jobs read…`;
    space.style.height = `${found.length * ROW}px`;
    draw();
  }

  let drawn = [];
  function draw() {
    if (about.refused) return page.stranger(about.refused);
    if (!found.length) {
      drawn = [];
      fill(space, nothing());
      return undefined;
    }
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW) - 4);
    const last = Math.min(found.length, first + Math.ceil(scroller.clientHeight / ROW) + 9);
    const rows = [];
    for (let at = first; at < last; at += 1) rows.push(row(found[at], at));
    drawn = rows;
    const focused = document.activeElement === scroller || space.contains(document.activeElement);
    space.replaceChildren(...rows);
    if (kept.chosen && drawn.some((one) => one.dataset.job === kept.chosen)) scroller.setAttribute("aria-activedescendant", `job-${kept.chosen}`);
    else scroller.removeAttribute("aria-activedescendant");
    if (focused && document.activeElement !== scroller) scroller.focus({ preventScroll: true });
    return undefined;
  }

  function nothing() {
    if (!about.loaded) return h("p", { class: "empty" }, "Reading jobs…");
    if (jobs.size) return h("div", { class: "empty" }, h("p", {}, "No job matches."), h("button", { onclick: () => { kept.text = input.value = ""; kept.group = "all"; refresh(); } }, "Show all"));
    return h("div", { class: "empty" }, h("p", {}, "No jobs yet."), h("p", {}, "Start one: ", h("code", {}, "outlive run -- make test")), h("p", { class: "dim" }, `Jobs of ${about.root} appear here by themselves.`));
  }

  function row(job, at) {
    const state = condition(job);
    const command = shell(job.command);
    const name = one(job.name);
    const when = job.state === "running" ? age(job) : ago(Date.parse(job.finished_at ?? job.created_at));
    return h("div", {
      class: `row ${state.kind}${job.job_id === kept.chosen ? " chosen" : ""}`, id: `job-${job.job_id}`, "data-job": job.job_id,
      role: "option", "aria-selected": String(job.job_id === kept.chosen), "aria-posinset": at + 1, "aria-setsize": found.length,
      style: { top: `${at * ROW}px` },
      onclick: (event) => { if (!String(getSelection())) open(job.job_id); },
    },
    h("div", { class: "what" },
      h("div", { class: "title" }, h("span", { class: "name" }, name), command !== name && h("span", { class: "command" }, command),
        job.host && only("host", job.host, `on ${one(job.host)}`), job.sandbox && h("span", { class: "tag", title: "The sandbox that it runs in" }, one(job.sandbox.mode)),
        (job.tags ?? []).slice(0, 4).map((tag) => only("tag", tag, one(tag)))),
      h("div", { class: "last" }, job.last_line ? one(job.last_line) : h("span", { class: "dim" }, job.state === "running" ? "no output yet" : "no output"))),
    small(job),
    h("div", { class: "who" }, job.owner && job.owner !== "cli" ? one(job.owner) : ""),
    h("div", { class: "how" }, badge(job), h("span", { class: "when", title: job.finished_at ? (begun(job) ? `ran ${age(job)}` : age(job)) : "" }, job.state === "running" ? when : `${when}`)));
  }

  // A label that filters the list by what it says
  function only(name, value, text) {
    return h("span", { class: `tag ${name}`, title: `Only ${name}:${value}`, onclick: (event) => { event.stopPropagation(); input.value = kept.text = `${name}:${value}`; refresh(); } }, text);
  }

  function open(id) {
    kept.chosen = id;
    kept.scroll = scroller.scrollTop;
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
  const pick = (name) => { kept.group = name; scroller.scrollTop = 0; refresh(); };
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") { if (input.value) { input.value = kept.text = ""; refresh(); } else scroller.focus(); event.stopPropagation(); }
    if (event.key === "ArrowDown" || event.key === "Enter") { scroller.focus(); choose(0); event.preventDefault(); event.stopPropagation(); if (event.key === "Enter" && found.length === 1) open(found[0].job_id); }
  });

  let waiting = false;
  scroller.addEventListener("scroll", () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => { waiting = false; draw(); });
  }, { passive: true });
  onJobs(() => refresh(), signal);
  watchUsage(() => drawn.map((one) => one.dataset.job).filter((id) => jobs.get(id)?.state === "running" && !jobs.get(id).host), draw, signal);
  addEventListener("resize", draw, { signal });
  const timer = setInterval(draw, 1000);
  signal.addEventListener("abort", () => { clearInterval(timer); kept.scroll = scroller.scrollTop; });
  document.title = "outlive";
  refresh();
  scroller.scrollTop = kept.scroll;
  scroller.focus({ preventScroll: true });
}
