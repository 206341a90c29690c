// The terminal of a job: to watch, or to type into.

import { call } from "./api.js";
import { ago, h, one } from "./dom.js";
import { forever, watchHidden } from "./polling.js";
import { Terminal as Emulator } from "./vendor/xterm.mjs";

export class Terminal {
  constructor(id, job, { refused }) {
    this.id = id;
    this.job = job;
    this.refused = refused;
    this.control = new AbortController();
    this.typing = false;
    this.holder = null; // { held_by, since } of the person who holds the keyboard, this page or another
    this.over = false;
    this.taking = false;
    this.changes = 0; // of the keyboard by this page: an answer that was under way meanwhile is old
    this.tab = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
    this.queue = "";
    this.sending = false;
    this.mode = h("button", { class: "toggle", "aria-pressed": "false", onclick: () => (this.typing ? this.letGo() : this.take()) });
    this.hint = h("span", { class: "dim", role: "status" });
    this.show();
    this.place = h("div", { class: "frame" });
    this.element = h("div", { class: "terminal" }, h("div", { class: "tools" }, this.mode, this.hint), h("div", { class: "emulator" }, this.place));
  }

  begin() {
    this.emulator = new Emulator({
      cols: 120, rows: 30, scrollback: 5000, disableStdin: true, fontSize: 13, screenReaderMode: matchMedia("(prefers-reduced-motion: reduce)").matches,
      fontFamily: 'ui-monospace, "SFMono-Regular", "DejaVu Sans Mono", Menlo, Consolas, monospace', theme: colours(), allowProposedApi: false,
      linkHandler: { activate: () => {} }, // what a job prints opens nothing
    });
    this.unanswered();
    this.emulator.open(this.place);
    this.emulator.attachCustomKeyEventHandler((event) => this.takes(event));
    this.emulator.onData((data) => this.send(data));
    this.emulator.onBinary((data) => this.send(data));
    const fit = () => { clearTimeout(this.fitting); this.fitting = setTimeout(() => this.fit(), 150); };
    this.watch = new ResizeObserver(fit);
    this.watch.observe(this.element.querySelector(".emulator"));
    addEventListener("themechange", () => { this.emulator.options.theme = colours(); }, { signal: this.control.signal });
    this.live();
  }

  // The supervisor of the job answers what its program asks of a terminal. A second answer from here
  // would be typed into the program.
  unanswered() {
    const { parser } = this.emulator;
    const taken = () => true;
    for (const id of [{ final: "c" }, { prefix: ">", final: "c" }, { prefix: "=", final: "c" }, { final: "n" }, { prefix: "?", final: "n" },
      { prefix: ">", final: "q" }, { final: "t" }, { intermediates: "$", final: "p" }, { prefix: "?", intermediates: "$", final: "p" }]) parser.registerCsiHandler(id, taken);
    parser.registerDcsHandler({ intermediates: "$", final: "q" }, taken);
    parser.registerDcsHandler({ intermediates: "+", final: "q" }, taken);
    for (const code of [4, 10, 11, 12, 52]) parser.registerOscHandler(code, (data) => code === 52 || data.includes("?"));
  }

  live() {
    let seq = null;
    let size = null;
    forever(async () => {
      const known = seq === null ? {} : { seq, size, keyboard: this.holder?.since ?? "", wait_ms: 20000 };
      const changes = this.changes;
      const found = await call("terminal", { job_id: this.id, tab: this.tab, ...known }, this.control.signal);
      if (!size || size[0] !== found.size[0] || size[1] !== found.size[1]) this.emulator.resize(...found.size);
      if (found.reset) this.emulator.reset();
      const data = Uint8Array.from(atob(found.data), (char) => char.charCodeAt(0));
      if (data.length) await new Promise((resolve) => this.emulator.write(data, resolve));
      seq = found.next_seq;
      size = found.size;
      this.holder = found.keyboard ?? null;
      this.over = found.over;
      this.hold(changes === this.changes ? found.mine && !found.over : this.typing && !found.over);
      return !found.over;
    }, this.control.signal, (error) => { this.refused(error); return error.status >= 500; });
  }

  // --- the keyboard ---

  // Take the keyboard, also from another person: that is what the button says then
  async take() {
    this.mode.disabled = true;
    this.taking = true; // what is typed from now on waits for the answer
    this.emulator.options.disableStdin = false;
    this.emulator.focus();
    try {
      const force = this.holder !== null;
      const found = await call("keyboard", { job_id: this.id, tab: this.tab, take: true, force, size: this.room() }, this.control.signal);
      this.changes += 1;
      this.hold(found.mine);
    } catch (error) {
      if (!this.control.signal.aborted) this.refused(error);
    } finally {
      this.taking = false;
      this.mode.disabled = this.over;
      this.emulator.options.disableStdin = !this.typing;
      if (!this.typing) this.queue = "";
      this.flush();
    }
  }

