"""The screen of `outlive top`: a list of jobs, the output of one, a line for what is typed, and the keys.

All that a job or its caller has chosen is shown with each character visible (core/quoted.py)."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import urwid

from outlive import limits
from outlive.cli import human, summary
from outlive.cli.text import Style, cut, table
from outlive.core.quoted import visible
from outlive.errors import OutliveError
from outlive.jobs import adoption, lookup
from outlive.jobs.context import Context
from outlive.parts.approvals.answers import APPROVAL, Question
from outlive.parts.approvals.at_terminal import ask
from outlive.parts.approvals.at_terminal.inbox import EMPTY, type_line
from outlive.parts.approvals.person import require_person_here
from outlive.parts.approvals.verbs.inbox import question_of
from outlive.parts.terminal import attach
from outlive.parts.terminal.screen import screen
from outlive.parts.top.jobs import Jobs, asks
from outlive.verbs import spelling
from outlive.verbs.kill import kill
from outlive.verbs.log import log

_EVERY_S = 1.0
_PREVIEW_ROWS = 9
_LINES = 1_000  # of the output of an open job
_LIST_KEYS = "Enter open · a answer · t attach · x kill · / filter · ? keys · q quit"
_OPEN_KEYS = "Esc back · f follow · a answer · t attach · x kill · ? keys"
_HELP = """Keys

  ↑ ↓ k j        the job above, below
  PgUp PgDn      a page
  Home End g G   the first, the last
  Enter l →      open the job: its output
  f              follow: go to the end of the output, and stay there while it grows
  Esc h ←        back
  a              answer what the job asks: a line, or y, a (always), n and a reason; if it asks nothing, attach
  t              attach to the terminal of the job; Ctrl-] d comes back
  x              kill the job, after a question
  /              show only jobs with these words: of name, command, directory, state, tags; "asks" for those that wait
  q              quit: jobs go on
