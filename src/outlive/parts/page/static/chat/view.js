// The view of a job inside a chat: live where the host lets it ask the server, else the answer as it was given.

import { parts, show as showParts } from "../ansi.js";
import { age, badge, bytes, cut, duration, fill, h, named, one, shell, toast, visible } from "../dom.js";
import { forever, sleep } from "../polling.js";
import { Rows } from "../rows.js";
import { asksServer, begin, call, host, notify, on, request, run } from "./bridge.js";

const OVER = new Set(["exited", "failed", "killed"]);
const WAIT_MS = 20_000; // of a long poll, unless the bridge has a lower bound
const MOST_SHOWN = 200_000, MOST_LINES = 2000, MOST_JOBS = 500; // of an answer: characters, lines, jobs
const LINES = 16; // of output inside the chat; the whole of it has the whole window
const WIDEST_PX = 13, SMALLEST_PX = 6; // letters of a terminal
// Answers that begin something; the view of another one is a line until it is opened
const OPEN = new Set(["run", "start", "restart", "create"]);

const main = document.getElementById("main");
const root = document.documentElement;
let control = new AbortController(); // of what is shown now
let input = {}; // the arguments of the tool call
let answered = false;
let told = 0; // the height that the host knows
let shown = null; // the job that is shown: { id, answer }

// --- the host ---

function adopt(context) {
  host.hostContext = { ...host.hostContext, ...context };
  const { theme, styles, displayMode, safeAreaInsets } = host.hostContext;
  if (theme) root.dataset.theme = theme;
  for (const [name, value] of Object.entries(styles?.variables ?? {})) if (value && name.startsWith("--")) root.style.setProperty(name, value);
  root.dataset.mode = displayMode === "fullscreen" ? "fullscreen" : "inline";
  told = 0;
  for (const side of ["top", "right", "bottom", "left"]) root.style.setProperty(`--safe-${side}`, `${safeAreaInsets?.[side] ?? 0}px`);
  dispatchEvent(new Event("themechange"));
  dispatchEvent(new Event("modechange"));
}

const isWhole = () => root.dataset.mode === "fullscreen";

function canBeWhole() {
  return (host.hostContext.availableDisplayModes ?? []).includes("fullscreen");
}

async function turnWhole() {
  try {
    const { mode } = await request("ui/request-display-mode", { mode: isWhole() ? "inline" : "fullscreen" });
    adopt({ displayMode: mode });
  } catch (error) {
    toast(error.message, "bad");
  }
}

new ResizeObserver(() => {
  const height = Math.ceil(main.getBoundingClientRect().height);
  if (isWhole() || !height || height === told) return;
  told = height;
  notify("ui/notifications/size-changed", { width: Math.ceil(root.clientWidth), height });
}).observe(main);

on("ui/notifications/host-context-changed", adopt);
on("ui/notifications/tool-input", (params) => { input = params.arguments ?? {}; starting(); });
on("ui/notifications/tool-result", (result) => {
  answered = true;
  try {
    showAnswer(result);
  } catch {
    plain("This answer cannot be shown.", true);
  }
});
on("ui/notifications/tool-cancelled", (params) => { answered = true; cancelled(params.reason); });
on("ui/resource-teardown", () => { control.abort(); return {}; });

function next() {
  shown = null;
  control.abort();
  control = new AbortController();
  return control.signal;
}

// --- what the tool answered ---

function showAnswer(result) {
  const text = (result.content ?? []).map((part) => part.text ?? "").join("\n");
  const found = result.structuredContent ?? result._meta?.["outlive/answer"] ?? null;
  if (result.isError || !found) return plain(found?.error ? `${found.error.message}. ${found.error.hint ?? ""}` : text, result.isError);
  if (Array.isArray(found.jobs)) return showJobs(found.jobs, found.jobs.length === 1 && found.type === "wait");
  if (found.job_id === shown?.id) return shown.answer(found, text); // it was found before its answer came
  if (typeof found.job_id === "string") return showJob(found, { text, opened: OPEN.has(found.type) });
  return plain(text);
}

function plain(text, bad = false) {
  next();
  fill(main, h("div", { class: bad ? "notice bad" : "notice" }, visible(cut(text.trim(), MOST_SHOWN) || "No answer.")));
}

function cancelled(reason) {
  if (main.querySelector(".live")) return; // what it started is shown, and goes on
  plain(`The call was cancelled${reason ? ` (${one(reason)})` : ""}. What it started may go on: ask for the list of jobs.`);
}

// --- before the answer ---

// The tool answers when the job has ended or some seconds have passed. Its job is looked for meanwhile.
async function starting() {
  if (answered) return;
  const signal = next();
  const began = Date.now();
  fill(main, h("div.top", badge({ state: "starting" }), h("code.name", shell(input.command) || "outlive")));
  if (!input.command || !asksServer()) return;
  const same = JSON.stringify([input.command].flat());
  while (!signal.aborted && !answered) {
    await sleep(600, signal);
    try {
      const { jobs } = await run("list", { limit: 20 }, signal);
      const found = jobs.find((job) => JSON.stringify(job.command) === same && Date.parse(job.created_at) > began - 3000);
      if (found && !answered && !signal.aborted) return showJob(found, { opened: true });
    } catch {
      return undefined; // the answer comes all the same
    }
  }
  return undefined;
}

