// Elements and texts. Whatever a job or a client wrote goes into the page as a text node, never as markup.

export const byId = (id) => document.getElementById(id);
export const on = (target, name, act, how) => target.addEventListener(name, act, how);

// An element by its tag and classes, "button.quiet", with attributes if there are any, and children
export function h(what, ...children) {
  const [tag, ...classes] = what.split(".");
  const found = document.createElement(tag);
  if (classes.length) found.className = classes.join(" ");
  if (children[0]?.constructor === Object) set(found, children.shift());
  put(found, children);
  return found;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value == null || value === false) continue;
    if (name.startsWith("on") || name === "checked") element[name] = value;
    else if (name === "style") Object.assign(element.style, value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

export const isPressed = (button) => button.getAttribute("aria-pressed") === "true";
export const press = (button, on) => button.setAttribute("aria-pressed", String(on));

// Do this when the signal comes
export const over = (signal, act) => on(signal, "abort", act, { once: true });

// Do this again and again until the signal comes
export const every = (ms, act, signal) => { const timer = setInterval(act, ms); over(signal, () => clearInterval(timer)); };

// A copy of a template of page.html, and what scripts fill in it, by its names
export function made(id) {
  const whole = byId(id).content.firstElementChild.cloneNode(true);
  return { whole, ...Object.fromEntries([...whole.querySelectorAll("[data-part]")].map((one) => [one.dataset.part, one])) };
}

function put(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child == null || child === false) continue;
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
  if (old.checked !== fresh.checked) old.checked = fresh.checked;
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
  return quoted(text);
}

const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

// The same to be changed and run: with nothing shown in place of what is not seen
export function plainWords(command) {
  const words = [command ?? ""].flat();
  return words.length > 1 ? words.map(quoted).join(" ") : words[0];
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

export const counted = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

export function duration(ms) {
  const s = Math.max(0, ms) / 1000;
  if (s < 1) return `${Math.round(s * 1000)} ms`;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  const [m, hours] = [Math.floor(s / 60), Math.floor(s / 3600)];
  return m < 60 ? `${m} min ${Math.floor(s % 60)} s` : hours < 24 ? `${hours} h ${m % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

export function ago(then, now = Date.now()) {
  const s = Math.max(0, (now - then) / 1000);
  if (s < 5) return "just now";
  const [size, unit] = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]].find(([size]) => s >= size);
  return `${Math.floor(s / size)} ${unit} ago`;
}

export function clock(then) {
  const date = new Date(then);
  const time = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString("en-CA")} ${time}`;
}

// --- how a job is doing ---

export const OVER = new Set(["exited", "failed", "killed"]);

// Where jobs stand whose turns are counted: id → { turns, place }; place 0: it is its turn (jobs.js)
export const standing = new Map();

export const nth = (count) => number(count) + ({ one: "1st", two: "2nd", few: "3rd" }[ORDINALS.select(count)]?.slice(1) ?? "th");
const ORDINALS = new Intl.PluralRules("en", { type: "ordinal" });

// What a job waits for that has not started
function waitsFor({ job_id: id, needs = [] }) {
  const { turns, place } = standing.get(id) ?? {};
  if (place) return `${nth(place)} of ${number(turns.waiting.length)} in ${one(turns.name)}`;
  const left = new Set(needs.filter((need) => !need.holds).map((need) => need.job_id));
  return left.size === 1 ? `after ${one(needs.find((need) => !need.holds).name)}` : left.size ? `after ${left.size} jobs` : "waits";
}

// kind: the class of its colour; icon: its shape, so that nothing is told by colour alone
export function condition(job) {
  const as = (kind, icon, text) => ({ kind, icon, text });
  const { approval, reachable, state, reason, queue, supervisor, waiting_for_input: waits, exit_code: code, signal } = job;
  if (approval?.state === "pending") return as("asks", "?", "waits for approval");
  if (reachable === false) return as("asks", "?", `out of reach, was ${state}`);
  if (queue && !OVER.has(state)) return as("idle", "○", `queued${queue.reason ? `: ${one(queue.reason)}` : ""}`);
  if (state === "running") return supervisor === "unresponsive" ? as("bad", "!", "supervisor stopped") : waits ? as("asks", "?", "waits for input") : as("runs", "▶", "running");
  if (state === "exited") return code === 0 ? as("good", "✓", "done") : as("bad", "✕", `exit ${code}`);
  const why = { timeout: "time limit", idle_timeout: "silent too long", kill: "killed", oom: "out of memory" };
  if (state === "killed") return as(reason === "kill" ? "ended" : "bad", "■", why[reason] ?? signal ?? "killed");
  if (reason === "denied") return as("ended", "⊘", "denied");
  if (state === "failed" && reason === "kill") return as("ended", "⊘", "taken out");
  if (state === "created" && job.waits) return as("idle", "○", waitsFor(job));
  return state === "failed" ? as("bad", "✕", reason ?? "failed") : as("idle", "○", state);
}

export function badge(job, tag = "span") {
  const found = condition(job);
  return h(tag, { class: `badge ${found.kind}` }, h("span.icon", { "aria-hidden": "true" }, found.icon), found.text);
}

// When its command began; where it never did, answers have the time of the definition
export function begun(job) {
  return job.started_at === job.created_at ? null : job.started_at;
}

// How long its command ran so far, in ms
export function lasted(job) {
  return begun(job) ? (Date.parse(job.finished_at) || Date.now()) - Date.parse(begun(job)) : 0;
}

export function age(job) {
  return begun(job) ? duration(lasted(job)) : job.finished_at ? "never ran" : "";
}

// --- telling ---

export function toast(text, kind = "") {
  const shown = h("div", { class: `toast ${kind}` }, named(text));
  byId("toasts").append(shown);
  setTimeout(() => shown.remove(), kind === "bad" ? 9000 : 4000);
}

// An error in words, with the server's hint
export const told = (error) => (error.error?.hint ? `${error.message}. ${error.error.hint}` : error.message);

// What this returns, or null after an error, which is told
export async function tried(act, tell = (error) => toast(told(error), "bad")) {
  try {
    return await act();
  } catch (error) {
    tell(error);
    return null;
  }
}

// Ask in a dialog of page.html, with these texts and values → what its fields hold by their names, or null
export function ask(id, given) {
  const { whole: dialog, ...parts } = made(`ask-${id}`), { elements } = dialog.querySelector("form");
  for (const [name, value] of Object.entries(given)) if (parts[name]) parts[name].textContent = value; else elements[name][elements[name].type === "checkbox" ? "checked" : "value"] = value;
  dialog.querySelector("[type=button]").onclick = () => dialog.close();
  dialog.onkeydown = (event) => { // Enter sends; with Shift it is a new line
    if (event.key !== "Enter" || event.shiftKey || event.target.tagName !== "TEXTAREA") return;
    event.preventDefault();
    event.target.form.requestSubmit();
  };
  document.body.append(dialog);
  dialog.showModal();
  return new Promise((resolve) => {
    let answer = null;
    on(dialog, "submit", () => { answer = Object.fromEntries([...elements].filter((one) => one.name).map((one) => [one.name, one.type === "checkbox" ? one.checked : one.value])); });
    on(dialog, "close", () => { dialog.remove(); resolve(answer); });
  });
}

export const copy = (text, done) => tried(async () => {
  await navigator.clipboard.writeText(text);
  toast(done, "good");
}, () => toast("This browser does not let the page copy", "bad"));
