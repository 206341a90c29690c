// What jobs ask a person, answered in place: a line for a prompt, yes or no for a command.

import { base, call } from "./api.js";
import { OVER, ago, byId, condition, every, fill, h, named, made, number, on, one, patch, press, shell, toast, told, visible } from "./dom.js";
import { groups, jobs } from "./jobs.js";
import { watchHidden } from "./polling.js";

const MOST = 50; // shown at a time
const STORED = "outlive-notify";
const picked = new Set(); // ids of jobs that are answered together
const isCommand = (job) => job.approval?.state === "pending";
const keyOf = (job) => `${job.job_id}-${isCommand(job) ? "command" : job.asked_at}`;

// Everything that decides what runs, one fact a line
export function askedFacts(job) {
  return h("dl.asked", (job.approval?.facts ?? []).map((fact) => [h("dt", named(fact.label)), h("dd", named(fact.value))]));
}

// What an answer to this one goes to: all picked ones of its kind, if it is picked
function together(job) {
  const kind = (one) => groups.asks(one) && isCommand(one) === isCommand(job);
  return picked.has(job.job_id) ? [...picked].map((id) => jobs.get(id)).filter((one) => one && kind(one)) : [job];
}

async function answer(job, method, given, done) {
  const all = await Promise.allSettled(together(job).map((one) => call(method, { job_id: one.job_id, ...(method === "answer" && { asked_at: one.asked_at }), ...given })));
  const wrong = all.filter(({ status }) => status === "rejected");
  for (const { reason } of wrong.slice(0, 3)) toast(told(reason), "bad");
  if (wrong.length < all.length) toast(all.length > 1 ? `${done}: ${number(all.length - wrong.length)}` : done, "good");
  return !wrong.length;
}

// The words that a prompt offers: yes and no, as it writes them
function offered(prompt = "") {
  const [, yes, no] = /(?:^|[^\w])(y(?:es)?) ?[/|] ?(no?)(?![\w])/i.exec(prompt) ?? [];
  return yes ? [yes.toLowerCase(), no.toLowerCase()] : [];
}

// Enter sends one line, once: what is asked next is another question, with a form of its own
export function lineForm(job) {
  const { whole: form, field } = made("answer-line");
  const send = async (line) => {
    if (form.inert) return;
    form.inert = true;
    if (await answer(job, "answer", { line }, "Sent")) field.value = "";
    form.inert = false;
  };
  form.dataset.key = keyOf(job);
  form.onsubmit = (event) => { event.preventDefault(); send(field.value); };
  field.type = job.echo === false ? "password" : "text";
  field.ariaLabel = `Answer ${one(job.name)}`;
  form.append(...offered(job.prompt).map((word) => h("button.quiet", { type: "button", "data-word": word[0], onclick: () => send(word) }, word)));
  return form;
}

export function commandForm(job) {
  const { whole: form, yes, always, reason } = made("answer-command");
  form.onsubmit = (event) => { event.preventDefault(); answer(job, "deny", reason.value ? { reason: reason.value } : {}, "Denied"); };
  for (const button of [yes, always]) button.onclick = () => answer(job, "approve", { always: button === always }, "Approved");
  reason.ariaLabel = `Why not ${one(job.name)}`;
  return form;
}

