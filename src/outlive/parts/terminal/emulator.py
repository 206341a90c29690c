"""A terminal emulator: pyte (https://pypi.org/project/pyte/), and the parts of xterm that it lacks.

pyte has no alternate screen, prints what it cannot parse (strings other than OSC, CSI with a private prefix or
intermediate bytes), drops lines at the top whenever the screen shrinks, and moves the cursor into the margins."""

from __future__ import annotations

import codecs
import copy
import itertools
import re
import unicodedata
from typing import Any

import pyte

_ALTERNATE = frozenset({47, 1047, 1049})
_132_COLUMNS = 3  # xterm ignores it too, unless configured otherwise
# Sequences that pyte would misread: strings (DCS, SOS, PM, APC), CSI with < = > or with
# intermediate bytes, private CSI other than modes and erases, colons outside of colours, the choice
# of a character encoding
_FOREIGN = re.compile(
    r"\x1b[PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b\[[<=>][0-?]*[ -/]*[@-~]|\x1b\[[0-?]*[ -/]+[@-~]"
    r"|\x1b\[\?[0-9;:]*(?![0-9;:hlJK])[@-~]|\x1b\[[0-9;]*:[0-9;:]*(?![0-9;:m])[@-~]|\x1b%[@G8]"
)
_COLON_COLOUR = re.compile(r"\x1b\[([0-9;]*:[0-9;:]*)m")
_SEQUENCE = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_UNFINISHED = re.compile(r"\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b]{0,4096}\x1b?|[ -/]*)\Z")
_LONGEST = 4_200  # characters of an unfinished sequence that are kept for the next feed
# Modes that decide what the keys and the mouse of a person's terminal send: the terminal needs
# those of the program
_SHARED = (1, 7, 1000, 1002, 1003, 1004, 1006, 2004)
_COLOURS = ("black", "red", "green", "brown", "blue", "magenta", "cyan", "white")
_FLAGS = {"bold": "1", "italics": "3", "underscore": "4", "blink": "5", "reverse": "7", "strikethrough": "9"}

# Resets a person's terminal, whatever the program has done to it
RESET = b"\x1b[?1049l\x1b[?1l\x1b[?7h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b>\x1b[r\x1b[0m"


