// One line of output as a terminal shows it: colours, and text that overwrites text.

import { h, number, visible } from "./dom.js";

const TOKEN = /\x1b\[([0-9;:<=>?]*)([ -/]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[PX^_][^\x1b]*(?:\x1b\\|$)|\x1b[ -/]*[0-~]?|[\r\b\t]|[^\x1b\r\b\t]+/g;
const PLAIN = /^[^\x1b\r\b]*$/;
const STDERR = 1, LOST = 2;
const MOST_CELLS = 20000;

// → [{ text, style, stream, lost }]; `style` is null or { fg, bg, bold, dim, italic, underline, strike, inverse }
export function parts(runs, state) {
  const pairs = [];
  for (let at = 0; at < runs.length; at += 2) pairs.push([runs[at], runs[at + 1]]);
  if (state.style !== null || pairs.some(([stream, text]) => stream !== LOST && !PLAIN.test(text))) return overwritten(pairs, state);
  return pairs.map(([stream, text]) => (stream === LOST ? { lost: text } : { text: visible(text), stream, style: null }));
}

function overwritten(pairs, state) {
  const cells = [];
  let column = 0;
  const write = (char, stream) => {
    while (cells.length < column) cells.push({ text: " ", style: null, stream });
    cells[column] = { text: char, style: state.style, stream };
    column += 1;
  };
  const to = (wanted) => { column = Math.max(0, Math.min(MOST_CELLS, wanted)); };
  for (const [at, [stream, printed]] of pairs.entries()) {
    if (stream === LOST) {
      cells[column] = { lost: printed };
      column += 1;
      continue;
    }
    // A carriage return at the end of a line belongs to the line break of a terminal
    const text = at === pairs.length - 1 ? printed.replace(/\r+$/, "") : printed;
    for (const [token, given, , final] of text.matchAll(TOKEN)) {
      const by = Number(given) || 1;
      if (token === "\r") column = 0;
      else if (token === "\b") to(column - 1);
      else if (token === "\t") { do write(" ", stream); while (column % 8); }
      else if (token[0] !== "\x1b") for (const char of visible(token)) write(char, stream);
      else if (final === "m") state.style = styled(state.style, given);
      else if (final === "K") {
        const mode = Number(given);
        if (mode === 0) cells.length = Math.min(cells.length, column);
        else for (let back = 0; back < (mode === 2 ? cells.length : column); back += 1) cells[back] = { text: " ", style: null, stream };
      } else if (final === "G") to(by - 1);
      else if (final === "C") to(column + by);
      else if (final === "D") to(column - by);
    }
  }
  return joined(cells);
}

function joined(cells) {
  const found = [];
  for (const cell of cells) {
    const last = found.at(-1);
    if (cell.lost === undefined && last && last.lost === undefined && last.style === cell.style && last.stream === cell.stream) last.text += cell.text;
    else found.push({ ...cell });
  }
  return found;
}

const ON = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const OFF = { 22: ["bold", "dim"], 23: ["italic"], 24: ["underline"], 27: ["inverse"], 29: ["strike"], 39: ["fg"], 49: ["bg"] };

function styled(before, given) {
  const codes = given.replace(/:/g, ";").split(";").map((code) => Number(code) || 0);
  let style = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at], tens = Math.floor(code / 10), ones = code % 10;
    const where = [3, 9].includes(tens) ? "fg" : [4, 10].includes(tens) ? "bg" : null;
    if (code === 0) style = {};
    else if (ON[code]) style[ON[code]] = true;
    else if (OFF[code]) for (const name of OFF[code]) delete style[name];
    else if (where && ones < 8) style[where] = ones + (tens > 4 ? 8 : 0);
    else if (code === 38 || code === 48) {
      if (codes[at + 1] === 5) { style[where] = colour(codes[at + 2] ?? 0); at += 2; }
      else if (codes[at + 1] === 2) { style[where] = rgb(codes.slice(at + 2, at + 5)); at += 4; }
    }
  }
  return Object.keys(style).length ? style : null;
}

function colour(code) {
  if (code < 16) return code;
  if (code > 231) { const grey = 8 + (Math.min(code, 255) - 232) * 10; return rgb([grey, grey, grey]); }
  const level = (part) => (part ? 55 + part * 40 : 0);
  const rest = code - 16;
  return rgb([level(Math.floor(rest / 36)), level(Math.floor(rest / 6) % 6), level(rest % 6)]);
}

function rgb(given) {
  const [red, green, blue] = [0, 1, 2].map((at) => Math.max(0, Math.min(255, given[at] || 0)));
  return `rgb(${red},${green},${blue})`;
}

// Append the parts of a row to an element; `marks` is a RegExp whose matches are marked.
export function show(element, found, marks) {
  for (const part of found) {
    if (part.lost !== undefined) {
      element.append(h("span.lost", `⟨${number(part.lost)} bytes were cut out of the log⟩`));
      continue;
    }
    const where = part.style || part.stream === STDERR ? element.appendChild(h("span")) : element;
    if (where !== element) dress(where, part);
    marked(where, part.text, marks);
  }
}

function dress(element, part) {
  const names = part.stream === STDERR ? ["err"] : [];
  const style = part.style ?? {};
  for (const name of ["bold", "dim", "italic", "underline", "strike", "inverse"]) if (style[name]) names.push(`s-${name}`);
  for (const [where, property] of [["fg", "color"], ["bg", "backgroundColor"]]) {
    if (typeof style[where] === "number") names.push(`${where}-${style[where]}`);
    else if (style[where]) element.style[property] = style[where];
  }
  element.className = names.join(" ");
}

function marked(element, text, marks) {
  let at = 0;
  for (const hit of marks ? [...text.matchAll(marks)].slice(0, 200) : []) {
    if (!hit[0]) continue;
    element.append(text.slice(at, hit.index), h("mark", hit[0]));
    at = hit.index + hit[0].length;
  }
  element.append(text.slice(at));
}

// What marks the matches of an RE2 pattern
export function expression(pattern) {
  try {
    const [, flags, rest] = /^((?:\(\?[ims]+\))*)(.*)$/s.exec(pattern);
    return new RegExp(rest, ["g", ...new Set(flags.match(/\w/g))].join(""));
  } catch {
    return null; // RE2 knows what JavaScript does not: found, but not marked
  }
}
