// All jobs of a time, the newest first, each on a line of its own: when it waited, when it ran, what overlapped.

import { base } from "./api.js";
import { begun, clock, condition, duration, every, h, on, one, patch } from "./dom.js";
import { about, jobs, want } from "./jobs.js";

const DAY = 86_400_000;
const LINE = 26;

const SPANS = { "10 min": DAY / 144, "1 h": DAY / 24, "6 h": DAY / 4, "24 h": DAY, "7 d": 7 * DAY, All: Infinity };

export function show({ label, chips, axis, shown }, signal, page) {
  let end = Date.now();
  let span = DAY;
  let picked = ""; // one of SPANS
  let following = true;

  function move(by) {
    following = false;
    end = Math.min(Date.now(), end + by * span);
    draw();
  }

  function draw() {
    if (following) end = Date.now();
    const times = [...jobs.values()].map((job) => ({ job, from: Date.parse(job.created_at), run: Date.parse(begun(job)) || null, to: Date.parse(job.finished_at) || Date.now() }));
    const since = (least) => times.reduce((first, { from }) => (from > least && from < first ? from : first), end);
    // Without a choice, the least that shows all jobs of the last day
    const oldest = since(picked === "All" ? 0 : end - DAY);
    span = SPANS[picked] ?? Object.values(SPANS).find((length) => end - length <= oldest);
    if (picked === "All") span = Math.max(SPANS["10 min"], 1.02 * (end - oldest));
    const start = end - span;
    const isMore = about.left && Date.parse(jobs.get(about.oldest)?.created_at) > start;
    if (isMore) want(jobs.size + 1);
    label.textContent = `${clock(start)} – ${following ? "now" : clock(end)}${isMore ? ", reading…" : ""}`;
    patch(chips, Object.entries(SPANS).map(([name, length]) => h("button.chip", { "aria-pressed": String(picked ? name === picked : length === span), onclick: () => { picked = name; draw(); } }, name)));
    const at = (time) => Math.max(0, Math.min(100, (100 * (time - start)) / span));
    patch(axis, ticks(start, end).map((time) => h("span", { style: { left: `${at(time)}%` } }, hour(time, span))));
    const found = times.filter((one) => one.to >= start && one.from <= end).sort((a, b) => b.from - a.from);
    const first = Math.max(0, Math.floor(shown.scrollTop / LINE) - 10), last = first + Math.ceil(shown.clientHeight / LINE) + 20;
    patch(shown, found.length ? h("div.space", { style: { height: `${found.length * LINE}px` } }, found.slice(first, last).map((job, offset) => lane(job, first + offset, at))) : h("p.empty", "No job in this time."));
  }

  function lane({ job, from, run, to }, row, at) {
    const state = condition(job);
    const start = run ?? to;
    const text = `${one(job.name)}: ${state.text}, ${run ? duration(to - run) : `waited ${duration(to - from)}`}`;
    return h("div.lane", { "data-key": job.job_id, role: "listitem", style: { top: `${row * LINE}px` } },
      run && start - from > 1000 ? h("span.waited", { style: { left: `${at(from)}%`, width: `${at(start) - at(from)}%` }, title: `waited ${duration(start - from)}` }) : null,
      h(run ? `a.ran.${state.kind}` : "a.waited", { href: `${base}job/${job.job_id}`, title: text, style: { left: `min(${at(run ?? from)}%, calc(100% - 4px))`, width: `${at(to) - at(run ?? from)}%` } }),
      h("span.label", { style: at(to) < 70 ? { left: `calc(${Math.max(at(to), at(start) + 0.15)}% + 6px)` } : { right: `calc(${100 - at(run ?? from)}% + 6px)` }, "aria-hidden": "true" }, one(job.name)));
  }

  on(shown, "scroll", () => requestAnimationFrame(draw), { passive: true });
  addEventListener("jobs", draw, { signal });
  addEventListener("resize", draw, { signal });
  every(5000, () => { if (following && !document.hidden) draw(); }, signal);
  page.does({ earlier: () => move(-0.5), later: () => move(0.5), now() { following = true; draw(); } });
  document.title = "Timeline · outlive";
  draw();
}

function ticks(start, end) {
  const step = 60_000 * [5, 15, 30, 60, 120, 240, 360, 720, 1440, 10_080, 43_200, 525_600].find((minutes) => minutes > 50_000 || (end - start) / minutes <= 600_000);
  const shift = new Date(start).getTimezoneOffset() * 60_000;
  const found = [];
  for (let time = Math.ceil((start - shift) / step) * step + shift; time < end; time += step) found.push(time);
  return found;
}

function hour(time, span) {
  const date = new Date(time);
  if (span > 8 * DAY) return date.toLocaleDateString("en-CA");
  const text = date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  return span > DAY ? `${date.toLocaleDateString("en-GB", { weekday: "short" })} ${text}` : text;
}
