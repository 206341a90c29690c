// The terminal of a job: to watch, or to type into.

import { call } from "./api.js";
import { ago, h, one, press } from "./dom.js";
import { forever, watchHidden } from "./polling.js";
import { Terminal as Emulator } from "./vendor/xterm.mjs";

export class Terminal {
  control = new AbortController();
  typing = false;
  holder = null; // { held_by, since } of the person who holds the keyboard, this page or another
  over = false;
  taking = false;
  changes = 0; // of the keyboard by this page: an answer that was under way meanwhile is old
  tab = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
  queue = "";
  sending = false;
  mode = h("button.toggle", { onclick: () => (this.typing ? this.letGo() : this.take()) });
  hint = h("span.dim", { role: "status" });
  place = h("div.frame");
  element = h("div.terminal", h("div.tools", this.mode, this.hint), h("div.emulator", this.place));

  constructor(id, refused) {
    Object.assign(this, { id, refused });
    this.show();
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

  // The job's supervisor answers what its program asks of a terminal: a second answer would be typed into it
  unanswered() {
    const { parser } = this.emulator, taken = () => true;
    for (const [final, prefix, intermediates] of [["c"], ["c", ">"], ["c", "="], ["n"], ["n", "?"], ["q", ">"], ["t"], ["p", "", "$"], ["p", "?", "$"]]) parser.registerCsiHandler({ prefix, intermediates, final }, taken);
    for (const intermediates of ["$", "+"]) parser.registerDcsHandler({ intermediates, final: "q" }, taken);
    for (const code of [4, 10, 11, 12, 52]) parser.registerOscHandler(code, (data) => code === 52 || data.includes("?"));
  }

  live() {
    let seq, size;
    forever(async () => {
      const known = size ? { seq, size, keyboard: this.holder?.since ?? "", wait_ms: 20000 } : {};
      const changes = this.changes;
      const found = await call("terminal", { job_id: this.id, tab: this.tab, ...known }, this.control.signal);
      this.emulator.resize(...found.size);
      if (found.reset) this.emulator.reset();
      const data = Uint8Array.from(atob(found.data), (char) => char.charCodeAt(0));
      if (data.length) await new Promise((resolve) => this.emulator.write(data, resolve));
      seq = found.next_seq;
      size = found.size;
      this.holder = found.keyboard ?? null;
      this.over = found.over;
      this.hold(changes === this.changes ? found.mine && !found.over : this.typing && !found.over);
      return !found.over;
    }, this.control.signal, (error) => { this.refused(error); return error.status >= 500; }, true);
  }

  // --- the keyboard ---

  // Errors are told, unless this terminal is closed
  ask(method, given) {
    return call(method, { job_id: this.id, tab: this.tab, ...given }, this.control.signal).catch((error) => { if (!this.control.signal.aborted) this.refused(error); return null; });
  }

  // Take the keyboard, also from another person: that is what the button says then
  async take() {
    this.mode.disabled = true;
    this.taking = true; // what is typed from now on waits for the answer
    this.emulator.options.disableStdin = false;
    this.emulator.focus();
    const found = await this.ask("keyboard", { take: true, force: this.holder !== null, size: this.room() });
    if (this.control.signal.aborted) return;
    if (found) {
      this.changes += 1;
      this.hold(found.mine);
    }
    this.taking = false;
    this.mode.disabled = this.over;
    this.emulator.options.disableStdin = !this.typing;
    if (!this.typing) this.queue = "";
    this.flush();
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
    press(this.mode, this.typing);
    this.mode.disabled = this.over;
    this.mode.textContent = this.typing ? "Let go of the keyboard" : other ? "Take the keyboard from them" : "Take the keyboard";
    this.hint.textContent = this.over ? "The job is over. This is how it left its terminal."
      : this.typing ? "What you type goes to the job, and its terminal has the size of this window. Ctrl+] d lets go."
      : other ? `${one(other.held_by)} holds the keyboard since ${ago(Date.parse(other.since)).replace(" ago", "")}. You watch.`
      : "You watch. What you type goes nowhere.";
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
    const screen = this.place.querySelector(".xterm-screen"), outer = this.place.parentElement;
    const fitting = (side, count, least, most) => {
      const around = 2 * parseFloat(getComputedStyle(outer).paddingTop) + this.place[`offset${side}`] - screen[`client${side}`];
      const found = Math.floor((outer[`client${side}`] - around) / (screen[`client${side}`] / count));
      return Math.max(least, Math.min(most, found || count));
    };
    return [fitting("Width", this.emulator.cols, 20, 500), fitting("Height", this.emulator.rows, 5, 200)];
  }

  fit() {
    const size = this.typing ? this.room() : null;
    if (size && (size[0] !== this.emulator.cols || size[1] !== this.emulator.rows)) this.ask("keyboard", { take: true, size });
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
    while (this.queue) {
      const data = this.queue;
      this.queue = "";
      if (!await this.ask("type", { data })) this.queue = "";
    }
    this.sending = false;
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
  const found = { background: of("--out"), foreground: of("--text"), cursor: of("--accent"), selectionBackground: of("--selected") };
  ["Black", "Red", "Green", "Yellow", "Blue", "Magenta", "Cyan", "White"].forEach((name, at) => {
    found[name.toLowerCase()] = of(`--c${at}`);
    found[`bright${name}`] = of(`--c${at + 8}`);
  });
  return found;
}