class Emulator(pyte.Screen):
    """Feed it bytes in order; `text()` returns what is on the screen."""

    def __init__(self, columns: int, lines: int) -> None:
        self._main: dict[str, Any] | None = None
        self._last_char = ""
        super().__init__(columns, lines)
        self._stream = _Stream(self)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown, as editors do."""
        return self._main is not None

    def feed(self, data: bytes) -> None:
        """Print `data`. Never fails: a sequence that pyte cannot take is left out. An unfinished
        one waits for its rest."""
        text = self._rest + self._decoder.decode(data)
        begun = _UNFINISHED.search(text, max(0, len(text) - _LONGEST))
        self._rest = text[begun.start() :] if begun else ""
        text = text[: begun.start()] if begun else text
        text = _COLON_COLOUR.sub(_with_semicolons, _FOREIGN.sub("", text))
        for piece in re.split(r"(?=\x1b)", text):
            if not self._take(piece) and (sequence := _SEQUENCE.match(piece)):
                self._take(piece[sequence.end() :])

    def _take(self, piece: str) -> bool:
        try:
            self._stream.feed(piece)
        except Exception:  # noqa: BLE001 - whatever a program prints, there is a screen
            self._stream = _Stream(self)
            return False
        return True

    def text(self) -> list[str]:
        """Return one string a row, without the blanks at its end."""
        return ["".join(self._shown(row)).rstrip() for row in range(self.lines)]

    def _shown(self, row: int) -> list[str]:
        """Return what each cell of a row shows: "" for the second half of a wide character, a blank for a half alone."""
        cells: dict[int, Any] = self.buffer.get(row, {})
        shown = [cells[column].data if column in cells else " " for column in range(self.columns)]
        for column, (text, following) in enumerate(zip(shown, [*shown[1:], " "], strict=True)):
            if not text:
                is_half = not column or pyte.screens.wcwidth(shown[column - 1][:1]) != 2
                shown[column] = " " if is_half else ""
            elif following and not text.isascii() and pyte.screens.wcwidth(text[0]) == 2:
                shown[column] = " "
        return shown

    # --- what pyte lacks ---

    def draw(self, data: str) -> None:
        if data.isascii():
            super().draw(data)
        else:
            for char in data:
                self._draw_one(char)
        if data:
            self._last_char = data[-1]

    def _draw_one(self, char: str) -> None:
        """Print a character. pyte would drop what stands behind one without a width, and halve a wide one at the edge."""
        width = pyte.screens.wcwidth(char)
        if width == 2 and self.cursor.x == self.columns - 1 and pyte.modes.DECAWM in self.mode:
            self.cursor.x = self.columns  # as behind the last column: it goes to the next line
        if width > 0:
            super().draw(char)
        elif unicodedata.combining(char) and self.cursor.x:
            line, column = self.buffer[self.cursor.y], self.cursor.x - 1
            column -= bool(column and not line[column].data)  # the second half of a wide one
            line[column] = line[column]._replace(data=unicodedata.normalize("NFC", line[column].data + char))

    def repeat(self, count: int = 1) -> None:
        """Print the last character again (REP)."""
        if self._last_char:
            self.draw(self._last_char * min(max(count, 1), self.columns * self.lines))

    def scroll_up(self, count: int = 1) -> None:
        self._scroll(count, self.index, bottom=True)

    def scroll_down(self, count: int = 1) -> None:
        self._scroll(count, self.reverse_index, bottom=False)

    def _scroll(self, count: int, step: Any, *, bottom: bool) -> None:
        top, last = self.margins or pyte.screens.Margins(0, self.lines - 1)
        row = self.cursor.y
        self.cursor.y = last if bottom else top
        for _ in range(min(max(count, 1), self.lines)):
            step()
        self.cursor.y = row

    def next_line(self) -> None:
        self.index()
        self.carriage_return()

    def set_margins(self, top: int | None = None, bottom: int | None = None) -> None:
        """Choose the lines that scroll, from 1; without a number up to the edge. The cursor goes home."""
        first, last = max(top or 1, 1) - 1, min(bottom or self.lines, self.lines) - 1
        if first < last:
            self.margins = pyte.screens.Margins(first, last)
            self.cursor_position()

    def cursor_up(self, count: int | None = None) -> None:
        """Move up to the first line that scrolls, or from above it to the first."""
        top = self.margins.top if self.margins and self.cursor.y >= self.margins.top else 0
        self.cursor.y = max(self.cursor.y - (count or 1), top)

    def cursor_down(self, count: int | None = None) -> None:
        """Move down to the last line that scrolls, or from below it to the last."""
        bottom = self.margins.bottom if self.margins and self.cursor.y <= self.margins.bottom else self.lines - 1
        self.cursor.y = min(self.cursor.y + (count or 1), bottom)

    def insert_characters(self, count: int | None = None) -> None:
        super().insert_characters(count)
        self.buffer[self.cursor.y].pop(self.columns, None)  # pushed out, it would come back with a deletion

    def back_tab(self, count: int = 1) -> None:
        for _ in range(min(max(count, 1), self.columns)):
            self.cursor.x = max((stop for stop in self.tabstops if stop < self.cursor.x), default=0)

    def set_mode(self, *numbers: int, **kwargs: Any) -> None:
        super().set_mode(*(number for number in numbers if number != _132_COLUMNS), **kwargs)
        if kwargs.get("private") and _ALTERNATE & set(numbers) and self._main is None:
            self._main = {"buffer": self.buffer, "cursor": copy.copy(self.cursor), "margins": self.margins}
            self.buffer = copy.copy(self.buffer)
            self.buffer.clear()
            self.margins = None

    def reset_mode(self, *numbers: int, **kwargs: Any) -> None:
        super().reset_mode(*(number for number in numbers if number != _132_COLUMNS), **kwargs)
        if kwargs.get("private") and _ALTERNATE & set(numbers) and self._main is not None:
            main, self._main = self._main, None
            main["cursor"].hidden = self.cursor.hidden
            self.buffer, self.cursor, self.margins = main["buffer"], main["cursor"], main["margins"]
            self._clip()

    def reset(self) -> None:
        self._main = None
        super().reset()
        self.g1_charset = pyte.charsets.LAT1_MAP  # line drawing only where it is chosen

    def save_cursor(self, *_: int) -> None:
        self.savepoints.clear()
        super().save_cursor()

    def restore_cursor(self, *_: int) -> None:
        saved = [one._replace(cursor=copy.copy(one.cursor)) for one in self.savepoints]
        super().restore_cursor()
        self.savepoints += saved
        for one in saved:
            if not one.origin:  # else it stays among the lines that scroll
                self.cursor.y = min(one.cursor.y, self.lines - 1)

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Resize as xterm does: cut columns, and move lines off the top only as far as the cursor needs it."""
        lines, columns = lines or self.lines, columns or self.columns
        above = max(0, self.cursor.y + 1 - lines)
        for row in range(self.lines if above else 0):
            self.buffer.pop(row, None)
            if row + above in self.buffer:
                self.buffer[row] = self.buffer.pop(row + above)
        self.cursor.y -= above
        self.lines, self.columns = lines, columns
        self.margins = None
        self.tabstops = set(range(8, columns, 8))
        self._clip()

    def _clip(self) -> None:
        for row in [row for row in self.buffer if row >= self.lines]:
            del self.buffer[row]
        for line in self.buffer.values():
            for column in [column for column in line if column >= self.columns]:
                del line[column]
        self.cursor.y = min(self.cursor.y, self.lines - 1)
        self.cursor.x = min(self.cursor.x, self.columns - 1)

    # --- for a person's terminal ---

    def paint(self) -> bytes:
        """Return the bytes that draw the screen with its attributes, and set the modes that keys
        and mouse depend on."""
        parts = ["\x1b[?1049h" if self.alternate else "", "\x1b[0m\x1b[r\x1b[H\x1b[2J"]
        parts += [f"\x1b[{row + 1};1H{self._painted(row)}" for row in range(self.lines)]
        on = {mode >> 5 for mode in self.mode if mode >> 5}
        parts += [f"\x1b[?{number}{'h' if number in on else 'l'}" for number in _SHARED]
        if self.title:
            parts.append("\x1b]2;" + re.sub(r"[\x00-\x1f\x7f-\x9f]", "", self.title) + "\x07")
        parts.append(f"\x1b[0m\x1b[{self.cursor.y + 1};{min(self.cursor.x, self.columns - 1) + 1}H")
        parts.append("\x1b[?25l" if self.cursor.hidden else "\x1b[?25h")
        return "".join(parts).encode("utf-8", "replace")

    def _painted(self, row: int) -> str:
        cells: dict[int, Any] = self.buffer.get(row, {})
        shown = self._shown(row)
        last = max((one for one in cells if one < self.columns and cells[one] != self.default_char), default=-1)
        parts, style = [], ""
        for column in range(last + 1):
            cell = cells.get(column, self.default_char)
            wanted = _style(cell)
            if wanted != style:
                parts.append(f"\x1b[{wanted}m")
                style = wanted
            parts.append(shown[column])
        return "".join(parts) + ("\x1b[0m" if style else "")


