// One line of output as a terminal shows it: colours, and text that overwrites text.

import { visible } from "./dom.js";

const TOKEN = /\x1b\[([0-9;:<=>?]*)([ -/]*)([@-~])|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\|$)|\x1b[PX^_][^\x1b]*(?:\x1b\\|$)|\x1b[ -/]*[0-~]?|[\r\b\t]|[^\x1b\r\b\t]+/g;
const PLAIN = /^[^\x1b\r\b]*$/;
const STDERR = 1, LOST = 2;
const MOST_CELLS = 20000;

// → [{ text, style, stream, lost }]; `style` is null or { fg, bg, bold, dim, italic, underline, strike, inverse }
export function parts(runs, state) {
  const found = [];
  let simple = state.style === null;
  for (let at = 0; at < runs.length && simple; at += 2) simple = runs[at] === LOST || PLAIN.test(runs[at + 1]);
  if (simple) {
    for (let at = 0; at < runs.length; at += 2) {
      if (runs[at] === LOST) found.push({ lost: runs[at + 1] });
      else found.push({ text: visible(runs[at + 1]), stream: runs[at], style: null });
    }
    return found;
  }
  return overwritten(runs, state);
}

function overwritten(runs, state) {
  const cells = [];
  let column = 0;
  const write = (char, stream) => {
    while (cells.length < column) cells.push({ text: " ", style: null, stream });
    cells[column] = { text: char, style: state.style, stream };
    column += 1;
  };
  for (let at = 0; at < runs.length; at += 2) {
    const stream = runs[at];
    if (stream === LOST) {
      cells[column] = { lost: runs[at + 1] };
      column += 1;
      continue;
    }
    // A carriage return at the end of a line belongs to the line break of a terminal
    const text = at + 2 === runs.length ? runs[at + 1].replace(/\r+$/, "") : runs[at + 1];
    for (const [token, given, , final] of text.matchAll(TOKEN)) {
      if (token === "\r") column = 0;
      else if (token === "\b") column = Math.max(0, column - 1);
      else if (token === "\t") { do write(" ", stream); while (column % 8); }
      else if (token[0] !== "\x1b") for (const char of visible(token)) write(char, stream);
      else if (final === "m") state.style = styled(state.style, given);
      else if (final === "K") {
        const mode = given === "" ? 0 : Number(given);
        if (mode === 0) cells.length = Math.min(cells.length, column);
        else for (let back = 0; back < (mode === 2 ? cells.length : column); back += 1) cells[back] = { text: " ", style: null, stream };
      } else if (final === "G") column = Math.min(MOST_CELLS, Math.max(0, (Number(given) || 1) - 1));
      else if (final === "C") column = Math.min(MOST_CELLS, column + (Number(given) || 1));
      else if (final === "D") column = Math.max(0, column - (Number(given) || 1));
    }
  }
  return joined(cells);
}

function joined(cells) {
  const found = [];
  for (const cell of cells) {
    const last = found[found.length - 1];
    if (cell.lost === undefined && last && last.lost === undefined && last.style === cell.style && last.stream === cell.stream) last.text += cell.text;
    else found.push({ ...cell });
  }
  return found;
}

function styled(before, given) {
  const codes = given.replace(/:/g, ";").split(";").map((code) => Number(code) || 0);
  let style = { ...(before ?? {}) };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at];
    if (code === 0) style = {};
    else if (code === 1) style.bold = true;
    else if (code === 2) style.dim = true;
    else if (code === 3) style.italic = true;
    else if (code === 4) style.underline = true;
    else if (code === 7) style.inverse = true;
    else if (code === 9) style.strike = true;
    else if (code === 22) { delete style.bold; delete style.dim; }
    else if (code === 23) delete style.italic;
    else if (code === 24) delete style.underline;
    else if (code === 27) delete style.inverse;
    else if (code === 29) delete style.strike;
    else if (code === 39) delete style.fg;
    else if (code === 49) delete style.bg;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 90 && code <= 97) style.fg = code - 82;
    else if (code >= 100 && code <= 107) style.bg = code - 92;
    else if (code === 38 || code === 48) {
      const where = code === 38 ? "fg" : "bg";
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
      const lost = document.createElement("span");
      lost.className = "lost";
      lost.textContent = `⟨${part.lost.toLocaleString("en-US")} bytes were cut out of the log⟩`;
      element.append(lost);
      continue;
    }
    const where = part.style || part.stream === STDERR ? element.appendChild(document.createElement("span")) : element;
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
  if (!marks) {
    element.append(document.createTextNode(text));
    return;
  }
  let at = 0;
  marks.lastIndex = 0;
  for (let hit = marks.exec(text), count = 0; hit && count < 200; hit = marks.exec(text), count += 1) {
    if (!hit[0]) { marks.lastIndex += 1; continue; }
    element.append(document.createTextNode(text.slice(at, hit.index)));
    element.append(Object.assign(document.createElement("mark"), { textContent: hit[0] }));
    at = hit.index + hit[0].length;
  }
  element.append(document.createTextNode(text.slice(at)));
}

export function plain(runs) {
  return parts(runs, { style: null }).map((part) => part.text ?? "").join("");
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