// All questions, the oldest first. Keys in one: those of its buttons, and x, which picks it
export function inbox(place, signal) {
  const draw = () => {
    const asked = [...jobs.values()].filter(groups.asks).sort((a, b) => (a.job_id < b.job_id ? -1 : 1));
    for (const id of picked) if (!asked.some((job) => job.job_id === id)) picked.delete(id);
    place.hidden = !asked.length;
    if (place.hidden) return void fill(place);
    patch(place, h("div.inbox-head", h("h2", `Waiting for you: ${number(asked.length)}`),
      h("span.dim", { role: "status" }, picked.size > 1 ? `${number(picked.size)} picked: an answer to one goes to all of its kind` : "")),
    h("ol", asked.slice(0, MOST).map(card)));
  };
  const card = (job) => {
    const id = job.job_id, command = isCommand(job);
    const pick = h("input", { type: "checkbox", "data-word": "x", title: "Answer together with others (x)", "aria-label": `Pick ${one(job.name)}`, checked: picked.has(id), onchange: () => { picked[pick.checked ? "add" : "delete"](id); draw(); } });
    return h("li.question", { "data-key": keyOf(job), tabIndex: -1 },
      h("div.title", pick, h("a.name", { href: `${base}job/${id}` }, one(job.name)), h("span.dim", `${job.owner === "cli" ? "" : `${one(job.owner ?? "")} · `}${ago(Date.parse(job.asked_at ?? job.created_at))}`),
        !command && h("code.command", shell(job.command))),
      command ? [named(job.approval.reason ?? ""), askedFacts(job), commandForm(job)] : [h("code.prompt", visible(job.prompt ?? "") || "It reads its input"), lineForm(job)]);
  };
  on(place, "keydown", (event) => {
    const { target, key } = event, at = target.closest(".question");
    if (!at || event.ctrlKey || event.metaKey || event.altKey) return;
    const isText = target.matches("input:not([type=checkbox])");
    if (key === "Escape") (isText ? at : byId("jobs")).focus();
    else {
      const does = !isText && at.querySelector(`[data-word="${CSS.escape(key)}"]`);
      if (!does) return;
      does.click();
    }
    event.preventDefault();
    event.stopPropagation();
  });
  addEventListener("jobs", draw, { signal });
  every(5000, () => { if (!place.hidden && !document.hidden) draw(); }, signal);
  draw();
}

// To the field of the next question, or to a command as a whole
export function nextQuestion() {
  const all = [...document.querySelectorAll(".question")];
  const next = all[(all.indexOf(document.activeElement.closest(".question")) + 1) % all.length];
  (next?.querySelector(".prompt ~ form > input") ?? next)?.focus();
}

// --- notifications of the desktop ---

let tells = false; // of questions
export const ends = new Set(); // jobs of which a person wants to know the end
const isAllowed = async () => (await Notification.requestPermission()) === "granted" || toast("This browser does not let the page notify", "bad");

export async function turnEnd(id) {
  if (ends.has(id) || await isAllowed() === true) {
    watchHidden(ends.has(id) ? -1 : 1);
    ends[ends.has(id) ? "delete" : "add"](id);
  }
}

// The button of questions → what it does
export function notifier(button) {
  button.hidden = !("Notification" in window);
  press(button, tells);
  return async () => {
    if (button.hidden || (!tells && await isAllowed() !== true)) return;
    setTells(!tells);
    localStorage.setItem(STORED, tells ? "on" : "");
    press(button, tells);
  };
}

function setTells(now) {
  if (tells !== now) watchHidden(now ? 1 : -1);
  tells = now;
}

// For each new question that no window shows, and each end that was asked for; once for all tabs
export function notify(open) {
  setTells("Notification" in window && Notification.permission === "granted" && localStorage.getItem(STORED) === "on");
  const say = (job, title, body, tag) => {
    const shown = new Notification(title, { body, tag });
    shown.onclick = () => { window.focus(); open(job.job_id); };
  };
  addEventListener("job", ({ detail: { before, job } }) => {
    if (OVER.has(job.state) && ends.has(job.job_id)) {
      turnEnd(job.job_id);
      say(job, `${one(job.name)}: ${condition(job).text}`, one(job.last_line), job.job_id);
    }
    if (!tells || document.hasFocus() || !groups.asks(job) || (before && groups.asks(before) && keyOf(before) === keyOf(job))) return;
    say(job, `${one(job.name)} waits for you`, isCommand(job) ? shell(job.command) : one(job.prompt), keyOf(job));
  });
}
