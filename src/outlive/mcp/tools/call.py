"""Run a tool call: find the verb, check the arguments, return the envelope. Nothing here knows JSON-RPC."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial

import anyio
import anyio.lowlevel

from outlive import limits, parts
from outlive import verbs as verbs_module
from outlive.answers import Answer
from outlive.answers.starting import Started
from outlive.config import Config
from outlive.core.ids import new_id
from outlive.core.record import Value
from outlive.core.records import EXEC as EXEC_RIGHT
from outlive.core.records import READ, Definition
from outlive.errors import OutliveError, from_os, invalid
from outlive.jobs import adoption, ending, lookup
from outlive.jobs.context import Context, Principal
from outlive.jobs.starting.start_and_wait import StartCall
from outlive.jobs.told import notices
from outlive.mcp import masking, threads
from outlive.mcp.caller import Caller
from outlive.mcp.job_environment import JobEnvironment, job_directory
from outlive.mcp.tools.arguments import Reader, Tools, clamp, without_limit
from outlive.mcp.tools.offer import EXEC, PROCESS, RUN, defaults_of, shell_of
from outlive.store.inbox import Inbox
from outlive.store.job_dir import JobDir
from outlive.store.root import Store
from outlive.system.tree import Client
from outlive.verbs import envelope
from outlive.verbs.spec import FULL, Verb
from outlive.verbs.spelling import MCP, spelled

KILL = "kill"  # a value of `on_cancel`
SPAWNING = frozenset({RUN, "start", "restart"})  # these need the job environment


class Around(Value):
    """What is around a call. `begun` is told the verb, its context and its arguments. `cancelled`: whether
    the client has taken it back. `start_soon` starts what goes on after it, `asks` asks the user of the
    client. `is_awaited` False: no request waits for this call, which may last, and which no client takes back. `handle`:
    the caller can follow a job without the process tool. `goes_on`: what answers in place of the verb."""

    begun: Callable[[Verb, Context, dict[str, object]], None] = lambda verb, ctx, args: None
    cancelled: Callable[[], bool] = lambda: False
    start_soon: Callable[..., object] | None = None
    asks: Callable[[Context, Definition], bool] | None = None
    is_awaited: bool = True
    handle: bool = False
    goes_on: Callable[[], Awaitable[dict[str, object]]] | None = None


def shown_as(tool: str, verb: Verb) -> str:
    """Return how a caller writes this call."""
    return EXEC if tool == EXEC else f"{PROCESS} {verb.name.replace(' ', '_')}"


class Calls:
    """Runs the calls of one server. It opens the store at the first call: a bad root is an answer, and does not end the
    server."""

    def __init__(
        self,
        tools: Tools,
        config: Config,
        environment: JobEnvironment,
        *,
        root: str | None,
        launcher: object,
        directory: Callable[[Mapping[str, str]], str | None] = job_directory,
        host: Client | None = None,
    ) -> None:
        """`directory(environment)` is where a job runs that names none, None if it must name one. `host`: the process
        of the only client."""
        self.tools = tools
        self.config = config
        self._environment = environment
        self._root = root
        self._launcher = launcher
        self._directory = directory
        self._host = host
        self._store: Store | None = None
        self.secrets = masking.of_server(config, environment.current, lambda: self._store)
        self._connection = new_id()
        self._inboxes: dict[tuple[str | None, ...], Inbox] = {}  # the least recently used first
        # The jobs whose ends a session was not told when the root was deleted
        self._lost: dict[tuple[str | None, ...], set[str]] = {}
        self._unsent: dict[int | str, Callable[[bool], None]] = {}
        self._longest_ms = cache(self._find_longest_ms)  # by client: its configuration may be large
        self.is_stopping: Callable[[], bool] = lambda: False  # whether this server is about to end

    async def run(
        self,
        tool: str,
        given: Mapping[str, object],
        caller: Caller,
        around: Around = Around(),
    ) -> dict[str, object]:
        """Return the full envelope of a call, its members in no order yet. Errors: OutliveError, and any exception of a
        faulty action."""
        verb, args = self.tools.read(tool, given, handle=around.handle)
        report: dict[str, int] = {}
        if not around.is_awaited:
            args = without_limit(verb, args, self.tools.written(tool, given))
        elif tool != EXEC or not self.tools.exec_alone or around.handle:
            args, report = clamp(verb, args, partial(self._longest_ms, caller.program))
        env = await threads.settled(self._environment) if verb.name in SPAWNING else self._environment.current()
        who = self._principal(caller, env, verb.right, shown_as(tool, verb))
        ctx = Context(who, verb.name, detail=self.tools.detail(given))
        args.pop("detail", None)
        if around.start_soon is not None:
            ctx.later = threads.from_thread(partial(around.start_soon, threads.logged, threads.run))
        if around.asks is not None:
            ctx.asks = partial(around.asks, ctx)
        notices.begin(ctx.caller)
        around.begun(verb, ctx, args)
        try:
            result = await self._result(verb, ctx, args, self.tools.written(tool, given))
            await anyio.lowlevel.checkpoint_if_cancelled()  # an answer that a cancellation crosses is not sent
        except anyio.get_cancelled_exc_class():
            await self._leave(ctx, ends=around.is_awaited and around.cancelled() and self._ends_cancelled)
            raise
        return envelope.full(verb.type, result, ctx, report=report)

    async def go_on(
        self,
        tool: str,
        given: Mapping[str, object],
        caller: Caller,
        job_id: str,
        first: Callable[[Context, JobDir, float | None], None],
    ) -> dict[str, object]:
        """Return the full envelope of a call that made a job, and was answered with something else. `first(ctx, job,
        deadline)` is done before it goes on to wait for the job. Errors: OutliveError."""
        verb, args = self.tools.read(tool, given)
        if verb.name not in SPAWNING:
            message = f"{shown_as(tool, verb)} makes no job, and no answer to it was a question"
            raise invalid("requestState", message, hint="Repeat the call that the question was the answer to.")
        args, report = clamp(verb, args, partial(self._longest_ms, caller.program))
        who = self._principal(caller, await threads.settled(self._environment), verb.right, shown_as(tool, verb))
        ctx = Context(who, verb.name, detail=self.tools.detail(given))
        call = StartCall.taken_from(args)
        with _worded(verb):
            result = await _noted(ctx, partial(_gone_on, ctx, call, job_id, first))
        return envelope.full(verb.type, result, report=report)

    async def context_to_start(self, caller: Caller, doing: str) -> Context:
        """Return a context in which a job may be started, in the caller's name. Errors: denied, store_unsafe, io_error."""
        return Context(self._principal(caller, await threads.settled(self._environment), EXEC_RIGHT, doing), RUN)

    @property
    def _ends_cancelled(self) -> bool:
        """Whether a job ends with its call. Without the tool process nothing else could end it."""
        return (self.config.get("exec", "on_cancel") or (KILL if self.tools.exec_alone else None)) == KILL

    async def _leave(self, ctx: Context, *, ends: bool) -> None:
        """Note that a call ended without an answer: the next answer names the job that it started.
        `ends`: end the job too, unless it waits for approval: the question outlives the call."""
        notices.leave(ctx)
        if ends and ctx.left and ctx.job_id is not None:
            with (
                anyio.CancelScope(shield=True),
                suppress(OSError, OutliveError),
                lookup.open_known(ctx.caller, ctx.job_id) as job,
            ):
                if adoption.inspect_and_adopt(ctx, job).state.state != "created":
                    await threads.run(partial(ending.kill, ctx, job, wait_ms=0))

    def notices(self, caller: Caller, answered: dict[str, object]) -> notices.Receipt:
        """Return what happened to this caller's jobs since its last call, except what the answer
        `answered` tells itself. It is to be called with whether both were sent."""
        try:
            return notices.collect(self.context(caller, READ, "a notice"), answered)
        except (OSError, OutliveError):  # no store, or a damaged one: the answer to the call says so
            return notices.Receipt()

    def when_sent(self, request: int | str, sent: Callable[[bool], None]) -> None:
        """Call `sent` when the answer to the request with this id has been sent, on stdio."""
        self._unsent[request] = sent

    def before_whole(self, request: int | str) -> Callable[[], None] | None:
        """Return what is to be noted on stdio before an answer's last byte goes out; None: nothing."""
        then = self._unsent.get(request)
        return then.show if isinstance(then, notices.Receipt) and then.shown else None

    def sent(self, request: int | str) -> None:
        """Take note that an answer on stdio has been sent."""
        then = self._unsent.pop(request, None)
        if then is not None:
            then(True)

    def end_session(self, session: str) -> None:
        """Take note that a session over HTTP has ended: its notices go to the next one."""
        for key in [key for key in self._inboxes if key[1] == session]:
            self._inboxes.pop(key).close()

    async def _result(self, verb: Verb, ctx: Context, args: dict[str, object], written: Mapping[str, str]) -> Answer:
        try:
            with _worded(verb, written):
                result: Answer = await _noted(ctx, partial(verb.run, ctx, **args))
            return result
        except OutliveError:
            raise
        except Exception as error:
            if ctx.job_id is None:
                raise
            # Without the id the caller would start the command a second time
            raise OutliveError(
                "internal_error",
                f"{type(error).__name__}: {error}",
                hint=f"This is a bug in outlive. Job {ctx.job_id} was started all the same: process action=status shows it.",
                details={"job_id": ctx.job_id},
            ) from error

    async def show(self, name: str, caller: Caller, **given: object) -> dict[str, object]:
        """Return the envelope of a verb that only reads, for other uses than tool calls. Errors: OutliveError."""
        return await self.answered(name, self.observer(caller), given)

    async def answered(self, name: str, ctx: Context, given: Mapping[str, object]) -> dict[str, object]:
        """Return the envelope of any verb, for other uses than tool calls. Errors: OutliveError."""
        verb = verbs_module.load(name)
        args = Reader(verb, name, defaults=defaults_of(verb, self.config)).read(given)
        args.pop("detail", None)
        with _worded(verb):
            result: Answer = await threads.run(partial(verb.run, ctx, **args), caller=ctx.caller.owner)
        notices.settle_all(ctx)
        return envelope.sized(envelope.full(verb.type, result), FULL)

    def observer(self, caller: Caller) -> Context:
        """Return a context that only reads and moves no read position. Errors: store_unsafe, io_error."""
        return self.context(caller, READ, "this", reads=False)

    def context(
        self, caller: Caller, right: str, doing: str, *, verb: str | None = None, reads: bool = True
    ) -> Context:
        """Return a context in the caller's name. `reads` False: no read position moves. Errors: denied, store_unsafe,
        io_error."""
        who = self._principal(caller, self._environment.current(), right, doing)
        return Context(who if reads else who.changed(client=None), verb)

    def close(self) -> None:
        self._close_inboxes()
        if self._store is not None:
            self._store.close()
            self._store = None

    def _principal(self, caller: Caller, env: dict[str, str], right: str, doing: str) -> Principal:
        """Return who calls. No request touches a job without it: this is the one place that checks the rights of a
        caller."""
        rights = caller.rights.within(self.tools.level)
        rights.require(right, doing)
        if self._store is not None and not self._store.is_in_place():  # deleted or replaced meanwhile
            self._lost |= {key: inbox.pending for key, inbox in self._inboxes.items() if inbox.pending}
            self._close_inboxes()
            self._store.close_when_unused()
            self._store = None
        if self._store is None:
            try:
                self._store = Store.open(self._root, env)
            except OutliveError as error:
                raise spelled(error, MCP, ()) from error.__cause__
            self._store.secrets_of = self.secrets.find
        directory = rights.workdir or self._directory(env)
        return Principal(
            self._store,
            self.config,
            face="mcp",
            owner=caller.owner,
            client=None if caller.person else caller.client,
            inbox=None if caller.person else self._inbox(self._store, caller, directory),
            scope=caller.scope,
            wall=caller.wall,
            rights=rights,
            token=caller.rights.token,
            at_terminal=caller.at_terminal,
            cwd=directory,
            env=caller.named(env),
            launcher=self._launcher,
            shell_words=partial(shell_of, self.config, env),
        )

    def _find_longest_ms(self, client: str) -> int:
        """Return how long a call of the client of this name may last."""
        env = self._environment.current()
        said = [longest(client, env, self._directory(env)) for longest in parts.functions("longest_call_ms")]
        return max((ms for ms in said if ms is not None), default=limits.MCP_CALL_MS)

    def _inbox(self, store: Store, caller: Caller, directory: str | None) -> Inbox:
        key = (program := caller.program or caller.client, caller.session, caller.wall, directory, caller.rights.token)
        inbox = self._inboxes.pop(key, None)
        if inbox is None:
            if len(self._inboxes) >= limits.HTTP_SESSIONS:  # many clients name a session, and few say that it is over
                self._inboxes.pop(next(iter(self._inboxes))).close()
            session = self._connection if caller.session is None else caller.session
            if caller.rights.token is not None:  # whatever it calls its session, it is no other token's
                session = f"{caller.rights.token}\0{session}"
            inbox = Inbox.of(store, program, directory, session, self._host)
            inbox.add_lost(self._lost.pop(key, set()))
        self._inboxes[key] = inbox
        return inbox

    def _close_inboxes(self) -> None:
        while self._inboxes:
            self._inboxes.popitem()[1].close()


async def _noted(ctx: Context, work: Callable[[], Answer]) -> Answer:
    """Return what a call answers that may start a job, and note how it ends if it has no answer."""
    try:
        return await threads.run(work, caller=ctx.caller.owner, cancelled=partial(notices.leave, ctx))
    except Exception:
        notices.failed(ctx)
        raise


@contextmanager
def _worded(verb: Verb, written: Mapping[str, str] | None = None) -> Iterator[None]:
    """Raise what a verb raises in the words of MCP. `written`: how the caller spelled the arguments, by parameter."""
    try:
        yield
    except OutliveError as error:
        raise spelled(error, MCP, verb.args, written) from error.__cause__
    except OSError as error:
        raise from_os(f"answering {verb.name}", error, on="store") from error


def _gone_on(
    ctx: Context, call: StartCall, job_id: str, first: Callable[[Context, JobDir, float | None], None]
) -> Started:
    """Answer as the call that made the job. Errors: job_not_found, and those of `first`."""
    with lookup.open_by_id(ctx, job_id) as job:
        first(ctx, job, call.deadline)
        ctx.job_id = job.job_id
        if ctx.inbox is not None:
            ctx.inbox.begin_call(job.job_id)
        return call.answer(ctx, job, None)
