// Around everything: header, addresses, keys, light and dark.

import { base, begin, call, connected, forget, login, onConnection } from "./api.js";
import { byId, fill, h, named, patch, toast } from "./dom.js";
import { about, begin as beginJobs, groups, jobs, onJobs } from "./jobs.js";
import { notify } from "./questions.js";
import { show as showList } from "./list.js";
import { show as showJob } from "./job.js";
import { show as showTimeline } from "./timeline.js";

const main = byId("main");
let control = new AbortController();
let keys = {};
let help = null;
const byToken = document.querySelector('meta[name="outlive-login"]').content === "token";

const page = {
  base,
  go(path, { replace = false } = {}) {
    const address = base + path;
    if (page.place && !replace) history.replaceState(page.place(), "");
    if (replace) history.replaceState(null, "", address);
    else history.pushState(null, "", address);
    if (!replace) route();
  },
  link,
  list: "", // the address of the list as it was left
  place: null, // what the address does not say of the place on this page
  keys(found) { keys = found; },
  stranger,
};

function route() {
  control.abort();
  control = new AbortController();
  keys = {};
  page.place = null;
  const path = location.pathname.slice(base.length);
  const [, job] = /^job\/([0-9A-Za-z]+)$/.exec(path) ?? [];
  if (job) showJob(main, control.signal, page, job.toUpperCase());
  else if (path === "timeline") showTimeline(main, control.signal, page);
  else showList(main, control.signal, page);
  header();
}

function header() {
  const path = location.pathname.slice(base.length);
  const tab = (to, text, here) => link("a", to, { "aria-current": here ? "page" : null }, text);
  patch(byId("top"),
    link("a.brand", "", { "aria-label": "outlive: all jobs" }, h("img", { src: `${base}static/icon.svg`, alt: "", width: 22, height: 22 }), "outlive"),
    h("nav", { "aria-label": "Pages" }, tab("", "Jobs", path !== "timeline"), tab("timeline", "Timeline", path === "timeline")),
    h("span.grow"),
    h("span", { id: "connection", role: "status" }),
    h("span", { id: "counts" }),
    h("button.quiet", { id: "theme", title: "Light or dark (t)", "aria-label": "Light or dark", onclick: turnTheme }, "◐"),
    h("button.quiet", { id: "help", title: "Keys (?)", "aria-label": "Keys", onclick: showHelp }, "?"));
  showConnection();
  showCounts();
}

// A link to a place of this page: a plain click loads no new one
function link(what, to, more, ...children) {
  const onclick = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    page.go(to);
  };
  return h(what, { href: base + to, onclick, ...more }, ...children);
}

function showConnection() {
  const place = byId("connection");
  if (place) {
    place.textContent = connected ? "" : `no connection to the server: trying again${byToken ? "" : "; if it has ended, run outlive ui"}`;
    place.className = connected ? "" : "lost-connection";
  }
  document.body.classList.toggle("offline", !connected);
}

function showCounts() {
  const place = byId("counts");
  if (!place) return;
  const [running, asks] = [groups.running, groups.asks].map((test) => [...jobs.values()].filter(test).length);
  patch(place, running ? h("span.runs", `${running} running`) : "", asks ? h("span.asks", `${asks} waiting`, h("span.long", " for you")) : "");
}

// --- keys ---

const common = {
  "?": ["this help", showHelp],
  t: ["light or dark", turnTheme],
  g: ["all jobs", () => page.go("")],
  l: ["timeline", () => page.go("timeline")],
};

addEventListener("keydown", (event) => {
  if (help?.open) {
    if (event.key === "Escape" || event.key === "?") { help.close(); event.preventDefault(); }
    return;
  }
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
  const where = event.target;
  if (where.closest?.(".xterm, dialog") || /^(INPUT|TEXTAREA|SELECT)$/.test(where.tagName)) return;
  if (where.closest?.("button, a") && (event.key === "Enter" || event.key === " ")) return;
  const found = keys[event.key] ?? common[event.key];
  if (!found) return;
  event.preventDefault();
  found[1](event);
});

const SHOWN = { ArrowLeft: "←", ArrowRight: "→", Escape: "Esc", " ": "Space" };

function showHelp() {
  if (help) return;
  const rows = (found) => Object.entries(found).filter(([, [text]]) => text)
    .map(([key, [text]]) => h("div", h("dt", h("kbd", SHOWN[key] ?? key)), h("dd", text)));
  help = h("dialog.help", { "aria-labelledby": "help-title", onclose: () => { help.remove(); help = null; } },
    h("h2", { id: "help-title" }, "Keys"),
    h("dl", rows(keys), rows(common)),
    h("form", { method: "dialog" }, h("button.quiet", { type: "button", onclick: leave }, "Log this browser out"), h("button", { autofocus: true }, "Close")));
  document.body.append(help);
  help.showModal();
}

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
  if (byToken && error.code === "denied" && crypto.subtle) return askToken();
  const ended = error.code === "ended";
  return fill(main, h("div.empty.stranger", h("h1", ended ? "The server of this page has ended" : "This browser has not been let in"),
    h("p", byToken ? "Load this page again to give a token of the server." : "Run this on the machine whose jobs you want to see; it opens the page with a new one-time link:"),
    byToken ? null : h("p", h("code", "outlive ui")),
    ended ? h("p.dim", "If it still runs, another program has taken its place at this address. It learned nothing from this page.") : null,
    error.code === "denied" && error.message ? h("p.dim", `${named(error.message)}. ${named(error.hint ?? "")}`) : null));
}

function askToken() {
  const token = h("input", { type: "password", name: "token", required: true, autocomplete: "current-password", "aria-label": "Token" });
  const said = h("p.lost-connection", { role: "alert" });
  const enter = async (event) => {
    event.preventDefault();
    try {
      await login(token.value.trim());
      location.reload();
    } catch (error) {
      said.textContent = error.message === "busy" ? "Too many wrong tokens. Try again in a minute." : error.message;
    }
  };
  fill(main, h("form.empty.stranger", { onsubmit: enter }, h("h1", "Give a token of this server"), token, said,
    h("button", "Enter"), h("p.dim", "On the machine of the server, ", h("code", "outlive token add NAME"), " makes one. This page has its rights.")));
  token.focus();
}

try {
  const theme = localStorage.getItem("outlive-theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch { /* the system's */ }

addEventListener("ended", () => { control.abort(); stranger({ code: "ended" }); });
onConnection((now) => { showConnection(); if (now) toast("Connected again", "good"); });
const refused = await begin().then(() => null, (error) => error);
if (refused) {
  header();
  stranger(refused.error ?? { code: "ended" });
} else {
  addEventListener("popstate", route);
  const forGood = new AbortController().signal;
  onJobs((changes) => {
    showCounts();
    for (const [before, job] of changes) dispatchEvent(new CustomEvent("job", { detail: { before, job } }));
    if (about.refused) stranger(about.refused);
  }, forGood);
  notify((id) => page.go(`job/${id}`));
  beginJobs();
  route();
}
