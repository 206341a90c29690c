// Elements and texts. Whatever a job or a client wrote goes into the page as a text node, never as markup.

export function h(tag, attributes = {}, ...children) {
  const found = document.createElement(tag);
  set(found, attributes);
  put(found, children);
  return found;
}

export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element[name] = value;
    else if (name === "class") element.className = value;
    else if (name === "style") Object.assign(element.style, value);
    else if (name in PROPERTIES) element[name] = value;
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

const PROPERTIES = { value: 1, checked: 1, disabled: 1, hidden: 1, tabIndex: 1 };

function put(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function fill(element, ...children) {
  element.replaceChildren();
  put(element, children);
  return element;
}

// Make these the children of an element in place; what stays, by id or key, keeps focus and selection
export function patch(element, ...children) {
  const fresh = document.createElement("div");
  const focused = document.activeElement;
  put(fresh, children);
  morph(element, [...fresh.childNodes]);
  if (focused !== document.activeElement && element.contains(focused)) focused.focus({ preventScroll: true });
  return element;
}

const keyOf = (node) => node.dataset?.key ?? (node.id || null);

function morph(parent, wanted) {
  const keys = new Set(wanted.map(keyOf));
  const known = new Map();
  for (const child of [...parent.childNodes]) {
    const key = keyOf(child);
    if (key !== null && !keys.has(key)) child.remove();
    else if (key !== null) known.set(key, child);
  }
  let at = parent.firstChild;
  for (const fresh of wanted) {
    const key = keyOf(fresh);
    const old = key === null ? at : known.get(key);
    if (!old || old.nodeName !== fresh.nodeName || keyOf(old) !== key || old.nodeName === "CANVAS") {
      parent.insertBefore(fresh, at);
      if (old && old === at && key !== null) { at = at.nextSibling; old.remove(); }
      continue;
    }
    if (old === at) at = at.nextSibling;
    else parent.insertBefore(old, at);
    update(old, fresh);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function update(old, fresh) {
  if (old === fresh) return;
  if (old.nodeType !== Node.ELEMENT_NODE) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  old.onclick = fresh.onclick;
  morph(old, [...fresh.childNodes]);
}

// --- texts ---

// A name: what is not seen is an escape, as in core/quoted.py (a test compares both)
const UNSEEN = /(?! |(?<=(?![\u2800\u{1d159}])\p{So})\ufe0f)[\p{C}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{16fe4}\u{1d159}\u{e0100}-\u{e01ef}]/gu;
const ESCAPES = { "\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e" };

export function name(text) {
  return String(text).replace(UNSEEN, (char) => {
    const code = char.codePointAt(0);
    const [mark, digits] = code < 0x80 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return ESCAPES[char] ?? `\\${mark}${code.toString(16).padStart(digits, "0")}`;
  });
}

// Words of ours in which names may stand
export function named(text) {
  return String(text).split("\n").map(name).join("\n");
}

// Characters of output that are invisible, or that reorder what stands beside them, are shown as what they are;
// but not the two that choose between a letter and a picture
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\ufff9-\ufffb]|(?![\ufe0e\ufe0f])\p{Default_Ignorable_Code_Point}/gu;
const MOST_IN_LINE = 5000;

export function visible(text) {
  return String(text).replace(HIDDEN, (char) => {
    const code = char.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `\u27e8${code.toString(16).toUpperCase().padStart(4, "0")}\u27e9`;
  });
}

export function cut(text, most) {
  return text.length > most ? `${text.slice(0, most)} … ${number(text.length - most)} more characters` : text;
}

export function one(text) {
  return name(cut(String(text ?? "").replace(/[ \t-\r]+/g, " ").replace(/^ | $/g, ""), MOST_IN_LINE));
}

// A command as a shell would have to be given it; a script, which is one word, as it is
export function shell(command) {
  const words = [command ?? []].flat();
  return words.length > 1 ? words.map(word).join(" ") : name(cut(String(words[0] ?? ""), MOST_IN_LINE));
}

function word(text) {
  if (text.search(UNSEEN) >= 0) return `$'${name(text.replace(/[\\']/g, "\\$&"))}'`;
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

export function bytes(count) {
  if (count < 1000) return `${count} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let at = -1;
  do { count /= 1000; at += 1; } while (count >= 999.5 && at < units.length - 1);
  return `${count < 10 ? count.toFixed(1) : Math.round(count)} ${units[at]}`;
}

export function number(count) {
  return Number(count).toLocaleString("en-US");
}

export function duration(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)}m ${String(Math.floor(s % 60)).padStart(2, "0")}s`;
  if (s < 86400) return `${Math.floor(s / 3600)}h ${String(Math.floor((s % 3600) / 60)).padStart(2, "0")}m`;
  return `${Math.floor(s / 86400)}d ${Math.floor((s % 86400) / 3600)}h`;
}

export function ago(then, now = Date.now()) {
  const s = Math.max(0, (now - then) / 1000);
  if (s < 5) return "just now";
  if (s < 60) return `${Math.floor(s)} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return `${Math.floor(s / 86400)} d ago`;
}

export function clock(then) {
  const date = new Date(then);
  const time = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString("en-CA")} ${time}`;
}

// --- how a job is doing ---

export const OVER = new Set(["exited", "failed", "killed"]);

// kind: the class of its colour; icon: its shape, so that nothing is told by colour alone
export function condition(job) {
  if (job.approval && job.approval.state === "pending") return { kind: "asks", icon: "?", text: "waits for approval" };
  if (job.reachable === false) return { kind: "asks", icon: "?", text: `out of reach, was ${job.state}` };
  if (job.queue && !OVER.has(job.state)) return { kind: "idle", icon: "○", text: `queued${job.queue.reason ? `: ${one(job.queue.reason)}` : ""}` };
  if (job.state === "running") {
    if (job.supervisor === "unresponsive") return { kind: "bad", icon: "!", text: "supervisor stopped" };
    if (job.waiting_for_input) return { kind: "asks", icon: "?", text: "waits for input" };
    return { kind: "runs", icon: "▶", text: "running" };
  }
  if (job.state === "exited") {
    if (job.exit_code === 0) return { kind: "good", icon: "✓", text: "done" };
    return { kind: "bad", icon: "✕", text: `exit ${job.exit_code}` };
  }
  if (job.state === "killed") {
    const why = { timeout: "time limit", idle_timeout: "silent too long", kill: "killed", oom: "out of memory" };
    return { kind: job.reason === "kill" ? "ended" : "bad", icon: "■", text: why[job.reason] ?? job.signal ?? "killed" };
  }
  if (job.reason === "denied") return { kind: "ended", icon: "⊘", text: "denied" };
  if (job.state === "failed") return { kind: "bad", icon: "✕", text: job.reason ?? "failed" };
  return { kind: "idle", icon: "○", text: job.state };
}

export function badge(job, tag = "span") {
  const found = condition(job);
  return h(tag, { class: `badge ${found.kind}` }, h("span", { class: "icon", "aria-hidden": "true" }, found.icon), found.text);
}

// When its command began; answers have a time for one that never did too
export function begun(job) {
  return job.reason === "denied" || job.reason === "launch" ? null : job.started_at;
}

export function age(job, now = Date.now()) {
  const started = begun(job);
  if (!started) return job.finished_at ? "never ran" : "";
  const start = Date.parse(started);
  const end = job.finished_at ? Date.parse(job.finished_at) : now;
  return duration(end - start);
}

// --- telling ---

export function toast(text, kind = "") {
  const shown = h("div", { class: `toast ${kind}` }, named(text));
  document.getElementById("toasts").append(shown);
  setTimeout(() => shown.remove(), kind === "bad" ? 9000 : 4000);
}

// Ask in a dialog → what its fields hold by their names, or null
export function ask(heading, fields, label, kind = "") {
  return new Promise((resolve) => {
    let answer = null;
    const dialog = h("dialog", { "aria-label": heading, onclose: () => { dialog.remove(); resolve(answer); } },
      h("form", { method: "dialog", onsubmit: () => { answer = Object.fromEntries([...dialog.querySelectorAll("[name]")].map((field) => [field.name, field.type === "checkbox" ? field.checked : field.value])); } },
        h("h2", {}, heading), fields,
        h("div", { class: "buttons" }, h("button", { type: "button", class: "quiet", onclick: () => dialog.close() }, "Cancel"), h("button", { class: kind }, label))));
    document.body.append(dialog);
    dialog.showModal();
  });
}

export async function copy(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    toast(done, "good");
  } catch {
    toast("This browser does not let the page copy", "bad");
  }
}
