"""Job records: what was asked for (`Definition`), what is so now (`State`), and what they hold. Pure."""

from collections.abc import Iterable
from typing import Any, Self

from outlive import limits
from outlive.core.record import Record, Value, are_sizes, is_passable, is_terminal_size

STATES = ("created", "running", "exited", "killed", "failed", "unknown")
FINISHED = frozenset({"exited", "killed", "failed"})
APPROVALS = ("pending", "approved", "denied", "expired", "withdrawn")
REASONS = ("exit", "signal", "timeout", "idle_timeout", "kill", "oom", "limit", "launch", "lost", "reboot", "denied",
    "dependency")  # fmt: skip
WAITING = "waiting"  # phase of a job that is `created`, and whose supervisor waits with its start (supervisor/starting/waiting.py)
# What a caller may do, each with what stands before it (core/rights.py)
READ, CONTROL, EXEC = RIGHTS = ("read", "control", "exec")
SANDBOXES = ("read-only", "workspace-write", "off")  # each from the least that a job may do to the most
GIT = ("read", "write")  # what a sandboxed job may do to repositories; the stricter first
AUTO, PLAIN = SHOWS = ("auto", "plain")  # what is shown of long output (render/sources.py)
NETWORKS = ("none", "loopback", "open")
LOCAL = "local"  # the host that is this machine
STREAM_NAMES = ("stdout", "stderr")  # by their numbers
STREAMS: dict[str, int | None] = {"both": None, "stdout": 0, "stderr": 1}  # what a caller asks for
REGEX, CONTAINS = MATCH_TYPES = ("regex", "contains")  # of a watch


class Identity(Record):
    """A process, exactly (system/process.py)."""

    boot_id: str = ""
    pid_ns: str = ""
    pid: int = 0
    start_time: int | None = None


class Machine(Record):
    """A machine (system/machine.py)."""

    id: str = ""
    name: str = ""
    boot_id: str = ""


class GrantedSandbox(Value):
    """The sandbox that a call gets."""

    mode: str
    network: str
    git: str


class Sandbox(Record):
    """What a job in a sandbox may see and write (parts/sandbox/confinement/access.py). What a file lacks is forbidden."""

    mode: str = SANDBOXES[0]
    network: str = NETWORKS[0]
    git: str = GIT[0]
    roots: list[str] = []  # directories that it may write, without links; read-only ones in mode read-only
    root_ids: list[list[int]] = []  # device and inode of each
    home: str = "/nonexistent"
    hide: list[str] = []  # what is hidden where it lies in something that is shown
    show: list[str] = []  # directories of the configuration
    toolchains: list[str] = []  # directories that the caller's environment names
    protect: list[str] = []  # our program, which stays read-only
    cache: str | None = None  # what tools cache in the sandboxes of this workspace
    environment: list[str] = []  # names of more variables that it inherits
    bwrap: str = ""  # the path of bubblewrap; "": there is none on this machine
    git_files: list[str] = []  # settings that git reads for the caller beside the usual ones (parts/sandbox)
    git_folders: list[str] = []  # with hooks or programs in them, which its variables name
    git_words: list[str] = []  # of commands in these variables
    added: list[str] = []  # of hide, protect and git_folders: what was not in them when the job was first defined

    @property
    def shown(self) -> dict[str, str]:
        """Return what a call can ask for."""
        return {"mode": self.mode, "network": self.network, "git": self.git}


class Script(Record):
    """A shell string that is longer than a word of execve(2): the file `script` of its job."""

    bytes: int = 0
    sha256: str = ""


def _targets(file: str | None, command: str | None) -> dict[str, str]:
    return ({"file": file} if file else {}) | ({"command": command} if command else {})


