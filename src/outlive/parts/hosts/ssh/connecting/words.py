"""Words: what a mirror and our end on the other machine say to each other, in messages of kind WORD
(wire.py). Each is a JSON object with the name of one of these classes, and its values.

What our end says is checked before it is believed. Its machine may be broken, or have another
owner by now: a login shell, another program or a person may answer in the place of our end.
"""

import json

from outlive import limits
from outlive.config import HostSettings
from outlive.core.members import parse_json
from outlive.core.record import Record
from outlive.core.records import State
from outlive.errors import OutliveError
from outlive.parts.hosts.ssh.connecting import wire
from outlive.parts.hosts.ssh.connecting.wire import Nonsense
from outlive.parts.sandbox.confinement.bubblewrap import SandboxTrial
from outlive.store import history

_MOST = 1 << 62  # no number is beyond it
_PATH_CHARS = 4_096  # PATH_MAX
_PART_CHARS = limits.CONTROL_BYTES  # of the JSON of a state without its message, or of an error


class Word(Record):
    """One of those below."""

    def is_sound(self) -> bool:
        """Return whether the values, whose types are right, are possible."""
        return True

    def packed(self) -> bytes:
        """Return the message."""
        content = {"word": type(self).__name__, **self.to_dict()}
        return wire.message(wire.WORD, 0, json.dumps(content, separators=(",", ":")).encode())


class Beat(Word):
    """The sender lives: both ends say it."""


# --- what a mirror says ---


class Open(Word):
    """Open the job root of the job, and say what is there. `origin`: the name of the mirror's root. `workspaces`: where jobs
    in sandboxes work there."""

    root: str | None = None
    origin: str | None = None
    workspaces: list[str] = []


def opening(settings: HostSettings, written: list[str], origin: str | None = None) -> Open:
    """Return the first word of a connection. `written`: what the configuration lets jobs in sandboxes write."""
    return Open(root=settings.root, origin=origin, workspaces=[*written, *filter(None, (settings.workdir,))])


class Check(Word):
    """Say what a job would find."""

    workdir: str | None = None
    sandbox: bool = False


class Start(Word):
    """Start the job that the DATA before this describes (far/starting.py)."""


class Follow(Word):
    """Send everything that the mirror does not have: of the output behind `at`, of the other files
    behind so many records of `order`, bytes of each file of masks, and this gap (hexadecimal)."""

    job: str = ""
    at: int = 0
    records: int = 0
    masks: list[int] = [0, 0]
    gap: str = ""


class Ask(Word):
    """Pass a request on to the job's supervisor, with the DATA before this. `id` is that of the answer."""

    id: int = 0
    request: dict[str, object] = {}


class Drop(Word):
    """Delete these jobs of `Kept`: the mirror's job root has them no longer."""

    jobs: list[str] = []


class Forget(Word):
    """Delete the job: the mirror has all of it."""


# --- what our end says ---


class Opened(Word):
    root: str = ""


class Kept(Word):
    """Jobs of the same origin that ended more than a day ago."""

    jobs: list[str] = []


class Checked(Word):
    root: str = ""
    free_bytes: int = 0
    workdir: str = ""
    workdir_exists: bool = False
    python: str = ""
    lingers: bool | None = None  # whether processes survive the end of the last session; None: not known
    sandbox: SandboxTrial | None = None

    def is_sound(self) -> bool:
        return bool(self.root and self.workdir and self.python) and _is_position(self.free_bytes)


class Started(Word):
    """The job runs, or ran."""


class Followed(Word):
    """What is new comes from now on. `cwd`: the job's, there."""

    cwd: str = ""

    def is_sound(self) -> bool:
        return self.cwd.startswith("/") and "\0" not in self.cwd and len(self.cwd) < _PATH_CHARS


class Gone(Word):
    """The job's directory is not there."""


class Events(Word):
    """Events of the job's history (store/history.py)."""

    events: list[dict[str, object]] = []

    def is_sound(self) -> bool:
        return all(map(_is_event, self.events))


class Status(Word):
    """The job's state. All output that it speaks of was sent before."""

    state: State = State()

    def is_sound(self) -> bool:
        rest: State = State.replace(self.state, message=None)  # which the mirror cuts
        return all(map(_is_position, self.state.log_bytes or ())) and _chars(rest.to_dict()) <= _PART_CHARS


class Answer(Word):
    """The answer to the request of this `id`; None: no supervisor was there to answer."""

    id: int = 0
    content: dict[str, object] | None = None

    def is_sound(self) -> bool:
        content = self.content
        if content is None or content.get("ok") is True:
            return _is_position(self.id)
        is_error = type(content.get("code")) is str and type(content.get("message")) is str
        return _is_position(self.id) and content.get("ok") is False and is_error


class Over(Word):
    """The job is over, and the mirror has all of it."""


class Forgotten(Word):
    """The job's directory was deleted."""


class Error(Record, omitted=("hint", "details")):
    """As an answer has it (errors.py)."""

    code: str = ""
    message: str = ""
    retryable: bool = False
    hint: str | None = None
    details: dict[str, object] | None = None

    def of_host(self, name: str) -> OutliveError:
        message = f"on host {name!r}: {self.message}"
        return OutliveError(self.code, message, retryable=self.retryable, hint=self.hint, details=self.details)


class Refused(Word):
    """What the word of this name asked for was not done."""

    refused: str = ""
    error: Error = Error()

    def is_sound(self) -> bool:
        return bool(self.error.code and self.error.message) and _chars(self.error.to_dict()) <= _PART_CHARS


WORDS = {kind.__name__: kind for kind in Word.__subclasses__()}


def unpacked(data: bytes | memoryview) -> Word:
    """Return the word in the content of a message. Errors: Nonsense."""
    content = _object(bytes(data))
    name = content.pop("word", None)
    kind = WORDS.get(name) if type(name) is str else None
    if kind is None:
        raise Nonsense(f"no known word: {name!r}"[:100])
    if kind.misfit(content) is not None or not kind.of(content).is_sound():
        raise Nonsense(f"a word {name!r} with other content than it has")
    return kind.of(content)


def greeting(data: bytes) -> dict[str, object]:
    """Return what our end says of itself first: {version, python, machine}. Errors: Nonsense."""
    facts = _object(data)
    machine = facts.get("machine")
    if type(facts.get("version")) is not str or not isinstance(machine, dict) or type(machine.get("name")) is not str:
        raise Nonsense("a greeting with other content than it has")
    return facts


def _object(data: bytes) -> dict[str, object]:
    try:
        content: object = parse_json(data, number=_number)
    except ValueError:
        raise Nonsense("what is no JSON") from None
    if not isinstance(content, dict):
        raise Nonsense("JSON that is no object")
    return content


def _number(text: str) -> int | float:
    """Return a number of JSON, or what Python reads as one. Errors: ValueError, where nothing could be reckoned with it."""
    value = float(text)
    if not abs(value) <= _MOST:
        raise ValueError(text[:100])
    return int(text) if text.lstrip("-").isdigit() else value


def _chars(content: dict[str, object]) -> int:
    return len(json.dumps(content, separators=(",", ":")))


def _is_position(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is_event(event: object) -> bool:
    return (
        isinstance(event, dict)
        and type(event.get("type")) is str
        and type(event.get("at")) is str
        and _is_position(event.get("seq"))
        and _is_position(event.get("n"))
        and _chars(event) < history.LINE_BYTES
    )
