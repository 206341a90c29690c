// The terminal of a job: to watch, or to type into.

import { call, run, useStyles } from "./api.js";
import { h } from "./dom.js";
import { forever } from "./polling.js";
import { Terminal as Emulator } from "./vendor/xterm.mjs";

let styled = false;

export class Terminal {
  constructor(id, job, { refused }) {
    this.id = id;
    this.job = job;
    this.refused = refused;
    this.control = new AbortController();
    this.typing = false;
    this.queue = "";
    this.sending = false;
    this.mode = h("button", { class: "toggle", "aria-pressed": "false", onclick: () => this.take(!this.typing) }, "Take the keyboard");
    this.hint = h("span", { class: "dim" }, "You watch. What you type goes nowhere.");
    this.place = h("div", { class: "frame" });
    this.element = h("div", { class: "terminal" }, h("div", { class: "tools" }, this.mode, this.hint), h("div", { class: "emulator" }, this.place));
  }

  begin() {
    if (!styled) {
      useStyles("vendor/xterm.css");
      styled = true;
    }
    this.emulator = new Emulator({
      cols: 120, rows: 30, scrollback: 5000, disableStdin: true, fontSize: 13, screenReaderMode: matchMedia("(prefers-reduced-motion: reduce)").matches,
      fontFamily: 'ui-monospace, "SFMono-Regular", "DejaVu Sans Mono", Menlo, Consolas, monospace', theme: colours(), allowProposedApi: false,
      linkHandler: { activate: () => {} }, // what a job prints opens nothing
    });
    this.unanswered();
    this.emulator.open(this.place);
    this.emulator.onData((data) => this.send(data));
    this.emulator.onBinary((data) => this.send(data));
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
      const found = await call("terminal", { job_id: this.id, ...(seq === null ? {} : { seq, size, wait_ms: 20000 }) }, this.control.signal);
      if (!size || size[0] !== found.size[0] || size[1] !== found.size[1]) this.emulator.resize(...found.size);
      if (found.reset) this.emulator.reset();
      const data = Uint8Array.from(atob(found.data), (char) => char.charCodeAt(0));
      if (data.length) await new Promise((resolve) => this.emulator.write(data, resolve));
      seq = found.next_seq;
      size = found.size;
      if (found.over) {
        this.take(false);
        this.mode.disabled = true;
        this.hint.textContent = "The job is over. This is how it left its terminal.";
        return false;
      }
      return true;
    }, this.control.signal, (error) => { this.refused(error); return error.status >= 500; });
  }

  take(typing) {
    this.typing = typing && this.job.state === "running";
    this.emulator.options.disableStdin = !this.typing;
    this.emulator.options.cursorBlink = this.typing;
    this.mode.setAttribute("aria-pressed", String(this.typing));
    this.mode.textContent = this.typing ? "Let go of the keyboard" : "Take the keyboard";
    this.hint.textContent = this.typing ? "What you type goes to the job. Others may type too." : "You watch. What you type goes nowhere.";
    this.element.classList.toggle("typing", this.typing);
    if (this.typing) this.emulator.focus();
  }

  // Keys go one call after the other, in their order; what is typed meanwhile goes together
  async send(data) {
    if (!this.typing) return;
    this.queue += data;
    if (this.sending) return;
    this.sending = true;
    try {
      while (this.queue) {
        const now = this.queue;
        this.queue = "";
        await run("write", { job_id: this.id, data: now, wait_ms: 0 }, this.control.signal);
      }
    } catch (error) {
      this.queue = "";
      if (!this.control.signal.aborted) this.refused(error);
    } finally {
      this.sending = false;
    }
  }

  close() {
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