"""
# Colours of rows by their code in cli/text.py, and of the rest
_PALETTE = [
    ("31", "dark red", ""),
    ("32", "dark green", ""),
    ("33", "brown", ""),
    ("35", "dark magenta", ""),
    ("36", "dark cyan", ""),
    ("asks", "yellow,bold", ""),
    ("head", "bold", ""),
    ("note", "yellow", ""),
    ("here", "standout", ""),
]
_MOVES = {"j": "down", "k": "up", "g": "home", "G": "end"}


class _Row(urwid.Text):
    """One row of text, which can be chosen, and is cut at the edge."""

    _selectable = True

    def __init__(self, text: str) -> None:
        super().__init__(text, wrap="clip")

    def keypress(self, _size: tuple[int, ...], key: str) -> str:
        return key


class Screen:
    """What a person sees and types. One thread: what takes long, as a kill, is not waited for."""

    def __init__(self, ctx: Context) -> None:
        # Brief: what each job uses costs more than the rest of its row
        self._ctx = Context(ctx.caller, ctx.verb, detail="brief")
        self._jobs = Jobs(self._ctx)
        self._shown: list[dict[str, Any]] = []
        self._filter = ""
        self._open: str | None = None  # the job whose output is shown
        self._is_followed = True
        self._seen: tuple[object, ...] = ()
        self._is_whole = False  # whether the list was shown with all jobs
        self._is_asking = False
        self._done: Callable[[str], None] = lambda text: None
        self._note = ""
        self._rows: Any = urwid.SimpleFocusListWalker([])
        self._list = urwid.ListBox(self._rows)
        self._lines: Any = urwid.SimpleFocusListWalker([])
        self._output = urwid.ListBox(self._lines)
        self._head = urwid.Text("", wrap="clip")
        self._preview = urwid.Text("", wrap="clip")
        below = urwid.Filler(self._preview, valign="top")
        self._both = urwid.Pile([self._list, (1, urwid.SolidFill("─")), (_PREVIEW_ROWS, below)])
        self._frame: Any = urwid.Frame(self._both, header=urwid.AttrMap(self._head, "head"))
        display = urwid.display.raw.Screen()
        if os.environ.get("NO_COLOR"):
            display.set_terminal_properties(colors=1)
        self._loop = urwid.MainLoop(self._frame, _PALETTE, display, handle_mouse=False, unhandled_input=self._key)

    def run(self) -> None:
        self._tick()
        try:
            self._loop.run()
        except KeyboardInterrupt:  # leaves, as q
            return

    def _tick(self, *_: object) -> None:
        self._jobs.look()
        self._draw()
        self._loop.set_alarm_in(_EVERY_S if self._jobs.is_whole else 0.01, self._tick)

    # --- what is shown ---

    def _draw(self) -> None:
        if self._open is None:
            self._draw_list()
        else:
            self._draw_output(self._open)
        if not self._is_asking:
            keys = _LIST_KEYS if self._open is None else _OPEN_KEYS
            self._frame.footer = urwid.Text(("note", self._note) if self._note else keys, wrap="clip")

    def _draw_list(self) -> None:
        chosen = self._chosen()
        self._shown = self._jobs.fitting(self._filter)
        running = sum(job["state"] == "running" for job in self._shown)
        waiting = sum(map(asks, self._shown))
        words = [f"{len(self._shown)} jobs", f"{running} running", f"{waiting} ask" if waiting else ""]
        words += [f"with {visible(self._filter)!r}" if self._filter else "", "" if self._jobs.is_whole else "reading …"]
        style = Style()
        head, *rows = table(human.HEAD, [human.row(job, style.now) for job in self._shown], style).splitlines()
        self._head.set_text(f"outlive: {', '.join(filter(None, words))}\n{head}")
        self._rows[:] = [self._row(job, row) for job, row in zip(self._shown, rows, strict=True)]
        ids = [job["job_id"] for job in self._shown]
        if self._rows:  # the chosen job stays chosen, wherever its row moves to; at first it is that in the first row
            self._rows.set_focus(ids.index(chosen) if self._is_whole and chosen in ids else 0)
        self._is_whole = self._jobs.is_whole
        self._draw_preview()

    def _row(self, job: dict[str, Any], row: str) -> urwid.Widget:
        colour = "asks" if asks(job) else summary.colour(job)
        return urwid.AttrMap(_Row(row), colour, "here")

    def _draw_preview(self) -> None:
        job = self._chosen()
        entry = next((one for one in self._shown if one["job_id"] == job), None)
        if entry is None:
            self._preview.set_text("No job fits." if self._filter else "There is no job yet.")
            return
        about = summary.of({**entry, "usage": None}, Style()).splitlines()[1:]
        where = f"in {visible(entry['cwd'] or '')}"
        room = _PREVIEW_ROWS - len(about) - 1
        seen = (summary.last_lines(self._ctx, entry["job_id"]) or "").splitlines()
        self._preview.set_text("\n".join([*about, where, *map(visible, seen[-room:] if room > 0 else [])]))

    def _draw_output(self, job_id: str) -> None:
        try:
            with lookup.open_known(self._ctx.caller, job_id) as job:
                inspection = adoption.inspect_and_adopt(self._ctx, job)
            answer = log(self._ctx, job=job_id, limit=_LINES, max_bytes=limits.MAX_SHOWN_BYTES).to_dict()
            text = answer["output"]
            if inspection.definition.pty:
                drawn = screen(self._ctx, job=job_id)
                text = "\n".join(drawn.lines).rstrip() if drawn.alternate_screen else text
        except OutliveError as error:  # removed meanwhile
            self._say(error)
            self._back()
            return
        state = inspection.state
        shown = {**inspection.definition.to_dict(), **state.to_dict(), "type": "status"}
        if self._lines and self._seen:  # a person who stays at the end follows it
            self._is_followed = self._lines.focus == len(self._lines) - 1
        follows = "following" if self._is_followed else "f follows"
        name = visible(inspection.definition.name)
        self._head.set_text(f"{name}: {summary.state_of(shown)} ({follows})\n{'─' * 200}")
        seen = (job_id, text)
        if seen != self._seen:
            self._seen = seen
            at = self._lines.focus if self._lines else 0
            self._lines[:] = [_Row(visible(one.expandtabs())) for one in text.split("\n")]
            if self._lines and not self._is_followed:
                self._lines.set_focus(min(at, len(self._lines) - 1))
        if self._is_followed and self._lines:
            self._lines.set_focus(len(self._lines) - 1)

    def _chosen(self) -> str | None:
        """Return the id of the job that keys are about."""
        if self._open is not None:
            return self._open
        at = self._rows.focus if self._rows else 0
        return str(self._shown[at]["job_id"]) if at < len(self._shown) else None

    # --- keys ---

    def _key(self, key: str | tuple[str, int, int, int]) -> bool:
        if not isinstance(key, str):
            return False
        self._note = ""
        if self._is_asking:
            self._key_of_line(key)
        elif self._frame.body not in (self._both, self._output):  # a page of text: any key leaves it
            self._frame.body = self._both if self._open is None else self._output
        else:
            self._key_of_screen(key)
        self._draw()
        return True

    def _key_of_screen(self, key: str) -> None:
        chosen = self._chosen()
        if key in ("q", "Q") and self._open is None:
            raise urwid.ExitMainLoop
        if key in ("esc", "h", "left", "q"):
            self._back()
        elif key == "?":
            self._text(_HELP)
        elif key == "/" and self._open is None:
            self._ask("Show only jobs with (Enter: all): ", self._set_filter)
        elif key in _MOVES:
            self._move(_MOVES[key])
        elif chosen is None:
            return
        elif key in ("enter", "l", "right", "f") and self._open is None:
            self._open, self._is_followed, self._seen = chosen, True, ()
            self._frame.body = self._output
        elif key == "f" and self._open is not None:
            self._move("end")
        elif key == "a":
            self._try(self._answer, chosen)
        elif key == "t":
            self._try(self._attach, chosen)
        elif key == "x":
            self._ask(f"Kill {self._name(chosen)}? [y/N] ", lambda said: self._kill(chosen, said))

    def _move(self, where: str) -> None:
        rows = self._rows if self._open is None else self._lines
        if not rows:
            return
        at = {"down": rows.focus + 1, "up": rows.focus - 1, "home": 0, "end": len(rows) - 1}[where]
        rows.set_focus(max(0, min(at, len(rows) - 1)))

    def _back(self) -> None:
        if self._open is None:
            self._filter = ""
        self._open = None
        self._frame.body = self._both

    def _text(self, text: str) -> None:
        self._frame.body = urwid.Filler(urwid.Text(text), valign="top")

    def _name(self, job_id: str) -> str:
        known = next((job for job in self._shown if job["job_id"] == job_id), {"name": ""})
        return cut(f"{visible(known['name'])} (job {job_id[-8:]})", 60)

    # --- what is typed into the last line ---

    def _ask(self, prompt: str, done: Callable[[str], None], *, mask: str | None = None) -> None:
        self._is_asking, self._done = True, done
        self._frame.footer = urwid.Edit(("note", prompt), mask=mask)
        self._frame.focus_position = "footer"

    def _key_of_line(self, key: str) -> None:
        if key not in ("enter", "esc"):
            return
        typed = self._frame.footer.edit_text
        self._is_asking = False
        self._frame.focus_position = "body"
        self._frame.body = self._both if self._open is None else self._output
        if key == "enter":
            self._try(self._done, typed)

    def _try(self, do: Callable[[str], None], about: str) -> None:
        try:
            do(about)
        except OutliveError as error:
            self._say(error)

    def _say(self, error: OutliveError) -> None:
        self._note = human.error(spelling.spelled(error, spelling.CLI, ()).to_dict()).replace("\n", "  ").strip()

    def _set_filter(self, text: str) -> None:
        self._filter = text.strip()

    def _kill(self, job_id: str, said: str) -> None:
        if said.strip().lower() not in ("y", "yes"):
            self._note = "not killed"
            return
        kill(self._ctx, job=[job_id], wait_ms=0)
        self._note = f"{self._name(job_id)} is ending"

    # --- answers ---

    def _answer(self, job_id: str) -> None:
        """Have the person answer what a job asks. Errors: denied inside a job."""
        require_person_here(self._ctx.store)
        with lookup.open_known(self._ctx.caller, job_id) as job:
            question = question_of(self._ctx, job)
            inspection = adoption.inspect_and_adopt(self._ctx, job)
            if question is None and inspection.definition.pty and not inspection.state.finished:
                return self._attach(job_id)
            if question is None:
                self._note = f"{self._name(job_id)} asks nothing"
                return None
            facts = ask.shown(inspection) if question.kind == APPROVAL else ""
        if question.kind == APPROVAL:
            self._text(facts)
            self._ask(ask.QUESTION, lambda said: self._decide(question, said))
        else:
            prompt = f"{question.question or ''} (Enter: later, {EMPTY}: an empty line) > "
            mask = "*" if question.echo is False else None
            self._ask(prompt, lambda said: self._type(question, said), mask=mask)
        return None

    def _attach(self, job_id: str) -> None:
        """Give the terminal to the job until the person leaves it, or it ends. Errors: those of `attach`."""
        self._loop.screen.stop()
        try:
            attach.join(self._ctx, job_id, read_only=False)
        finally:
            self._loop.screen.start()
            self._loop.screen.clear()

    def _decide(self, question: Question, said: str) -> None:
        with lookup.open_known(self._ctx.caller, question.job_id) as job:
            inspection = adoption.inspect_and_adopt(self._ctx, job)
            after = ask.decide(self._ctx, job, inspection, said, "outlive top")
        self._note = ask.what_became(after)

    def _type(self, question: Question, said: str) -> None:
        if said and type_line(self._ctx, question, said, wait_ms=0) is None:
            self._note = "it does not ask this any more: nothing was typed"