class Watch(Record):
    """Which lines of the output are reported, and where besides the history."""

    id: str = ""
    pattern: str = ""
    match_type: str = REGEX
    stream: str = "both"  # both | stdout | stderr
    once: bool = False
    command: str | None = None
    file: str | None = None
    from_seq: int = 0

    @property
    def targets(self) -> dict[str, str]:
        """Return the file and the command that get each hit, by these names."""
        return _targets(self.file, self.command)


class OutputMatch(Record):
    """The one watch of agent-exec's flags, as agent-exec stores it."""

    pattern: str = ""
    match_type: str = CONTAINS
    command: str | None = None
    file: str | None = None
    from_seq: int = 0
    stream: str = "either"  # either | stdout | stderr

    @property
    def watch(self) -> Watch:
        stream = "both" if self.stream == "either" else self.stream
        return Watch(**{**vars(self), "id": "output_match", "stream": stream})


class Notification(Record, omitted=("notify_command", "notify_file", "watches", "last_watch", "on_output_match")):
    """What is told of a job's end and output."""

    notify_command: str | None = None
    notify_file: str | None = None
    watches: list[Watch] | None = None
    last_watch: int | None = None  # number of the last watch that it ever had, once they were changed
    on_output_match: OutputMatch | None = None

    @classmethod
    def misfit(cls, content: dict[str, Any]) -> str | None:
        return None  # the job may have spoilt it, and is looked after all the same: what makes no sense has no effect

    @classmethod
    def of(cls, content: dict[str, Any]) -> "Notification":
        try:
            return super().of(content)
        except (TypeError, AttributeError):
            return super().of({**content, "watches": None, "on_output_match": None})

    @property
    def targets(self) -> dict[str, str]:
        """Return the file and the command that get the end, by these names."""
        return _targets(self.notify_file, self.notify_command)

    @property
    def is_empty(self) -> bool:
        return not self.to_dict()

    @property
    def every_watch(self) -> list[Watch]:
        single = [] if self.on_output_match is None else [self.on_output_match.watch]
        return [*(self.watches or ()), *single]


class SupervisorId(Record):
    pid: int = 0
    start_time: int | None = None


class Ending(Record, omitted=("message",)):
    """The end of a job that was asked for."""

    cause: str
    by: str | None = None
    signal: str | None = None
    at: str | None = None  # None: it was withdrawn before it ran, and was sent no signal
    kill_at_ns: int | None = None  # CLOCK_MONOTONIC: when KILL follows
    message: str | None = None

    def to_dict(self) -> dict[str, Any]:
        return {"cause": self.cause, "by": self.by} if self.at is None else super().to_dict()


class ControlGroups(Record):
    """The control groups that a job was started in (system/cgroup.py)."""

    ns: str = ""  # the namespace in which the paths mean something
    hierarchy: str = ""
    path: str = ""
    id: int | None = None
    memory: str | None = None
    oom_kills: int | None = None


class OwnControlGroup(Record):
    """The control group that was made for a job (system/job_group.py)."""

    ns: str = ""
    places: dict[str, str] = {}  # controller → directory


class Sources(Record):
    """Where the figures of `Usage` come from: rusage or cgroup."""

    time: str = ""
    memory: str = ""


class Usage(Record, omitted=("source",)):
    """What the ended processes of a job used."""

    user_ms: int = 0
    system_ms: int = 0
    peak_memory_bytes: int | None = None
    source: Sources | None = None  # None: rusage for all


class InputWait(Record):
    """Since when a job waits for input, and how its terminal is set then."""

    seq: int = 0
    at: str = ""
    echo: bool | None = None
    canonical: bool | None = None
    answered: int | None = (
        None  # where the output ended at the last input, without a terminal: a prompt begins behind it
    )


class Terminal(Record):
    """The terminal of a pty job."""

    cols: int = 0
    rows: int = 0
    sizes: list[list[int]] = []  # [seq, cols, rows] of each it ever had
    modes: dict[str, bool] = {}  # name → whether it is on
    scanned: int = 0  # bytes of output that were searched for questions