class _Stream(pyte.Stream):
    """pyte's parser, with sequences that it lacks (rep, indn, rin and cbt of xterm-256color; save
    and restore cursor)."""

    more = {
        "b": "repeat",
        "S": "scroll_up",
        "T": "scroll_down",
        "Z": "back_tab",
        "`": "cursor_to_column",
        "s": "save_cursor",
        "u": "restore_cursor",
    }
    csi = {**pyte.Stream.csi, **more}
    escape = {**pyte.Stream.escape, "E": "next_line"}
    events = frozenset(itertools.chain(pyte.Stream.events, csi.values(), escape.values()))

    def __init__(self, screen: pyte.Screen) -> None:
        super().__init__(screen)
        # The bytes are decoded already; with use_utf8 pyte would not switch to line drawing
        self.use_utf8 = False


def _with_semicolons(match: re.Match[str]) -> str:
    """Return colours like 38:2::R:G:B and styles like 4:3 in the older form with semicolons."""
    words = []
    for word in match[1].split(";"):
        head, *rest = word.split(":")
        values = [value for value in rest if value]
        words.append(head)
        if head in ("38", "48") and values:
            words += values[:4] if values[0] == "2" else values[:2]
    return "\x1b[" + ";".join(words) + "m"


def _style(cell: Any) -> str:
    """Return the SGR parameters of a cell; "" for a plain one, which also resets."""
    words = [code for name, code in _FLAGS.items() if getattr(cell, name)]
    words += _colour(cell.fg, 30) + _colour(cell.bg, 40)
    return ";".join(["0", *words]) if words else ""


def _colour(name: str, base: int) -> list[str]:
    plain = name.removeprefix("bright")
    if plain in _COLOURS:
        return [str(base + _COLOURS.index(plain) + (60 if name.startswith("bright") else 0))]
    if re.fullmatch(r"[0-9a-fA-F]{6}", name):
        return [str(base + 8), "2", *(str(int(name[at : at + 2], 16)) for at in (0, 2, 4))]
    return []
