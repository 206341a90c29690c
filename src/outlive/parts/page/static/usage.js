// What jobs use: samples that this page takes while a person looks, and those that supervisors kept.

import { call } from "./api.js";
import { bytes, h, on } from "./dom.js";
import { forever, sleep } from "./polling.js";

const MOST = 1200; // samples of a job; then every other old one goes
const known = new Map(); // job → [{ at, cpu, memory, end }]

// Sample these jobs until the signal comes: `wanted` returns their ids, `told` is called after each look
export function watchUsage(wanted, told, signal, every = 2000) {
  forever(async () => {
    const jobs = wanted().slice(0, 50);
    if (jobs.length) {
      for (const [id, sample] of Object.entries((await call("samples", { jobs }, signal)).samples)) {
        const samples = [...known.get(id) ?? [], sample];
        known.set(id, samples.length > MOST ? samples.filter((_, at) => at > MOST / 2 || at % 2) : samples);
      }
      told();
    }
    await sleep(every, signal);
  }, signal, () => true);
}

// Take over what the supervisor of a job has kept
export function kept(id, samples) {
  const seen = known.get(id) ?? [];
  known.set(id, [...samples.filter((one) => !(one.at >= seen[0]?.at)), ...seen]);
}

// The rates between samples: { from, to, cpu (1 is one processor), memory, output (bytes a second), end }
export function rates(id) {
  const samples = known.get(id) ?? [];
  return samples.slice(1).flatMap((now, at) => {
    const before = samples[at], ms = now.at - before.at;
    if (ms <= 0) return [];
    return { from: before.at, to: now.at, cpu: Math.max(0, now.cpu - before.cpu) / ms, memory: now.memory, output: (1000 * Math.max(0, now.end - before.end)) / ms, end: now.end };
  });
}

function percent(cpu) {
  return `${cpu < 0.0995 ? (100 * cpu).toFixed(1) : Math.round(100 * cpu)} %`;
}

// Draw pieces [{ from, to, value }] as an area: time from `start` to `end`, values up to `most`
function draw(canvas, pieces, { start, end, most, colour }) {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth || canvas.width, height = canvas.clientHeight || canvas.height;
  canvas.width = Math.round(width * scale); // which clears it too
  canvas.height = Math.round(height * scale);
  const pen = canvas.getContext("2d");
  pen.scale(scale, scale);
  const shade = getComputedStyle(document.documentElement).getPropertyValue(colour).trim();
  const x = (time) => ((time - start) / (end - start)) * width;
  const y = (value) => height - 1 - Math.min(1, value / (most || 1)) * (height - 3);
  pen.fillStyle = shade;
  for (const { from, to, value } of pieces) {
    const wide = Math.max(1, x(to) - x(from));
    pen.globalAlpha = 1;
    pen.fillRect(x(from), y(value), wide, 1.5);
    pen.globalAlpha = 0.18;
    pen.fillRect(x(from), y(value), wide, height);
  }
}

export const cpuOf = (job) => (job.usage?.user_ms ?? 0) + (job.usage?.system_ms ?? 0);

const SMALL_MS = 120_000; // that a small curve shows

// The small curve of the list, and what it uses now, or used
export function small(job) {
  const found = rates(job.job_id);
  if (job.state !== "running" || !found.length) {
    const cpu = cpuOf(job), memory = job.usage?.peak_memory_bytes;
    return h("div.use", job.usage && job.finished_at && h("span", `${(cpu / 1000).toFixed(cpu < 10_000 ? 1 : 0)} s CPU${memory ? ` · ${bytes(memory)}` : ""}`));
  }
  const now = found.at(-1);
  const canvas = h("canvas.small-curve", { "aria-hidden": "true", width: 110, height: 20 });
  draw(canvas, found.filter((one) => one.to > now.to - SMALL_MS).map((one) => ({ ...one, value: one.cpu })), { start: now.to - SMALL_MS, end: now.to, most: Math.max(1, ...found.map((one) => one.cpu)), colour: "--accent" });
  return h("div.use", canvas, h("span", `${percent(now.cpu)} · ${bytes(now.memory)}`));
}

const CURVES = [
  { name: "CPU", colour: "--accent", shown: percent, least: 0.1 },
  { name: "memory", colour: "--runs", shown: bytes, least: 1 },
  { name: "output", colour: "--asks", shown: (rate) => `${bytes(Math.round(rate))}/s`, least: 1 },
];

// The curves of a job over one axis of time → what draws them. A click calls picked(seq): where its output ended then
export function curvesOf(element, id, picked) {
  const parts = CURVES.map((part) => ({ ...part, canvas: h("canvas", { role: "img", "aria-label": part.name }), value: h("span.value") }));
  element.append(...parts.map((part) => h("div.curve", part.canvas, h("div.name", `${part.name} `, part.value))));
  on(element, "click", ({ clientX }) => {
    const box = parts[0].canvas.getBoundingClientRect(), pieces = rates(id), start = pieces[0].from;
    const time = start + ((clientX - box.left) / box.width) * (pieces.at(-1).to - start);
    const end = pieces.find((piece) => time <= piece.to)?.end;
    if (end) picked(end - 1);
  });
  return () => {
    const pieces = rates(id);
    element.hidden = pieces.length < 2;
    if (element.hidden) return;
    for (const { name, colour, shown, least, canvas, value } of parts) {
      const drawn = pieces.map((one) => ({ ...one, value: one[name.toLowerCase()] }));
      draw(canvas, drawn, { start: pieces[0].from, end: pieces.at(-1).to, most: Math.max(least, ...drawn.map((one) => one.value)), colour });
      value.textContent = shown(drawn.at(-1).value);
    }
  };
}
