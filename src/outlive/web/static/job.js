// One job: its output, what happened to it, and what can be done with it.

import { base, call, run } from "./api.js";
import { expression, plain } from "./ansi.js";
import { OVER, age, ask, badge, bytes, clock, condition, copy, cut, fill, h, name, named, number, one, patch, shell, toast, visible } from "./dom.js";
import { previousRun, showChanges } from "./changes.js";
import { factsOf, said } from "./facts.js";
import { jobs } from "./jobs.js";
import { Refused, forever, watchHidden } from "./polling.js";
import { Rows } from "./rows.js";
import { Terminal } from "./terminal.js"; // nothing is loaded later on: another program may listen then
import { CPU, Curves, MEMORY, OUTPUT, rates, watchUsage } from "./usage.js";

// What programs call an error; RE2
const ERROR = "(?i)\\b(error|fatal|panic|exception|traceback|failed|failure|segmentation fault|cannot|denied)\\b";

export function show(main, signal, page, id) {
  const job = { ...(jobs.get(id) ?? { job_id: id, state: "unknown", name: id }) };
  let view = "output";
  let terminal = null;
  const runs = () => job.state === "running", isAsked = () => job.approval?.state === "pending", isOver = () => OVER.has(job.state);

  // --- the parts of the page ---

  const title = h("h1", {});
  const state = h("span", { class: "state" });
  const facts = h("p", { class: "facts" });
  const actions = h("div", { class: "actions", role: "group", "aria-label": "Actions" });
  const notice = h("div", { class: "notice", hidden: true });
  const search = h("input", { type: "search", id: "search", placeholder: "Search", "aria-label": "Search the output", title: "RE2", spellcheck: "false", autocomplete: "off" });
  const hits = h("span", { class: "hits", role: "status" });
  const toggle = (text, title, onclick, on = false) => h("button", { class: "toggle", "aria-pressed": String(on), title, onclick }, text);
  const follow = toggle("Follow", "Follow the output (f)", () => turnFollow(), true);
  const wrap = toggle("Wrap", "Wrap long lines (w)", () => turn(wrap, "wrap"));
  const fold = toggle("Fold repeats", "Fold repeated lines (r)", () => turn(fold, "fold"));
  const strict = toggle("Aa", "Tell capitals apart (C)", () => { strict.setAttribute("aria-pressed", String(!isStrict())); find(); });
  const isStrict = () => strict.getAttribute("aria-pressed") === "true";
  const found = h("aside", { class: "found", hidden: true, "aria-label": "Matches" });
  const side = h("aside", { class: "side", "aria-label": "What happened" });
  const counting = h("div", { class: "counting", hidden: true, role: "status" });
  const place = h("div", { class: "place" });
  const tabs = h("div", { class: "tabs", role: "tablist", "aria-label": "Views", hidden: true });
  const rows = new Rows({
    load: (row, count, signal) => call("rows", { job_id: id, row, count }, signal),
    link: (seq) => `${base}job/${id}#seq=${seq}`,
    onMove: () => showFollow(),
  });
  rows.element.id = "output";
  const tools = h("div", { class: "tools" },
    h("div", { class: "search" }, search, strict,
      h("button", { class: "quiet", title: "Previous match (N)", "aria-label": "Previous match", onclick: () => step(-1) }, "↑"),
      h("button", { class: "quiet", title: "Next match (n)", "aria-label": "Next match", onclick: () => step(1) }, "↓"), hits),
    h("button", { title: "First line that looks like an error (e)", onclick: () => firstError() }, "First error"),
    h("span", { class: "grow" }), follow, wrap, fold,
    h("button", { class: "quiet", title: "Copy what is shown (c)", onclick: () => copy(rows.text(), "The lines in view were copied") }, "Copy"),
    h("button", { class: "quiet", title: "Download the whole output (d)", onclick: () => download() }, "Download"),
    h("button", { class: "quiet", title: "Events and details (s)", onclick: () => turnSide() }, "Events"));
  place.append(rows.element);
  const curves = new Curves({
    parts: [CPU, MEMORY, OUTPUT], label: "What it uses, over time",
    pieces: (part) => rates(id).map((one) => ({ ...one, value: one[part.name.toLowerCase()] })),
    // What was printed at a time is where the output ended at that look
    picked: (time) => { const one = rates(id).find((piece) => time <= piece.to); if (one && one.end) jump(one.end - 1); },
  });
  curves.element.hidden = true;
  fill(main, h("div", { class: "job-page" },
    h("div", { class: "head" },
      h("div", { class: "who" }, h("a", { class: "back", href: base + page.list, "aria-label": "All jobs", title: "All jobs (Esc)", onclick: (event) => page.follow(event, page.list) }, "←"), title, state),
      actions, facts),
    notice, tabs, curves.element,
    h("div", { class: "body" }, h("div", { class: "out" }, tools, counting, h("div", { class: "panes" }, place, found)), side)));

  // --- what is known of the job ---

  async function learn() {
    try {
      Object.assign(job, await run("status", { job_id: id }, signal));
      showHead();
      showSide();
    } catch (error) {
      if (!signal.aborted) refused(error);
    }
  }

  function showHead() {
    title.textContent = one(job.title || job.name || id);
    const command = shell(job.command);
    title.title = command;
    patch(state, badge(job));
    patch(facts,
      h("code", { class: "command", title: command }, cut(command, 5000)),
      h("span", { id: "age" }, age(job)),
      job.cwd ? h("span", { title: "Directory" }, name(job.cwd)) : null,
      h("button", { class: "quiet id", title: "Copy the id", onclick: () => copy(id, "The id was copied") }, id.slice(-8).toLowerCase()),
      (job.tags ?? []).map((tag) => h("span", { class: "tag" }, one(tag))));
    patch(actions,
      isAsked() ? [h("button", { class: "good", onclick: () => approve() }, "Approve"), h("button", { class: "bad", onclick: () => deny() }, "Deny")] : null,
      runs() ? h("button", { class: "bad", title: "End the job (x)", onclick: () => kill() }, "Kill…") : null,
      isOver() ? h("button", { title: "Start the same command again (R)", onclick: () => restart() }, "Restart") : null,
      runs() ? h("button", { title: "Write into its input (i)", onclick: () => write() }, "Write…") : null,
      h("button", { class: "quiet", title: "Change its tags", onclick: () => tag() }, "Tags…"),
      runs() ? h("button", { class: "quiet", title: "Record an event when a line matches", onclick: () => watch() }, "Watch…") : null,
      runs() && "Notification" in window ? h("button", { class: "quiet toggle", "aria-pressed": String(told), title: "A notification of the desktop at its end", onclick: () => notify() }, "Tell me") : null);
    document.title = `${condition(job).icon} ${one(job.name)} · outlive`;
    showNotice();
    showTabs();
  }

  function showNotice() {
    const parts = [];
    if (isAsked()) parts.push(h("strong", {}, "This command waits for your approval. "), named(job.approval.reason ?? ""), askedFacts());
    else if (job.waiting_for_input && view !== "terminal") parts.push( // that shows it, and its size must not change with it
      h("strong", {}, "It waits for input"), job.prompt ? [": ", h("code", {}, one(job.prompt))] : ".", " ", h("button", { onclick: () => (job.pty ? showView("terminal") : write()) }, job.pty ? "Open the terminal" : "Answer…"));
    else if (job.message && isOver()) parts.push(named(job.message));
    else if (job.hint && (job.dropped_bytes || job.missing_bytes)) parts.push(named(job.hint));
    if (job.previous && isOver()) parts.push(h("p", { class: "previous" }, previousRun(job, page, compare)));
    notice.hidden = !parts.length;
    notice.className = `notice ${isAsked() || job.waiting_for_input ? "asks" : "bad"}`;
    patch(notice, parts);
  }

  // Everything that decides what runs, one fact a line
  function askedFacts() {
    return h("dl", { class: "asked" }, (job.approval?.facts ?? []).map((fact) => [h("dt", {}, named(fact.label)), h("dd", {}, named(fact.value))]));
  }

  // --- beside the output ---

  function showCurves() {
    const found = rates(id);
    curves.element.hidden = found.length < 2;
    if (found.length >= 2) curves.draw(found[0].from, found.at(-1).to);
  }

  let events = [];
  let lastEvent = 0;
  let eventsBusy = false;
  async function learnEvents() {
    if (eventsBusy) return;
    eventsBusy = true;
    try {
      for (;;) {
        const answer = await run("events", { job_id: id, since_event: lastEvent, limit: 500 }, signal);
        events.push(...answer.events);
        lastEvent = Math.max(lastEvent, answer.next_event);
        if (!answer.truncated) break;
      }
      if (events.length > 3000) events = events.slice(-2000);
      showSide();
    } catch (error) {
      if (error instanceof Refused && error.status !== 404) refused(error);
    } finally {
      eventsBusy = false;
    }
  }

  function showSide() {
    const open = side.querySelector("details")?.open ?? true;
    patch(side,
      h("h2", {}, "Events"),
      events.length ? h("ol", { class: "events" }, events.slice(-300).map((event) => h("li", { class: `event ${event.type}` },
        h("button", { class: "quiet", title: `At byte ${number(event.seq)} of the output`, onclick: () => jump(event.seq) },
          h("time", { datetime: event.at }, clock(Date.parse(event.at))), h("span", { class: "type" }, said(event)))))) : h("p", { class: "dim" }, "Nothing yet."),
      h("details", { open }, h("summary", {}, "Details"), h("dl", {}, factsOf(job, known?.end, lines).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, named(value)))))));
  }

  // --- the output ---

  let known = null;
  let lines = 0;
  function live() {
    forever(async () => {
      const first = known === null;
      const busy = rows.tail !== null;
      const answer = await call("rows", {
        job_id: id, count: rows.atEnd || first ? 200 : 1,
        ...(first || busy ? {} : { known, wait_ms: 20000 }),
      }, signal);
      const { end, state: now, events: happened } = answer;
      const changed = first || now !== known.state;
      const grown = first || end !== known.end;
      const more = first || happened !== known.events;
      const gaps = JSON.stringify(answer.gaps);
      if (known && known.gaps !== gaps) rows.clear();
      known = { end, state: now, events: happened, gaps };
      rows.take(answer);
      lines = answer.total_lines ?? lines;
      if (grown) showSide();
      showCounting(answer);
      for (const name of ["pty", "state", "exit_code", "signal", "reason", "waiting_for_input", "prompt", "dropped_bytes", "missing_bytes", "hint", "supervisor"]) job[name] = answer[name];
      showNotice();
      showTabs();
      if (first && job.pty && runs() && !location.hash) showView("terminal");
      if (changed || more) { learn(); learnEvents(); }
      if (first && location.hash.startsWith("#seq=")) jump(Number(location.hash.slice(5)));
      if (answer.over && answer.total_rows !== null) return false;
      return true;
    }, signal, (error) => { refused(error); return error.status >= 500; });
  }

  function showCounting(answer) {
    counting.hidden = answer.total_rows !== null;
    if (answer.total_rows === null) counting.textContent = `The end of ${bytes(answer.end)}. Counting lines: ${Math.floor((100 * answer.counted) / answer.end)} %`;
    empty.hidden = answer.end > 0;
    empty.textContent = OVER.has(answer.state) ? "It printed nothing." : "Nothing printed yet.";
  }
  const empty = h("p", { class: "empty", hidden: true });
  place.append(empty);

  function showFollow() {
    follow.setAttribute("aria-pressed", String(rows.atEnd));
  }

  function turnFollow() {
    if (rows.atEnd) { rows.atEnd = false; rows.by(-1); } else rows.toEnd();
    showFollow();
  }

  function turnSide() {
    side.parentElement.classList.toggle("turned");
    rows.measure();
  }

  function turn(button, name) {
    rows[name] = !rows[name];
    button.setAttribute("aria-pressed", String(rows[name]));
    rows.element.classList.toggle(name, rows[name]);
    rows.measure();
  }

  async function jump(seq) {
    showView("output");
    try {
      const answer = await call("rows", { job_id: id, seq, count: 200 }, signal);
      if (answer.total_rows === null) return void setTimeout(() => { if (!signal.aborted) jump(seq); }, 300);
      rows.take({ ...answer, total_rows: Math.max(answer.total_rows, rows.total) });
      rows.toRow(answer.row, { point: true });
      history.replaceState(null, "", `${base}job/${id}#seq=${seq}`);
    } catch (error) {
      refused(error);
    }
    return undefined;
  }

  async function toLine(line) {
    const answer = await call("rows", { job_id: id, line, count: 200 }, signal);
    rows.take({ ...answer, total_rows: Math.max(answer.total_rows, rows.total) });
    rows.toRow(answer.row, { point: true });
  }

  // --- search ---

  let matches = [];
  let at = -1;
  let searching = null;
  async function find() {
    const pattern = search.value && !isStrict() ? `(?i)${search.value}` : search.value;
    searching?.abort();
    matches = [];
    at = -1;
    rows.marks = pattern ? expression(pattern) : null;
    rows.draw();
    found.hidden = !pattern;
    if (!pattern) { hits.textContent = ""; return; }
    searching = new AbortController();
    const now = searching.signal;
    signal.addEventListener("abort", () => searching.abort(), { once: true });
    let from = 0;
    hits.textContent = "…";
    try {
      for (;;) {
        const answer = await run("log", { job_id: id, search: pattern, context: 0, since_seq: from, limit: 1000, max_bytes: 262144 }, now);
        const fresh = matches.length === 0;
        for (const text of answer.output.split("\n")) {
          const [, line, shown] = /^(\d+):(.*)$/.exec(text) ?? [];
          if (line) matches.push({ line: Number(line), text: shown });
        }
        showHits(now.aborted || answer.next_seq >= (known?.end ?? 0));
        if (fresh && matches.length) step(1);
        if (now.aborted || answer.next_seq <= from || answer.next_seq >= (known?.end ?? 0) || matches.length >= 20000) break;
        from = answer.next_seq;
      }
      showHits(true);
    } catch (error) {
      if (!now.aborted) { hits.textContent = ""; hits.append(h("span", { class: "bad" }, named(error.message))); }
    }
  }

  function showHits(done) {
    const many = matches.length >= 20000 ? "20,000+" : number(matches.length);
    hits.textContent = matches.length ? `${at < 0 ? "" : `${number(at + 1)} of `}${many}${done ? "" : "…"}` : done ? "none" : "…";
    const from = Math.max(0, Math.min(at - 5, matches.length - 200));
    patch(found, h("div", { class: "found-head" }, h("h2", {}, `${many} matching lines`), h("button", { class: "quiet", "aria-label": "Close the matches", onclick: () => { search.value = ""; find(); } }, "✕")),
      h("ol", {}, matches.slice(from, from + 200).map((match, offset) => h("li", {}, h("button", { class: `quiet${from + offset === at ? " now" : ""}`, onclick: () => { at = from + offset - 1; step(1); } },
        h("span", { class: "number" }, number(match.line)), h("span", { class: "text" }, visible(plain([0, match.text])).slice(0, 300)))))));
    found.querySelector(".now")?.scrollIntoView({ block: "nearest" });
  }

  async function step(by) {
    if (!matches.length) return;
    at = (at + by + matches.length) % matches.length;
    showHits(true);
    try { await toLine(matches[at].line); } catch (error) { refused(error); }
  }

  async function firstError() {
    try {
      const answer = await run("log", { job_id: id, search: ERROR, context: 0, limit: 1 }, signal);
      if (!answer.matches) return toast("No line looks like an error");
      rows.marks = /\b(error|fatal|panic|exception|traceback|failed|failure|segmentation fault|cannot|denied)\b/gi;
      return await toLine(answer.first_line);
    } catch (error) {
      return refused(error);
    }
  }

  async function compare() {
    showView("output");
    try { await showChanges(found, id, (line) => toLine(line).catch(refused), signal); } catch (error) { refused(error); }
  }

  let typing = 0;
  search.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(find, 250); });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { if (matches.length) step(event.shiftKey ? -1 : 1); else { clearTimeout(typing); find(); } event.preventDefault(); }
    if (event.key === "Escape") { if (search.value) { search.value = ""; find(); } rows.element.focus(); event.stopPropagation(); event.preventDefault(); }
  });

  // --- actions ---

  function refused(error) {
    if (signal.aborted || error.name === "AbortError" || error.error?.code === "ended") return;
    if (error instanceof Refused && error.status === 404) {
      fill(main, h("div", { class: "empty" }, h("h1", {}, "This job is gone"), h("p", {}, named(error.message)), h("button", { onclick: () => page.go("") }, "All jobs")));
      return;
    }
    toast(error.error?.hint ? `${error.message}. ${error.error.hint}` : error.message, "bad");
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
    const answer = await ask("End this job?", [h("p", {}, one(job.name)), h("label", {}, "Grace before SIGKILL, in seconds ", h("input", { name: "grace", type: "number", min: 0, max: 3600, step: "any", value: "5" }))], "Kill", "bad");
    if (answer) await act(() => run("kill", { job_id: id, grace_ms: Math.round(Number(answer.grace) * 1000), wait_ms: 0 }), "It is being ended");
  }

  async function restart() {
    if (!await ask("Start this command again?", [h("pre", {}, shell(job.command)), job.cwd ? h("p", { class: "dim" }, "in ", name(job.cwd)) : null], "Restart")) return;
    const answer = await act(() => run("restart", { job_id: id, background: true }));
    if (answer) page.go(`job/${answer.job_id}`);
  }

  async function write() {
    const answer = await ask("Write into its input", [h("label", {}, "Text", h("textarea", { name: "data", rows: 3, spellcheck: "false" })), h("label", { class: "check" }, h("input", { type: "checkbox", name: "newline", checked: true }), "Enter at the end"), h("label", { class: "check" }, h("input", { type: "checkbox", name: "eof" }), "End of input after it")], "Write");
    if (answer) await act(() => run("write", { job_id: id, data: answer.data + (answer.newline ? "\n" : ""), eof: answer.eof, wait_ms: 0 }), "Written");
  }

  async function tag() {
    const answer = await ask("Tags", [h("label", {}, "Words separated by spaces", h("input", { name: "tags", value: (job.tags ?? []).join(" "), spellcheck: "false" }))], "Set");
    if (answer) await act(() => run("tag_set", { job_id: id, tags: answer.tags.split(/[\s,]+/).filter(Boolean) }));
  }

  async function watch() {
    const answer = await ask("Record an event when a line matches", [h("label", {}, "Pattern (RE2)", h("input", { name: "pattern", required: true, spellcheck: "false" })), h("label", { class: "check" }, h("input", { type: "checkbox", name: "once" }), "Only once")], "Watch");
    if (answer?.pattern) await act(() => run("notify_set", { job_id: id, watch: [{ pattern: answer.pattern, once: answer.once }] }), "Watching: hits are events, beside the output");
  }

  async function approve() {
    const answer = await ask("Approve this command?", [askedFacts(), h("label", { class: "check" }, h("input", { type: "checkbox", name: "always" }), "Always, exactly this")], "Approve", "good");
    if (answer) await act(() => call("approve", { job_id: id, always: answer.always }), "Approved");
  }

  async function deny() {
    const answer = await ask("Deny this command?", [askedFacts(), h("label", {}, "Why (its caller is told)", h("input", { name: "reason" }))], "Deny", "bad");
    if (answer) await act(() => call("deny", { job_id: id, ...(answer.reason ? { reason: answer.reason } : {}) }), "Denied");
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
  signal.addEventListener("abort", () => { if (told) watchHidden(-1); });

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
    if (name === "terminal") {
      rows.element.hidden = true;
      found.hidden = true;
      terminal = new Terminal(id, job, { refused });
      place.append(terminal.element);
      terminal.begin();
    } else {
      rows.element.hidden = false;
      rows.measure();
      rows.element.focus({ preventScroll: true });
    }
  }

  // --- keys ---

  page.keys({
    "/": ["search the output", () => { search.focus(); search.select(); }],
    C: ["tell capitals apart", () => strict.click()], n: ["next match", () => step(1)], N: ["previous match", () => step(-1)],
    e: ["first error", () => firstError()],
    f: ["follow", () => turnFollow()], s: ["events and details", () => turnSide()], w: ["wrap lines", () => turn(wrap, "wrap")], r: ["fold repeated lines", () => turn(fold, "fold")],
    j: ["down", () => rows.by(1)], ArrowDown: ["", () => rows.by(1)], k: ["up", () => rows.by(-1)], ArrowUp: ["", () => rows.by(-1)],
    PageDown: ["", () => rows.by(rows.seen - 1)], " ": ["a page down", () => rows.by(rows.seen - 1)], PageUp: ["", () => rows.by(1 - rows.seen)],
    Home: ["", () => rows.toRow(0)], End: ["", () => rows.toEnd()], G: ["the end", () => rows.toEnd()],
    c: ["copy the lines in view", () => copy(rows.text(), "The lines in view were copied")], d: ["download", () => download()],
    i: ["write into its input", () => { if (runs()) write(); }],
    x: ["kill", () => { if (runs()) kill(); }], R: ["restart", () => { if (isOver()) restart(); }],
    m: ["take the keyboard", () => { if (terminal && !terminal.over) terminal.take(); }],
    a: ["approve", () => { if (isAsked()) approve(); }], D: ["deny", () => { if (isAsked()) deny(); }],
    T: ["tags", () => tag()], W: ["watch for a line", () => { if (runs()) watch(); }],
    b: ["tell me of its end", () => { if (runs() && "Notification" in window) notify(); }],
    p: ["compare with the run before", () => { if (job.previous && isOver()) compare(); }],
    y: ["copy the id", () => copy(id, "The id was copied")],
    v: ["output or terminal", () => { if (job.pty) showView(view === "output" ? "terminal" : "output"); }],
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
  signal.addEventListener("abort", () => { clearInterval(timer); rows.close(); terminal?.close(); searching?.abort(); });
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