class EngineState(Record):
    """What the engine of a host calls a job, and what it says of it."""

    name: str = ""
    job_id: str | None = None
    state: str | None = None


class HostQueue(Record, omitted=("estimated_start",)):
    """How a job waits for its start on another host."""

    state: str = ""
    reason: str | None = ""  # as the engine gives it; "", which the file does not have: it was not asked yet
    since: str = ""
    estimated_start: str | None = None

    def to_dict(self) -> dict[str, Any]:
        content = super().to_dict()
        return content if self.reason != "" else {name: content[name] for name in content if name != "reason"}


class EngineRecord(Record):
    """What every engine records of a job (store/inspection/handed_over.py), which each kind of engine adds members to."""

    kind: str = ""
    cwd: str | None = None
    engine: EngineState | None = None
    queue: HostQueue | None = None
    unreachable_since: str | None = None
    machine: Machine | None = None  # of its supervisor, where no socket of this machine leads to that


class _WithMembersOfParts(Record):
    """The content of a file in which parts of outlive keep members of their own: `kept` has them, as they stand there."""

    @classmethod
    def of(cls, content: dict[str, Any]) -> Self:
        record = super().of(content)
        vars(record)["kept"] = {name: value for name, value in content.items() if name not in cls.FIELDS}
        return record

    def write_into(self, content: dict[str, Any]) -> None:
        super().write_into(content)
        content |= content.pop("kept")


class Awaits(Record):
    """What a start waited for before it was answered: a restart does so again."""

    until: list[Any] = []  # conditions, as given
    background: bool = False


class Definition(_WithMembersOfParts, omitted=("script", "cwd_id", "caller_cwd", "awaits")):
    """What was asked for: the content of `meta.json`. Never holds the value of a masked variable."""

    format: int = limits.JOB_FORMAT
    schema_version: str = limits.SCHEMA_VERSION
    job_id: str = ""
    command: list[str] = []  # the words as given, or one shell string: `shell` says which
    script: Script | None = None  # what `command` is only the beginning of
    shell: list[str] | None = None  # argv that runs a shell string; None: `command` is executed as it is
    cwd: str = "/"
    cwd_id: list[int] | None = None  # its device and inode, if a policy decided: the job starts in no other
    caller_cwd: str | None = None  # the directory of its caller here, where `cwd` is one of another machine
    env: dict[str, str] = {}  # literal, unmasked values
    env_files: list[str] = []  # absolute paths, read at each start
    mask: list[str] = []  # names whose values are shown as ***
    masked_env: list[str] = []  # masked names that were given a value (which is not here)
    timeout_ms: int = 0  # 0: none
    idle_timeout_ms: int = 0
    kill_after_ms: int = 0
    progress_every_ms: int = 0
    pty: bool = False
    stdin: str = "closed"  # closed | open | data (stdin.data in the job directory) | file | caller
    stdin_path: str | None = None
    tags: list[str] = []
    title: str | None = None
    name: str = ""
    owner: str = "cli"
    scope: str | None = None  # whose job it is: set by the server that let the caller in, never by the caller
    session: str | None = None  # of the agent that started it: the name of its inbox; None: a person did
    quota_bytes: int = limits.QUOTA_BYTES
    notification: Notification = Notification()
    dedupe_key: str | None = None
    sandbox: Sandbox | None = None
    elevated: bool = False  # the call asked to leave the sandbox
    systemd_scope: bool = False  # in a transient scope of its own (systemd.scope(5))
    host: str | None = None  # [hosts.NAME] of the configuration: where it runs; None: on this machine
    machine: Machine | None = None  # where it was defined
    created_at: str = ""
    restarted_from: str | None = None
    awaits: Awaits | None = None
    root: str = ""
    kept: dict[str, Any] = {}  # what parts of outlive keep beside these, by the names of its members in the file

    @classmethod
    def misfit(cls, content: dict[str, Any]) -> str | None:
        if (name := super().misfit(content)) is not None:
            return name
        get, shell = content.get, content.get("shell")
        paths = {"cwd": get("cwd"), "stdin_path": get("stdin_path"), "env_files": "".join(get("env_files", ()))}
        for name, path in paths.items():
            if path is not None and not is_passable(path):
                return name
        if shell is not None and not (shell and get("command")):
            return "command"
        return "quota_bytes" if get("quota_bytes", 0) < 0 else None

    @property
    def local_cwd(self) -> str:
        """The directory of this machine that the job belongs to."""
        return self.caller_cwd or self.cwd

    @property
    def command_bytes(self) -> int | None:
        """The length of the whole command; None if `command` is all of it."""
        return None if self.script is None else self.script.bytes

    def without(self, members: Iterable[str]) -> "Definition":
        """Return the definition without these members of parts."""
        return Definition.replace(self, kept={**self.kept, **dict.fromkeys(members)})

    @property
    def of_parts(self) -> dict[str, object]:
        """The members that a part has to do with, where they have a value."""
        return {**self.kept, "sandbox": self.sandbox, "systemd_scope": self.systemd_scope or None}