  async letGo() {
    this.changes += 1;
    this.hold(false);
    this.holder = null;
    this.show();
    try { await call("keyboard", { job_id: this.id, tab: this.tab, take: false }); } catch { /* its lease ends by itself */ }
    this.changes += 1;
  }

  hold(typing) {
    const changed = typing !== this.typing;
    this.typing = typing;
    this.show();
    if (!changed) return;
    watchHidden(typing ? 1 : -1); // its holder may look at another tab for a while
    this.emulator.options.disableStdin = !typing;
    this.emulator.options.cursorBlink = typing;
    this.element.classList.toggle("typing", typing);
    if (typing) this.emulator.focus();
  }

  show() {
    const other = this.typing ? null : this.holder;
    this.mode.setAttribute("aria-pressed", String(this.typing));
    this.mode.disabled = this.over;
    this.mode.textContent = this.typing ? "Let go of the keyboard" : other ? "Take the keyboard from them" : "Take the keyboard";
    if (this.over) this.hint.textContent = "The job is over. This is how it left its terminal.";
    else if (this.typing) this.hint.textContent = "What you type goes to the job, and its terminal has the size of this window. Ctrl+] d lets go.";
    else if (other) this.hint.textContent = `${one(other.held_by)} holds the keyboard since ${ago(Date.parse(other.since)).replace(" ago", "")}. You watch.`;
    else this.hint.textContent = "You watch. What you type goes nowhere.";
  }

  // Whether the terminal takes a key: not Tab while one watches, nor Ctrl+] d, which lets go as in `attach`
  takes(event) {
    if (!this.typing) return this.taking || event.key !== "Tab";
    if (event.type !== "keydown" || ["Control", "Shift", "Alt"].includes(event.key)) return true;
    const begins = event.ctrlKey && event.key === "]" && !this.prefixed;
    const ends = this.prefixed && event.key === "d" && !event.ctrlKey;
    if (this.prefixed && !ends && !event.ctrlKey) this.send("\x1d");
    this.prefixed = begins;
    if (!begins && !ends) return true;
    event.preventDefault();
    if (ends) { this.letGo(); this.mode.focus(); }
    return false;
  }

  // --- the size ---

  // The columns and rows that have room in this window
  room() {
    const screen = this.place.querySelector(".xterm-screen");
    const [outer, frame] = [this.element.querySelector(".emulator"), getComputedStyle(this.place)];
    const around = getComputedStyle(outer);
    const space = (names) => names.reduce((sum, [style, name]) => sum + parseFloat(style[name]), 0);
    const width = outer.clientWidth - space([[around, "paddingLeft"], [around, "paddingRight"], [frame, "paddingLeft"], [frame, "paddingRight"], [frame, "borderLeftWidth"], [frame, "borderRightWidth"]]);
    const height = outer.clientHeight - space([[around, "paddingTop"], [around, "paddingBottom"], [frame, "paddingTop"], [frame, "paddingBottom"], [frame, "borderTopWidth"], [frame, "borderBottomWidth"]]);
    const { cols, rows } = this.emulator;
    const fitting = (room, taken, count, least, most) => Math.max(least, Math.min(most, Math.floor(room / (taken / count)) || count));
    return [fitting(width, screen.clientWidth, cols, 20, 500), fitting(height, screen.clientHeight, rows, 5, 200)];
  }

  async fit() {
    const size = this.typing ? this.room() : null;
    if (!size || (size[0] === this.emulator.cols && size[1] === this.emulator.rows)) return;
    try {
      await call("keyboard", { job_id: this.id, tab: this.tab, take: true, size }, this.control.signal);
    } catch (error) {
      if (!this.control.signal.aborted) this.refused(error);
    }
  }

  // Keys go one call after the other, in their order; what is typed meanwhile goes together
  send(data) {
    if (!this.typing && !this.taking) return;
    this.queue += data;
    this.flush();
  }

  async flush() {
    if (this.sending || this.taking || !this.typing) return;
    this.sending = true;
    try {
      while (this.queue) {
        const now = this.queue;
        this.queue = "";
        await call("type", { job_id: this.id, tab: this.tab, data: now }, this.control.signal);
      }
    } catch (error) {
      this.queue = "";
      if (!this.control.signal.aborted) this.refused(error);
    } finally {
      this.sending = false;
    }
  }

  close() {
    if (this.typing) this.letGo();
    clearTimeout(this.fitting);
    this.watch?.disconnect();
    this.control.abort();
    this.emulator?.dispose();
    this.element.remove();
  }
}

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  const names = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
  const found = { background: of("--out"), foreground: of("--text"), cursor: of("--accent"), selectionBackground: of("--selected") };
  names.forEach((name, at) => {
    found[name] = of(`--c${at}`);
    found[`bright${name[0].toUpperCase()}${name.slice(1)}`] = of(`--c${at + 8}`);
  });
  return found;
}
