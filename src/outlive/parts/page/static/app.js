// Around everything: header, addresses, actions and their keys, light and dark.

import { base, begin, call, connected, forget, login } from "./api.js";
import { byId, fill, h, made, named, on, patch, toast } from "./dom.js";
import { about, begin as beginJobs, groups, jobs } from "./jobs.js";
import { notify } from "./questions.js";
import { show as showList } from "./list.js";
import { show as showJob } from "./job.js";
import { show as showTimeline } from "./timeline.js";

const main = byId("main");
let control = new AbortController();
let shown = ""; // the page, as its template is called
let actions = {};
let when = {}; // whether an action is one now, by its name
const { whole: help, ...keys } = made("keys");
const way = document.body.dataset.login;

const page = {
  go(path, { replace = false } = {}) {
    const address = base + path;
    if (page.place && !replace) history.replaceState(page.place(), "");
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    if (!replace) route();
  },
  list: "", // the address of the list as it was left
  place: null, // what the address does not say of the place on this page
  does(found, conditions = {}) { actions = found; when = conditions; },
  stranger,
};

function route() {
  control.abort();
  control = new AbortController();
  page.does({});
  page.place = null;
  const path = location.pathname.slice(base.length);
  const [, job] = /^job\/([0-9A-Za-z]+)$/.exec(path) ?? [];
  shown = job ? "job" : path === "timeline" ? path : "list";
  const { whole, ...parts } = made(shown);
  fill(main, whole);
  ({ job: showJob, timeline: showTimeline, list: showList })[shown](parts, control.signal, page, job?.toUpperCase());
  for (const link of byId("top").querySelectorAll("nav a")) {
    link.ariaCurrent = link.pathname.endsWith("timeline") === (shown === "timeline") ? "page" : null;
  }
}

function showConnection() {
  const place = byId("connection");
  place.textContent = connected ? "" : `no connection to the server: trying again${way === "token" ? "" : "; if it has ended, run outlive ui"}`;
  place.className = connected ? "" : "lost-connection";
  document.body.classList.toggle("offline", !connected);
}

function showCounts() {
  const [running, asks] = [groups.running, groups.asks].map((test) => [...jobs.values()].filter(test).length);
  patch(byId("counts"), running ? h("span.runs", `${running} running`) : "", asks ? h("span.asks", `${asks} waiting`, h("span.long", " for you")) : "");
}

// --- actions, by a click or by a key ---

const common = { help: showHelp, theme: turnTheme, jobs: () => page.go(""), time: () => page.go("timeline"), leave, back: () => page.go(page.list) };

function act(name, event) {
  if (!(when[name]?.() ?? true)) return;
  (actions[name] ?? common[name])?.(event);
}

on(document, "click", (event) => {
  const { target } = event, what = target.closest("button[data-do]"), link = target.closest("a[href]");
  if (what) return act(what.dataset.do, event);
  // A link to a place of this page: a plain click loads no new one
  if (event.defaultPrevented || !link?.pathname.startsWith(base) || link.hasAttribute("download") || link.hash === "#main") return;
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  page.go(link.pathname.slice(base.length) + link.search);
});

addEventListener("keydown", (event) => {
  if (help.open) {
    if (event.key === "Escape" || event.key === "?") { help.close(); event.preventDefault(); }
    return;
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const where = event.target;
  if (where.closest?.(".xterm, dialog, input:not([type=checkbox]), textarea, select")) return;
  if (where.closest?.("button, a, input") && (event.key === "Enter" || event.key === " ")) return;
  const of = (list) => [...list?.querySelectorAll("kbd") ?? []].find((one) => (one.dataset.key ?? one.textContent) === event.key);
  const key = of(keys[shown]) ?? of(keys.common);
  if (!key) return;
  event.preventDefault();
  act(key.closest("[data-do]").dataset.do, event);
});

function showHelp() {
  document.body.append(help);
  for (const list of ["list", "job", "timeline"]) if (list !== shown) keys[list].remove(); else keys.common.before(keys[list]);
  help.showModal();
}
on(help, "close", () => help.remove());

async function leave() {
  try { await call("logout"); } catch { /* it has ended already */ }
  forget();
  location.reload();
}

function turnTheme() {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme || (dark ? "dark" : "light");
  const next = now === "dark" ? "light" : "dark";
  document.documentElement.dataset.theme = next;
  try { localStorage.setItem("outlive-theme", next); } catch { /* not remembered */ }
  dispatchEvent(new Event("themechange"));
}

// --- begin ---

function stranger(error) {
  document.title = "outlive";
  if (way === "token" && error.code === "denied" && crypto.subtle) return askToken();
  const { whole, heading, ended, why } = made("stranger");
  if (error.code === "ended") heading.textContent = "The server of this page has ended"; else ended.remove();
  if (error.code === "denied" && error.message) why.textContent = `${named(error.message)}. ${named(error.hint ?? "")}`;
  for (const one of whole.querySelectorAll("[data-login]")) one.hidden = one.dataset.login !== way;
  return fill(main, whole);
}

function askToken() {
  const { whole, token, said } = made("login");
  on(whole, "submit", async (event) => {
    event.preventDefault();
    try {
      await login(token.value.trim());
      location.reload();
    } catch (error) {
      said.textContent = error.message === "busy" ? "Too many wrong tokens. Try again in a minute." : error.message;
    }
  });
  fill(main, whole);
  token.focus();
}

try {
  const theme = localStorage.getItem("outlive-theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* the system's */ }

addEventListener("ended", () => { control.abort(); stranger({ code: "ended" }); });
addEventListener("connection", () => { showConnection(); if (connected) toast("Connected again", "good"); });
const refused = await begin().then(() => null, (error) => error);
if (refused) {
  stranger(refused.error ?? { code: "ended" });
} else {
  addEventListener("popstate", route);
  addEventListener("jobs", () => {
    showCounts();
    if (about.refused) stranger(about.refused);
  });
  notify((id) => page.go(`job/${id}`));
  beginJobs();
  route();
}