class State(_WithMembersOfParts):
    """What is so now: the content of `state.json`, for every state of a job. Monotonic values are
    CLOCK_MONOTONIC nanoseconds of the same boot. `phase` tells a recovering process how far a start
    got: created (by create), or launching → waiting → spawning → running → finished."""

    format: int = limits.JOB_FORMAT
    schema_version: str = limits.SCHEMA_VERSION
    job_id: str = ""
    state: str = "running"
    phase: str = "launching"
    pid: int | None = None
    identity: Identity | None = None  # of the command
    init: Identity | None = None  # of process 1 of its sandbox, which is no part of the job
    supervisor: SupervisorId | None = None
    started_at: str | None = None
    started_ns: int | None = None
    boot_id: str | None = None
    machine: Machine | None = None  # where its supervisor runs
    exit_code: int | None = None
    signal: str | None = None
    core_dumped: bool | None = None
    reason: str | None = None
    errno: str | None = None
    message: str | None = None  # one sentence about its end, where there is more to say than `reason` does
    ending: Ending | None = None
    group: ControlGroups | None = None
    job_group: OwnControlGroup | None = None  # that a part made for it
    usage: Usage | None = None
    finished_at: str | None = None
    duration_ms: int | None = None
    dropped_bytes: int = 0
    file_limit: int | None = None  # bytes that a log may have (RLIMIT_FSIZE), once output was dropped for it
    log_bytes: list[int] | None = None  # of both at the end; what they are short of was cut away since
    log_cuts: list[int] | None = None  # of both, first and behind the last: bytes that another program changed
    stdin: str | None = None  # open | closed
    waiting: InputWait | None = None  # void once seq has grown
    terminal: Terminal | None = None
    updated_at: str = ""
    adopted: int = 0  # how often supervision was taken over
    kept: dict[str, Any] = {}  # as in `Definition`

    @classmethod
    def misfit(cls, content: dict[str, Any]) -> str | None:
        name = super().misfit(content)
        sizes = ("log_bytes", 2), ("log_cuts", 4)
        name = name or next((one for one, count in sizes if not are_sizes(content.get(one), count)), None)
        if name is None and not all(map(is_terminal_size, (content.get("terminal") or {}).get("sizes", ()))):
            return "terminal"
        return "state" if name is None and content.get("state", "running") not in STATES else name

    @property
    def finished(self) -> bool:
        return self.state in FINISHED

    @property
    def waits(self) -> bool:
        """Whether the supervisor of the job waits with its start."""
        return self.state == "created" and self.phase == WAITING

    @property
    def ended_badly(self) -> bool:
        """Whether the job ended in any other way than by itself with exit code 0, or its end is not known."""
        return self.state == "unknown" or (self.finished and (self.state != "exited" or self.exit_code != 0))
