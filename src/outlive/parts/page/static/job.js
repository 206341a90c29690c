// One job: its output, what happened to it, and what can be done with it.

import { base, call, run } from "./api.js";
import { expression } from "./ansi.js";
import { OVER, age, ask, badge, byId, bytes, clock, condition, copy, counted, cut, every, fill, h, isPressed, made, name, named, number, on, one, over, patch, press, shell, standing, toast, told, tried } from "./dom.js";
import { previousRun, runBars, showChanges, showPane } from "./changes.js";
import { factsOf, said } from "./facts.js";
import { jobs } from "./jobs.js";
import { Refused, forever } from "./polling.js";
import { askedFacts, commandForm, ends, lineForm, turnEnd } from "./questions.js";
import { line, picture } from "./order.js";
import { Rows } from "./rows.js";
import { deleteJobs, startCommand } from "./start.js";
import { Terminal } from "./terminal.js"; // nothing is loaded later on: another program may listen then
import { curvesOf, kept, watchUsage } from "./usage.js";

const MOST_MATCHES = 20_000;
const MOST_LOOKED = 100_000_000; // bytes in which groups are looked for unasked

export function show(parts, signal, page, id) {
  const { actions, back, body, counting, details, empty, events: happenings, facts, follow, found, hits, notice, place, search, state, strict, tabs, tell, title, tools, wrap } = parts;
  const job = { ...(jobs.get(id) ?? { job_id: id, state: "unknown", name: id }) };
  let view = "output";
  let times = false; // whether lines say when they were printed
  let terminal = null;
  const runs = () => job.state === "running", waits = () => job.state === "created" && job.waits, isAsked = () => job.approval?.state === "pending", isOver = () => OVER.has(job.state);
  const mine = (method, given) => call(method, { job_id: id, ...given }, signal);
  const verb = (action, given) => mine("process", { action, ...given });
  const rows = new Rows({
    load: (row, count, stop) => call("rows", { job_id: id, row, count, times }, stop),
    link: (seq) => `${base}job/${id}#seq=${seq}`,
    onMove: () => press(follow, rows.atEnd),
  });
  rows.element.id = "output";
  place.prepend(rows.element);
  back.href = base + page.list;
  const showCurves = curvesOf(parts.curves, id, (seq) => jump(seq));

  // --- what is known of the job ---

  const asked = (act) => tried(act, refused);
  const learn = () => asked(async () => {
    Object.assign(job, await verb("status"));
    showHead();
    showSide();
  });

  function showHead() {
    title.textContent = one(job.title || job.name || id);
    const command = shell(job.command);
    title.title = command;
    patch(state, badge(job));
    patch(facts,
      h("code.command", { title: command }, cut(command, 5000)),
      h("span", { id: "age" }, age(job)),
      job.cwd ? h("span", { title: "Directory" }, name(job.cwd)) : null,
      h("button.quiet.id", { title: "Copy the id", "data-do": "copy" }, id.slice(-8).toLowerCase()),
      (job.tags ?? []).map((tag) => h("span.tag", one(tag))));
    for (const one of actions.children) one.hidden = !(when[one.dataset.do]?.() ?? true);
    press(tell, ends.has(id));
    document.title = `${condition(job).icon} ${one(job.name)} · outlive`;
    showOrder();
    showNotice();
    showTabs();
  }

  let stood = ""; // where in line, when its box was last brought into view
  function showOrder() {
    const shown = [picture(id), line(id)].filter(Boolean), { place } = standing.get(id) ?? {}, seen = `${shown.length} ${place}`;
    job.needs = jobs.get(id)?.needs ?? job.needs;
    parts.order.hidden = !shown.length;
    patch(parts.order, shown);
    if (seen === stood) return;
    for (const own of parts.order.querySelectorAll("[aria-current]")) own.scrollIntoView({ block: "nearest", inline: "center" });
    if (stood && waits()) learn(); // it says more of its place
    stood = seen;
  }

  function showNotice() {
    const parts = [];
    if (isAsked()) parts.push(h("strong", "This command waits for your approval. "), named(job.approval.reason ?? ""), askedFacts(job), commandForm(job));
    else if (job.waiting_for_input && view !== "terminal") parts.push( // that shows it, and its size must not change with it
      h("strong", "It waits for input"), job.prompt ? [": ", h("code", one(job.prompt))] : ". ", job.pty && h("button", { "data-do": "view" }, "Open the terminal"), lineForm(job));
    else if (job.message && isOver()) parts.push(named(job.message));
    else if (job.hint && (job.dropped_bytes || job.missing_bytes)) parts.push(named(job.hint));
    if (job.previous && isOver()) parts.push(previousRun(job.previous));
    notice.hidden = !parts.length;
    notice.className = `notice ${isAsked() || job.waiting_for_input ? "asks" : "bad"}`;
    patch(notice, parts);
    empty.hidden = !known || known.end > 0;
    empty.textContent = isOver() ? "It printed nothing." : waits() ? named((job.advice ?? []).filter((one) => one.kind === "waits_for").map((one) => one.text).join(" ") || "It has not started.") : "Nothing printed yet.";
  }

  // --- beside the output ---

  let events = [];
  let lastEvent = 0;
  let learning = null;
  const learnEvents = () => { learning ??= moreEvents().finally(() => { learning = null; }); };
  async function moreEvents() {
    try {
      for (let more = true; more;) {
        const answer = await verb("events", { since_event: lastEvent, limit: 500 });
        events = [...events, ...answer.events].slice(-3000);
        lastEvent = Math.max(lastEvent, answer.next_event);
        more = answer.truncated;
      }
      showSide();
    } catch (error) {
      if (error instanceof Refused && error.status !== 404) refused(error);
    }
  }

  function showSide() {
    const kinds = []; // events, those of one kind that follow each other as one
    for (const event of events) {
      const last = kinds.at(-1), text = said(event);
      if (last && (last.text === text || (last.event.type === event.type && !event.line))) Object.assign(last, { event, text, times: last.times + 1 });
      else kinds.push({ event, text, times: 1 });
    }
    if (kinds.length) patch(happenings, kinds.slice(-300).map(({ event, text, times }) => h("li", { class: `event ${event.type}` },
      h("button.quiet", { title: `At byte ${number(event.seq)} of the output`, onclick: () => jump(event.seq) },
        h("time", { datetime: event.at }, clock(Date.parse(event.at))), h("span.type", text, times > 1 ? h("span.same", `× ${number(times)}`) : null)))));
    patch(details, factsOf(job, known?.end, lines).map(([name, value]) => h("div", h("dt", name), h("dd", named(value)))));
  }

  // --- the output ---

  let known = null;
  let lines = 0;
  function live() {
    forever(async () => {
      const first = known === null, timed = times;
      const answer = await mine("rows", {
        times,
        count: rows.atEnd || first ? 200 : 1,
        ...(first || rows.tail ? {} : { known, wait_ms: 20000 }),
      });
      const { end, state: now, events: happened } = answer;
      const before = known ?? {};
      known = { end, state: now, events: happened, gaps: JSON.stringify(answer.gaps) };
      if (!first && known.gaps !== before.gaps) rows.clear();
      rows.take(timed === times ? answer : { ...answer, rows: [] });
      lines = answer.total_lines ?? lines;
      if (end !== before.end) showSide();
      showCounting(answer);
      for (const name of "pty state exit_code signal reason waiting_for_input prompt echo asked_at dropped_bytes missing_bytes hint supervisor".split(" ")) job[name] = answer[name];
      showNotice();
      showTabs();
      if (first && job.pty && runs() && !location.hash) showView("terminal");
      if (now !== before.state || happened !== before.events) { learn(); learnEvents(); }
      if (answer.over) learnRuns();
      if (answer.over && answer.end < MOST_LOOKED) learnGroups(false);
      const hasFailed = answer.over && (answer.state !== "exited" || answer.exit_code);
      if (first && location.hash.startsWith("#seq=")) jump(Number(location.hash.slice(5)));
      // Who has scrolled or selected something stays there
      else if (hasFailed && (first || (rows.atEnd && view === "output")) && await learnFailures()) fail(failures.first);
      else if (failures?.tests) showFailures();
      return !answer.over || answer.total_rows === null;
    }, signal, (error) => { refused(error); return error.status >= 500; });
  }

  function showCounting(answer) {
    counting.hidden = answer.total_rows !== null;
    if (answer.total_rows === null) counting.textContent = `The end of ${bytes(answer.end)}. Counting lines: ${Math.floor((100 * answer.counted) / answer.end)} %`;
  }

  // Go to the row with { seq } or { line }
  async function goTo(wanted) {
    showView("output");
    try {
      const answer = await mine("rows", { ...wanted, times, count: 200 });
      if (answer.total_rows === null) return setTimeout(() => { if (!signal.aborted) goTo(wanted); }, 300);
      rows.take({ ...answer, total_rows: Math.max(answer.total_rows, rows.total) });
      rows.toRow(answer.row, { point: true });
    } catch (error) { refused(error); }
  }

  function jump(seq) {
    history.replaceState(null, "", `${base}job/${id}#seq=${seq}`);
    return goTo({ seq });
  }

  const toLine = (line) => goTo({ line });

  // --- search ---

  let matches = [];
  let at = -1;
  let looking = null;
  async function find() {
    const pattern = search.value && !isPressed(strict) ? `(?i)${search.value}` : search.value;
    looking?.abort();
    looking = new AbortController();
    const now = looking.signal;
    matches = [];
    at = -1;
    rows.marks = pattern ? expression(pattern) : null;
    rows.draw();
    found.hidden = !pattern;
    hits.textContent = pattern && "…";
    try {
      for (let from = 0, done = !pattern; !done;) {
        const answer = await run("log", { job_id: id, search: pattern, context: 0, since_seq: from, limit: 1000, max_bytes: 262144 }, now);
        const begun = matches.length;
        for (const text of answer.output.split("\n")) {
          const [, line, shown] = /^(\d+):(.*)$/.exec(text) ?? [];
          if (line) matches.push([Number(line), shown]);
        }
        done = answer.next_seq <= from || answer.next_seq >= (known?.end ?? 0) || matches.length >= MOST_MATCHES;
        from = answer.next_seq;
        showHits(done);
        if (!begun) step(1);
      }
    } catch (error) {
      if (!now.aborted) patch(hits, h("span.bad", named(error.message)));
    }
  }

  function showHits(done) {
    const many = `${number(Math.min(MOST_MATCHES, matches.length))}${matches.length >= MOST_MATCHES ? "+" : ""}`;
    hits.textContent = matches.length ? `${at < 0 ? "" : `${number(at + 1)} of `}${many}${done ? "" : "…"}` : done ? "none" : "…";
    const from = Math.max(0, Math.min(at - 5, matches.length - 200));
    showPane(found, `${many} matching lines`, matches.slice(from, from + 200), (offset) => { at = from + offset - 1; step(1); }, { now: at - from, close: () => { search.value = ""; find(); } });
  }

  function step(by) {
    if (!matches.length) return;
    at = (at + by + matches.length) % matches.length;
    showHits(true);
    toLine(matches[at][0]);
  }

  // The lines that say why, as the matchers of the server find them, in their order
  let failures = null;
  const learnFailures = () => asked(async () => {
    const { failures: all, total, tests } = await mine("failures");
    failures = { total, tests, first: all[0]?.[0], lines: all.sort((a, b) => a[0] - b[0]) };
    return all.length;
  });

  function showFailures() {
    const { lines, total, tests, first } = failures;
    showPane(found, total ? `${counted(total, "line reports", "lines report")} a failure` : "No line reports a failure",
      lines.map(([seq, text]) => [seq === first ? "why" : "", text]), (at) => fail(lines[at][0]), { now: lines.findIndex(([seq]) => seq === pointed), more: tests && testTable(tests) });
  }

  let pointed = null; // the failure that is shown
  function fail(seq) {
    pointed = seq;
    showFailures();
    return jump(seq);
  }

  async function stepFailure(by) {
    if (isOver() && failures ? !failures.lines.length : !await learnFailures()) return toast("No line reports a failure");
    const { lines, first } = failures, at = lines.findIndex(([seq]) => seq === pointed);
    return fail(at < 0 ? first : lines[(at + by + lines.length) % lines.length][0]);
  }

  // What the report of its tests says
  function testTable({ passed, failed, skipped, failures: some }) {
    const { whole, count, table, rows } = made("tests");
    count.textContent = `Tests: ${number(passed)} passed, ${number(failed)} failed, ${number(skipped)} skipped`;
    rows.append(...some.map((test) => h("tr", h("td", one(test.name)), h("td", one(test.place)), h("td", one(test.message)))));
    table.hidden = !some.length;
    return whole;
  }

  function compare(run) {
    showView("output");
    asked(() => showChanges(found, id, run, toLine, signal));
  }

  const learnGroups = (folded) => asked(async () => {
    const { groups } = await mine("groups");
    if (groups.length) rows.group(groups, folded); else if (folded) toast("No line begins a group (::group::, section_start)");
  });

  const learnRuns = () => asked(async () => {
    const { runs } = await mine("runs");
    parts.runs.hidden = runs.length < 2;
    patch(parts.bars, runBars(runs, id));
  });

  let typing = 0;
  on(search, "input", () => { clearTimeout(typing); typing = setTimeout(find, 250); });
  on(search, "keydown", (event) => {
    if (event.key === "Enter") { if (matches.length) step(event.shiftKey ? -1 : 1); else { clearTimeout(typing); find(); } }
    else if (event.key === "Escape") { if (search.value) { search.value = ""; find(); } rows.element.focus(); event.stopPropagation(); }
    else return;
    event.preventDefault();
  });

  // --- actions ---

  function refused(error) {
    if (signal.aborted || error.name === "AbortError" || error.error?.code === "ended") return undefined;
    if (error instanceof Refused && error.status === 404) {
      const { whole, said } = made("gone");
      said.textContent = named(error.message);
      return void fill(byId("main"), whole);
    }
    return void toast(told(error), "bad");
  }

  const act = (what, done) => asked(async () => {
    const answer = await what();
    if (done) toast(done, "good");
    learn();
    return answer;
  });

  async function kill() {
    const isBegun = runs(), answer = await ask(isBegun ? "kill" : "take-out", { name: one(job.name) });
    if (answer && !isBegun) act(() => verb("kill"), "It was taken out");
    else if (answer) act(() => verb("kill", { grace_ms: Math.round(Number(answer.grace) * 1000), wait_ms: 0 }), "It is being ended");
  }

  async function restart() {
    if (!await ask("restart", { command: shell(job.command), cwd: job.cwd ? `in ${name(job.cwd)}` : "" })) return;
    const answer = await act(() => verb("restart", { background: true }));
    if (answer) page.go(`job/${answer.job_id}`);
  }

  async function edit() {
    const started = await startCommand({ ...jobs.get(id), ...job });
    if (started) page.go(`job/${started}`);
  }

  async function remove() {
    if (await deleteJobs([id], one(job.name))) page.go(page.list);
  }

  async function write() {
    const answer = await ask("write", {});
    if (answer) act(() => verb("write", { data: answer.data + (answer.newline ? "\n" : ""), eof: answer.eof, wait_ms: 0 }), "Written");
  }

  async function tag() {
    const answer = await ask("tags", { tags: (job.tags ?? []).join(" ") });
    if (answer) act(() => verb("tag_set", { tags: answer.tags.split(/[\s,]+/).filter(Boolean) }));
  }

  async function download() {
    const answer = await act(() => mine("ticket"));
    if (answer) h("a", { href: `${base}download/${answer.ticket}`, download: "" }).click();
  }

  async function notify() {
    await turnEnd(id);
    showHead();
  }
  addEventListener("jobs", showHead, { signal });
  addEventListener("job", ({ detail: { job: now } }) => {
    if (now.job_id !== id) return;
    Object.assign(job, now);
    showHead();
  }, { signal });

  // --- the terminal ---

  function showTabs() {
    tabs.hidden = !job.pty;
    for (const tab of tabs.children) tab.ariaSelected = String(tab.dataset.do === view);
  }

  function showView(name) {
    if (view === name) return;
    view = name;
    showTabs();
    showNotice();
    tools.hidden = name === "terminal";
    terminal?.close();
    terminal = null;
    rows.element.hidden = name === "terminal";
    if (name === "terminal") {
      found.hidden = true;
      terminal = new Terminal(id, refused);
      place.append(terminal.element);
      terminal.begin();
    } else {
      rows.measure();
      rows.element.focus({ preventScroll: true });
    }
  }

  // --- keys ---

  const when = { approve: isAsked, deny: isAsked, kill: () => runs() || waits(), restart: isOver, edit: isOver, remove: isOver, write: runs, notify: () => runs() && "Notification" in window, compare: isOver, comparePassed: isOver, keyboard: () => terminal?.over === false, view: () => job.pty };
  page.does({
    approve: () => notice.querySelector(".good").focus(), deny: () => notice.querySelector("input").focus(),
    kill, restart, edit, remove, write, tag, notify, download,
    compare: () => compare("previous"), comparePassed: () => compare("passed"), copy: () => copy(id, "The id was copied"),
    keyboard: () => terminal.take(), output: () => showView("output"), terminal: () => showView("terminal"), view: () => showView(view === "output" ? "terminal" : "output"),
    search() { search.focus(); search.select(); },
    strict() { press(strict, !isPressed(strict)); find(); },
    before: () => step(-1), after: () => step(1), failure: () => stepFailure(1), failureBefore: () => stepFailure(-1),
    follow() {
      if (rows.atEnd) rows.by(-1); else rows.toEnd();
      press(follow, rows.atEnd);
    },
    wrap() {
      press(wrap, rows.element.classList.toggle("wrap"));
      rows.measure();
    },
    fold: () => learnGroups(!rows.folded.size),
    times() {
      press(parts.times, times = !times);
      rows.clear();
      rows.draw();
    },
    events() { body.classList.toggle("turned"); rows.measure(); },
    down: () => rows.by(1), up: () => rows.by(-1), pageDown: () => rows.by(rows.seen - 1), pageUp: () => rows.by(1 - rows.seen), first: () => rows.toRow(0), last: () => rows.toEnd(),
  }, when);

  every(1000, () => { if (runs()) showHead(); }, signal);
  every(5000, () => { if ((runs() || waits()) && !document.hidden) learn(); }, signal); // what it used so far
  over(signal, () => { rows.close(); terminal?.close(); looking?.abort(); });
  on(place, "click", (event) => {
    const link = event.target.closest("a.number");
    if (!link) return;
    event.preventDefault();
    jump(Number(link.closest(".line").dataset.seq));
  });
  showHead();
  showSide();
  learn();
  live();
  asked(async () => { kept(id, (await mine("usage")).samples); showCurves(); });
  watchUsage(() => (runs() && !job.host ? [id] : []), showCurves, signal, 1000);
  addEventListener("themechange", showCurves, { signal });
  addEventListener("resize", showCurves, { signal });
  rows.element.focus({ preventScroll: true });
}
