// One job: its output, what happened to it, and what can be done with it.

import { base, call, run } from "./api.js";
import { expression, plain } from "./ansi.js";
import { OVER, age, ask, badge, bytes, check, clock, condition, copy, cut, field, fill, h, isPressed, name, named, number, one, over, patch, press, same, shell, toast } from "./dom.js";
import { lineList, paneHead, previousRun, showChanges } from "./changes.js";
import { factsOf, said } from "./facts.js";
import { jobs } from "./jobs.js";
import { Refused, forever, watchHidden } from "./polling.js";
import { Rows } from "./rows.js";
import { Terminal } from "./terminal.js"; // nothing is loaded later on: another program may listen then
import { CPU, Curves, MEMORY, OUTPUT, rates, watchUsage } from "./usage.js";

const MOST_MATCHES = 20_000;
// What programs call an error
const ERROR = "\\b(error|fatal|panic|exception|traceback|failed|failure|segmentation fault|cannot|denied)\\b";

export function show(main, signal, page, id) {
  const job = { ...(jobs.get(id) ?? { job_id: id, state: "unknown", name: id }) };
  let view = "output";
  let terminal = null;
  const runs = () => job.state === "running", isAsked = () => job.approval?.state === "pending", isOver = () => OVER.has(job.state);
  const keys = {};
  const titled = (help, key) => `${help[0].toUpperCase()}${help.slice(1)} (${key})`;
  // A button, and the key that does the same
  const tool = (key, word, help, act, kind = ".quiet", more = {}) => {
    keys[key] = [help, act];
    return h(`button${kind}`, { title: titled(help, key), onclick: act, ...more }, word);
  };
  const toggle = (key, word, help, act, on = false) => tool(key, word, help, act, ".toggle", { "aria-pressed": String(on) });

  // --- the parts of the page ---

  const title = h("h1");
  const state = h("span.state");
  const facts = h("p.facts");
  const actions = h("div.actions", { role: "group", "aria-label": "Actions" });
  const notice = h("div.notice", { hidden: true });
  const search = h("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search the output", title: "RE2", spellcheck: "false", autocomplete: "off" });
  keys["/"] = ["search the output", () => { search.focus(); search.select(); }];
  const hits = h("span.hits", { role: "status" });
  const strict = toggle("C", "Aa", "tell capitals apart", () => { press(strict, !isPressed(strict)); find(); });
  const found = h("aside.found", { hidden: true, "aria-label": "Matches" });
  const side = h("aside.side", { "aria-label": "What happened" });
  const counting = h("div.counting", { hidden: true, role: "status" });
  const empty = h("p.empty", { hidden: true });
  const tabs = h("div.tabs", { role: "tablist", "aria-label": "Views", hidden: true });
  const rows = new Rows({
    load: (row, count, signal) => call("rows", { job_id: id, row, count }, signal),
    link: (seq) => `${base}job/${id}#seq=${seq}`,
    onMove: () => press(follow, rows.atEnd),
  });
  rows.element.id = "output";
  const place = h("div.place", rows.element, empty);
  const follow = toggle("f", "Follow", "follow the output", turnFollow, true);
  const tools = h("div.tools", h("div.search", search, strict,
    tool("N", "↑", "previous match", () => step(-1), ".quiet", { "aria-label": "Previous match" }),
    tool("n", "↓", "next match", () => step(1), ".quiet", { "aria-label": "Next match" }), hits),
    tool("e", "First error", "first line that looks like an error", firstError, ""),
    h("span.grow"), follow,
    ...[["w", "Wrap", "wrap long lines", "wrap"], ["r", "Fold repeats", "fold repeated lines", "fold"]].map(([key, word, help, name]) => {
      const button = toggle(key, word, help, () => {
        press(button, rows[name] = !rows[name]);
        rows.element.classList.toggle(name, rows[name]);
        rows.measure();
      });
      return button;
    }),
    tool("c", "Copy", "copy the lines in view", () => copy(rows.text(), "The lines in view were copied")),
    tool("d", "Download", "download the whole output", download),
    tool("s", "Events", "events and details", () => { side.parentElement.classList.toggle("turned"); rows.measure(); }));
  const curves = new Curves({
    parts: [CPU, MEMORY, OUTPUT], label: "What it uses, over time",
    pieces: (part) => rates(id).map((one) => ({ ...one, value: one[part.name.toLowerCase()] })),
    // What was printed at a time is where the output ended at that look
    picked: (time) => { const one = rates(id).find((piece) => time <= piece.to); if (one?.end) jump(one.end - 1); },
  });
  curves.element.hidden = true;
  fill(main, h("div.job-page",
    h("div.head",
      h("div.who", page.link("a.back", page.list, { "aria-label": "All jobs", title: "All jobs (Esc)" }, "←"), title, state),
      actions, facts),
    notice, tabs, curves.element,
    h("div.body", h("div.out", tools, counting, h("div.panes", place, found)), side)));

  // --- what is known of the job ---

  async function learn() {
    try {
      Object.assign(job, await run("status", { job_id: id }, signal));
      showHead();
      showSide();
    } catch (error) { refused(error); }
  }

  function showHead() {
    title.textContent = one(job.title || job.name || id);
    const command = shell(job.command);
    title.title = command;
    patch(state, badge(job));
    patch(facts,
      h("code.command", { title: command }, cut(command, 5000)),
      h("span", { id: "age" }, age(job)),
      job.cwd ? h("span", { title: "Directory" }, name(job.cwd)) : null,
      h("button.quiet.id", { title: "Copy the id", onclick: copyId }, id.slice(-8).toLowerCase()),
      (job.tags ?? []).map((tag) => h("span.tag", one(tag))));
    patch(actions, acts.map(([key, help, act, when, word, kind]) => word && when() && h(`button${kind}`, { title: titled(help, key), onclick: act, "aria-pressed": act === notify ? String(told) : null }, word)));
    document.title = `${condition(job).icon} ${one(job.name)} · outlive`;
    showNotice();
    showTabs();
  }

  function showNotice() {
    const parts = [];
    if (isAsked()) parts.push(h("strong", "This command waits for your approval. "), named(job.approval.reason ?? ""), askedFacts());
    else if (job.waiting_for_input && view !== "terminal") parts.push( // that shows it, and its size must not change with it
      h("strong", "It waits for input"), job.prompt ? [": ", h("code", one(job.prompt))] : ".", " ", h("button", { onclick: () => (job.pty ? showView("terminal") : write()) }, job.pty ? "Open the terminal" : "Answer…"));
    else if (job.message && isOver()) parts.push(named(job.message));
    else if (job.hint && (job.dropped_bytes || job.missing_bytes)) parts.push(named(job.hint));
    if (job.previous && isOver()) parts.push(h("p.previous", previousRun(job, page, compare)));
    notice.hidden = !parts.length;
    notice.className = `notice ${isAsked() || job.waiting_for_input ? "asks" : "bad"}`;
    patch(notice, parts);
  }

  function copyId() {
    copy(id, "The id was copied");
  }

  // Everything that decides what runs, one fact a line
  function askedFacts() {
    return h("dl.asked", (job.approval?.facts ?? []).map((fact) => [h("dt", named(fact.label)), h("dd", named(fact.value))]));
  }

  // --- beside the output ---

  function showCurves() {
    const found = rates(id);
    curves.element.hidden = found.length < 2;
    if (found.length >= 2) curves.draw(found[0].from, found.at(-1).to);
  }

  let events = [];
  let lastEvent = 0;
  let learning = null;
  const learnEvents = () => { learning ??= moreEvents().finally(() => { learning = null; }); };
  async function moreEvents() {
    try {
      for (let more = true; more;) {
        const answer = await run("events", { job_id: id, since_event: lastEvent, limit: 500 }, signal);
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
    const open = side.querySelector("details")?.open ?? true;
    patch(side,
      h("h2", "Events"),
      events.length ? h("ol.events", events.slice(-300).map((event) => h("li", { class: `event ${event.type}` },
        h("button.quiet", { title: `At byte ${number(event.seq)} of the output`, onclick: () => jump(event.seq) },
          h("time", { datetime: event.at }, clock(Date.parse(event.at))), h("span.type", said(event)))))) : h("p.dim", "Nothing yet."),
      h("details", { open }, h("summary", "Details"), h("dl", factsOf(job, known?.end, lines).map(([name, value]) => h("div", h("dt", name), h("dd", named(value)))))));
  }

  // --- the output ---

  let known = null;
  let lines = 0;
  function live() {
    forever(async () => {
      const first = known === null;
      const answer = await call("rows", {
        job_id: id, count: rows.atEnd || first ? 200 : 1,
        ...(first || rows.tail ? {} : { known, wait_ms: 20000 }),
      }, signal);
      const { end, state: now, events: happened } = answer;
      const before = known ?? {};
      known = { end, state: now, events: happened, gaps: JSON.stringify(answer.gaps) };
      if (!first && known.gaps !== before.gaps) rows.clear();
      rows.take(answer);
      lines = answer.total_lines ?? lines;
      if (end !== before.end) showSide();
      showCounting(answer);
      for (const name of ["pty", "state", "exit_code", "signal", "reason", "waiting_for_input", "prompt", "dropped_bytes", "missing_bytes", "hint", "supervisor"]) job[name] = answer[name];
      showNotice();
      showTabs();
      if (first && job.pty && runs() && !location.hash) showView("terminal");
      if (now !== before.state || happened !== before.events) { learn(); learnEvents(); }
      if (first && location.hash.startsWith("#seq=")) jump(Number(location.hash.slice(5)));
      return !answer.over || answer.total_rows === null;
    }, signal, (error) => { refused(error); return error.status >= 500; });
  }

  function showCounting(answer) {
    counting.hidden = answer.total_rows !== null;
    if (answer.total_rows === null) counting.textContent = `The end of ${bytes(answer.end)}. Counting lines: ${Math.floor((100 * answer.counted) / answer.end)} %`;
    empty.hidden = answer.end > 0;
    empty.textContent = OVER.has(answer.state) ? "It printed nothing." : "Nothing printed yet.";
  }
  function turnFollow() {
    if (rows.atEnd) { rows.atEnd = false; rows.by(-1); } else rows.toEnd();
    press(follow, rows.atEnd);
  }

  // Go to the row with { seq } or { line }
  async function goTo(wanted) {
    showView("output");
    try {
      const answer = await call("rows", { job_id: id, ...wanted, count: 200 }, signal);
      if (answer.total_rows === null) return void setTimeout(() => { if (!signal.aborted) goTo(wanted); }, 300);
      rows.take({ ...answer, total_rows: Math.max(answer.total_rows, rows.total) });
      rows.toRow(answer.row, { point: true });
    } catch (error) { refused(error); }
    return undefined;
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
          if (line) matches.push([Number(line), plain([0, shown])]);
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
    patch(found, paneHead(`${many} matching lines`, "Close the matches", () => { search.value = ""; find(); }),
      lineList(matches.slice(from, from + 200), (offset) => { at = from + offset - 1; step(1); }, at - from));
    found.querySelector(".now")?.scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    if (!matches.length) return;
    at = (at + by + matches.length) % matches.length;
    showHits(true);
    toLine(matches[at][0]);
  }

  async function firstError() {
    try {
      const answer = await run("log", { job_id: id, search: `(?i)${ERROR}`, context: 0, limit: 1 }, signal);
      if (!answer.matches) return toast("No line looks like an error");
      rows.marks = new RegExp(ERROR, "gi");
      return await toLine(answer.first_line);
    } catch (error) { return refused(error); }
  }

  async function compare() {
    showView("output");
    try { await showChanges(found, id, toLine, signal); } catch (error) { refused(error); }
  }

  let typing = 0;
  search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(find, 250); });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { if (matches.length) step(event.shiftKey ? -1 : 1); else { clearTimeout(typing); find(); } }
    else if (event.key === "Escape") { if (search.value) { search.value = ""; find(); } rows.element.focus(); event.stopPropagation(); }
    else return;
    event.preventDefault();
  });

  // --- actions ---

  function refused(error) {
    if (signal.aborted || error.name === "AbortError" || error.error?.code === "ended") return undefined;
    if (error instanceof Refused && error.status === 404) {
      return void fill(main, h("div.empty", h("h1", "This job is gone"), h("p", named(error.message)), h("button", { onclick: () => page.go("") }, "All jobs")));
    }
    return void toast(error.error?.hint ? `${error.message}. ${error.error.hint}` : error.message, "bad");
  }

  async function act(what, done) {
    try {
      const answer = await what();
      if (done) toast(done, "good");
      learn();
      return answer;
    } catch (error) {
      refused(error);
      return null;
    }
  }

  async function kill() {
    const answer = await ask("End this job?", [h("p", one(job.name)), field("Grace before SIGKILL, in seconds ", { name: "grace", type: "number", min: 0, max: 3600, step: "any", value: "5" })], "Kill", "bad");
    if (answer) act(() => run("kill", { job_id: id, grace_ms: Math.round(Number(answer.grace) * 1000), wait_ms: 0 }), "It is being ended");
  }

  async function restart() {
    if (!await ask("Start this command again?", [h("pre", shell(job.command)), job.cwd ? h("p.dim", "in ", name(job.cwd)) : null], "Restart")) return;
    const answer = await act(() => run("restart", { job_id: id, background: true }));
    if (answer) page.go(`job/${answer.job_id}`);
  }

  async function write() {
    const answer = await ask("Write into its input", [field("Text", { name: "data", rows: 3 }, "textarea"), check("Enter at the end", "newline", true), check("End of input after it", "eof")], "Write");
    if (answer) act(() => run("write", { job_id: id, data: answer.data + (answer.newline ? "\n" : ""), eof: answer.eof, wait_ms: 0 }), "Written");
  }

  async function tag() {
    const answer = await ask("Tags", field("Words separated by spaces", { name: "tags", value: (job.tags ?? []).join(" ") }), "Set");
    if (answer) act(() => run("tag_set", { job_id: id, tags: answer.tags.split(/[\s,]+/).filter(Boolean) }));
  }

  async function watch() {
    const answer = await ask("Record an event when a line matches", [field("Pattern (RE2)", { name: "pattern", required: true }), check("Only once", "once")], "Watch");
    if (answer?.pattern) act(() => run("notify_set", { job_id: id, watch: [answer] }), "Watching: hits are events, beside the output");
  }

  async function approve() {
    const answer = await ask("Approve this command?", [askedFacts(), check("Always, exactly this", "always")], "Approve", "good");
    if (answer) act(() => call("approve", { job_id: id, ...answer }), "Approved");
  }

  async function deny() {
    const answer = await ask("Deny this command?", [askedFacts(), field("Why (its caller is told)", { name: "reason" })], "Deny", "bad");
    if (answer) act(() => call("deny", { job_id: id, ...(answer.reason ? answer : {}) }), "Denied");
  }

  async function download() {
    const answer = await act(() => call("ticket", { job_id: id }));
    if (answer) h("a", { href: `${base}download/${answer.ticket}`, download: "" }).click();
  }

  let told = false;
  async function notify() {
    if (!told && (await Notification.requestPermission()) !== "granted") return toast("This browser does not let the page notify", "bad");
    told = !told;
    watchHidden(told ? 1 : -1);
    return showHead();
  }
  addEventListener("job", ({ detail: { job: now } }) => {
    if (now.job_id !== id) return;
    const before = job.state;
    Object.assign(job, now);
    showHead();
    if (told && !OVER.has(before) && OVER.has(now.state)) {
      new Notification(`${one(now.name)}: ${condition(now).text}`, { body: one(now.last_line ?? ""), tag: id });
      told = false;
      watchHidden(-1);
    }
  }, { signal });
  over(signal, () => { if (told) watchHidden(-1); });

  // --- the terminal ---

  function showTabs() {
    tabs.hidden = !job.pty;
    if (!job.pty) return;
    patch(tabs, [["output", "Output"], ["terminal", "Terminal"]].map(([name, text]) => h("button", { role: "tab", "aria-selected": String(view === name), onclick: () => showView(name) }, text)));
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
      terminal = new Terminal(id, job, { refused });
      place.append(terminal.element);
      terminal.begin();
    } else {
      rows.measure();
      rows.element.focus({ preventScroll: true });
    }
  }

  // --- keys ---

  // Key, what the help says, what it does, when; and as a button of the head, its word and its kind
  const acts = [
    ["a", "approve", approve, isAsked, "Approve", ".good"], ["D", "deny", deny, isAsked, "Deny", ".bad"],
    ["x", "kill", kill, runs, "Kill…", ".bad"], ["R", "restart", restart, isOver, "Restart", ""], ["i", "write into its input", write, runs, "Write…", ""],
    ["T", "tags", tag, () => true, "Tags…", ".quiet"], ["W", "watch for a line", watch, runs, "Watch…", ".quiet"],
    ["b", "tell me of its end", notify, () => runs() && "Notification" in window, "Tell me", ".quiet.toggle"],
    ["p", "compare with the run before", compare, () => job.previous && isOver()],
    ["m", "take the keyboard", () => terminal.take(), () => terminal && !terminal.over],
    ["v", "output or terminal", () => showView(view === "output" ? "terminal" : "output"), () => job.pty],
  ];
  for (const [key, help, act, when] of acts) keys[key] = [help, () => { if (when()) act(); }];
  page.keys({
    ...keys,
    y: ["copy the id", copyId],
    ...same("down", () => rows.by(1), "j", "ArrowDown"), ...same("up", () => rows.by(-1), "k", "ArrowUp"),
    ...same("a page down", () => rows.by(rows.seen - 1), " ", "PageDown"), ...same("", () => rows.by(1 - rows.seen), "PageUp"),
    ...same("", () => rows.toRow(0), "Home"), ...same("the end", () => rows.toEnd(), "G", "End"),
    Escape: ["all jobs", () => page.go(page.list)],
  });

  let seconds = 0;
  const timer = setInterval(() => {
    const shown = document.getElementById("age");
    if (!shown || job.state !== "running") return;
    shown.textContent = age(job);
    seconds += 1;
    if (seconds % 5 === 0 && !document.hidden) learn(); // what it used so far
  }, 1000);
  over(signal, () => { clearInterval(timer); rows.close(); terminal?.close(); looking?.abort(); });
  place.addEventListener("click", (event) => {
    const link = event.target.closest("a.number");
    if (!link) return;
    event.preventDefault();
    jump(Number(link.closest(".line").dataset.seq));
  });
  showHead();
  showSide();
  learn();
  live();
  showCurves();
  watchUsage(() => (runs() && !job.host ? [id] : []), showCurves, signal, 1000);
  addEventListener("themechange", showCurves, { signal });
  addEventListener("resize", showCurves, { signal });
  rows.element.focus({ preventScroll: true });
}