// --- several jobs ---

function showJobs(jobs, single) {
  if (single) return showJob(jobs[0], { opened: false });
  next();
  const open = (job) => showJob(job, { opened: true, back: () => showJobs(jobs, false) });
  return fill(main, jobs.length ? h("ol.several", jobs.slice(0, MOST_JOBS).map((job) => h("li",
    h("button.quiet", { disabled: !asksServer(), onclick: () => open(job) },
      badge(job), h("span.name", one(job.name ?? job.job_id)), h("span.dim.last", one(job.last_line ?? "")))))) : h("div.notice", "No jobs."));
}

// --- one job ---

function showJob(given, { text = "", opened, back = null }) {
  const signal = next();
  const id = given.job_id;
  const job = { ...given };
  let known = null;
  let terminal = null;
  let refused = null;
  shown = { id, answer: (answer, words) => { given = answer; text = words; if (refused) showGiven(); } };

  const top = h("div.top.live");
  const note = h("div.notice", { hidden: true });
  const place = h("div.place", { hidden: true });
  const foot = h("p.facts");
  const rows = new Rows({ load: (row, count, stop) => call("rows", { job_id: id, row, count }, stop), link: () => null, whole: "`outlive log` has them all" });
  place.append(rows.element);
  fill(main, top, note, place, foot);
  signal.addEventListener("abort", () => { rows.close(); terminal?.close(); });

  // --- what is known of it ---

  function draw() {
    const name = one(job.title || job.name || shell(input.command) || id);
    fill(top,
      back ? h("button.quiet", { "aria-label": "All jobs", onclick: back }, "←") : null,
      badge(job),
      h("code.name", { title: shell(job.command ?? input.command) }, name),
      h("span.dim.when", when()),
      h("span.grow"),
      job.state === "running" && live() ? ending() : null,
      !opened ? h("button.quiet", { onclick: () => { opened = true; draw(); begun(); } }, "Show") : null,
      opened && (canBeWhole() || isWhole()) ? h("button.quiet", { onclick: turnWhole }, isWhole() ? "Into the chat" : "Whole window") : null);
    drawNote();
    fill(foot, facts().map((fact) => h("span", fact)));
    foot.hidden = !foot.childElementCount;
    dress();
  }

  const live = () => asksServer() && !refused;

  function when() {
    if (job.duration_ms !== undefined && job.duration_ms !== null) return duration(job.duration_ms);
    return job.started_at || job.created_at ? age(job) : "";
  }

  function facts() {
    const use = job.usage ?? {};
    const cpu = (use.user_ms ?? 0) + (use.system_ms ?? 0);
    const memory = OVER.has(job.state) ? use.peak_memory_bytes : use.memory_bytes ?? use.peak_memory_bytes;
    return [
      rows.total > LINES ? `${rows.total.toLocaleString("en-US")} lines` : null,
      cpu ? `CPU ${duration(cpu)}` : null,
      memory ? `${OVER.has(job.state) ? "at most " : ""}${bytes(memory)} of memory` : null,
      use.processes > 1 ? `${use.processes} processes` : null,
      known?.end > 1e6 ? `${bytes(known.end)} of output` : null,
      job.host && job.host !== "local" ? `on ${one(job.host)}` : null,
    ].filter(Boolean);
  }

  // --- words above the output ---

  let asked = null; // the prompt that the form answers
  function drawNote() {
    const waits = job.state === "running" && job.waiting_for_input && !job.pty && live();
    if (waits && asked === (job.prompt ?? "")) return; // what a person has typed stays
    asked = waits ? job.prompt ?? "" : null;
    const said = [];
    if (refused) said.push(refused);
    else if (waits) said.push(answering());
    else if (job.approval?.state === "pending") said.push("It waits for a person's approval: ", h("code", `outlive approve ${id.slice(-8)}`));
    else if (OVER.has(job.state) && job.message) said.push(named(job.message));
    note.hidden = !said.length;
    note.className = `notice ${refused ? "" : waits || job.approval ? "asks" : "bad"}`;
    fill(note, said);
  }

  function answering() {
    const field = h("input", { type: job.echo === false ? "password" : "text", "aria-label": "Answer", autocomplete: "off", spellcheck: "false" });
    const send = () => {
      const words = field.value;
      field.value = "";
      act(() => run("write", { job_id: id, data: `${words}\n`, wait_ms: 0 }, signal));
    };
    field.addEventListener("keydown", (event) => { if (event.key === "Enter" && !event.isComposing) send(); });
    // No form: a view may not submit one
    return h("div.answer", h("label", h("code", one(job.prompt ?? "") || "It waits for input"), " ", field), h("button", { onclick: send }, "Send"));
  }

  // --- what can be done with it ---

  let asks = false; // whether to end it
  function ending() {
    const turn = (now) => { asks = now; draw(); };
    if (!asks) return h("button.bad", { onclick: () => turn(true) }, "Kill");
    return [
      h("button.bad", { onclick: () => { turn(false); act(() => run("kill", { job_id: id, wait_ms: 0 }, signal), "It is being ended"); } }, "Kill it now"),
      h("button.quiet", { onclick: () => turn(false) }, "Keep it")];
  }

  async function act(what, done = "") {
    try {
      await what();
      if (done) toast(done, "good");
    } catch (error) {
      if (!signal.aborted) toast(failure(error, "The host does not allow this"), "bad");
    }
  }

  // --- the output ---

  function dress() {
    place.hidden = !opened || (known !== null && !known.end && !terminal && job.state !== "running");
    const lines = isWhole() ? "" : `${Math.max(1, Math.min(LINES, rows.total)) * rows.rowHeight}px`;
    rows.element.style.height = lines;
    rows.measure();
  }
  addEventListener("modechange", () => { draw(); fit(); }, { signal });

  // Letters as large as let the whole width of the terminal be seen
  function fit() {
    if (!terminal?.emulator || terminal.typing) return; // then the terminal has the size of the window
    const options = terminal.emulator.options;
    const letters = options.fontSize;
    const wide = terminal.place.offsetWidth, room = place.clientWidth - 4;
    if (!wide || !room) return;
    const wanted = Math.max(SMALLEST_PX, Math.min(WIDEST_PX, Math.floor(((letters * room) / wide) * 4) / 4));
    if (Math.abs(wanted - letters) >= 0.25) options.fontSize = wanted;
  }

  async function showTerminal() {
    const { Terminal } = await import("../terminal.js");
    rows.element.hidden = true;
    terminal = new Terminal(id, failed);
    place.append(terminal.element);
    terminal.begin();
    const watch = new ResizeObserver(fit);
    watch.observe(place);
    watch.observe(terminal.place);
    signal.addEventListener("abort", () => watch.disconnect());
    draw();
  }

  function failure(error, words) {
    return error.status === 0 ? `${words}: ${named(error.message)}.` : named(error.error?.hint ? `${error.message}. ${error.error.hint}` : error.message);
  }

  // Without the server the view shows what the tool answered
  function failed(error) {
    if (signal.aborted || error.name === "AbortError") return false;
    if (error.status >= 500) return true;
    refused = error.status === 404 ? "This job was deleted meanwhile. Below is what the tool answered then."
      : failure(error, "This host does not let the view ask outlive. Below is what the tool answered, as it was then");
    if (known === null) showGiven();
    draw();
    return false;
  }

  function showGiven() {
    const output = given.output ?? given.snapshot?.stdout_tail ?? (given.stdout_tail !== undefined ? given.stdout_tail + given.stderr_tail : text);
    const style = { style: null };
    const lines = output ? String(output).slice(-MOST_SHOWN).replace(/\n$/, "").split("\n").slice(-MOST_LINES) : [];
    place.replaceChildren(h("pre.given", lines.map((line) => {
      const found = h("div");
      showParts(found, parts([0, line], style), null);
      return found;
    })));
    place.hidden = !opened || !lines.length;
  }

  async function learn() {
    Object.assign(job, await run("status", { job_id: id }, signal));
    if (!OVER.has(job.state)) {
      try { Object.assign(job, await run("usage", { job_id: id }, signal)); } catch { /* it has not begun */ }
    }
    if (!signal.aborted) draw();
  }

  function begun() {
    if (known !== null || terminal) return draw();
    forever(async () => {
      const first = known === null;
      const answer = await call("rows", { job_id: id, count: rows.atEnd || first ? 200 : 1, ...(first || rows.tail ? {} : { known, wait_ms: WAIT_MS }) }, signal);
      const changed = first || answer.state !== known.state;
      const gaps = JSON.stringify(answer.gaps);
      if (known && known.gaps !== gaps) rows.clear();
      known = { end: answer.end, state: answer.state, events: answer.events, gaps };
      rows.take(answer);
      for (const name of ["pty", "state", "exit_code", "signal", "reason", "waiting_for_input", "prompt", "echo"]) job[name] = answer[name];
      draw();
      if (changed) await learn();
      if (first && job.pty && job.state === "running") showTerminal();
      return !(answer.over && answer.total_rows !== null);
    }, signal, failed);
    return undefined;
  }

  // Of a line alone no more is asked than how the job is doing
  async function glance() {
    try {
      await learn();
    } catch (error) {
      failed(error);
    }
  }

  const timer = setInterval(() => {
    const shown = top.querySelector(".when");
    if (shown && job.state === "running") shown.textContent = when();
  }, 1000);
  const meter = setInterval(() => { if (opened && known && job.state === "running" && live() && !document.hidden) learn().catch(() => {}); }, 4000);
  signal.addEventListener("abort", () => { clearInterval(timer); clearInterval(meter); });

  draw();
  if (!asksServer()) return failed({ status: 0, message: "it offers no calls" });
  if (opened) return begun();
  return glance();
}

// --- begin ---

adopt({});
begin(document.querySelector('meta[name="outlive-version"]').content).then(() => adopt({}), (error) => plain(`No host answers: ${error.message}.`, true));
