"""`install` and `uninstall`: an MCP client's configuration gets outlive, or loses it; and `hook`, which hosts call."""

from __future__ import annotations

import os
import sys

from outlive.core.record import Value
from outlive.errors import OutliveError, invalid
from outlive.jobs.context import Context
from outlive.parts.clients import make_entry, registry
from outlive.parts.clients.answers import ClientAnswer, Installed, Uninstalled
from outlive.parts.clients.discover import config_file, installed, start_command, survey
from outlive.parts.clients.edit import NONE, Change
from outlive.parts.clients.registry import CLIENTS, LEVELS, USER, Client
from outlive.verbs.spec import BOOL, STR, STRS, Arg, Verb


class _Wanted(Value):
    """The entry that was asked for; the arguments of `install` say what each is."""

    name: str
    args: list[str] | tuple[str, ...]
    command: str | None
    url: str | None = None
    token_env: str | None = None
    approve: bool = False


def install(
    ctx: Context,
    *,
    client: str | None = None,
    every: bool = False,
    yes: bool = False,
    level: str = USER,
    name: str = "outlive",
    args: list[str] | tuple[str, ...] = (),
    command: str | None = None,
    url: str | None = None,
    token_env: str | None = None,
    approve: bool = False,
    show: bool = False,
) -> Installed:
    """Write the entry into the client's file, and leave everything else in it as it is. `every`: into the file of each
    client that is on this machine, after a question at the terminal."""
    if every:
        if client or url or token_env or approve or level != USER:
            message = (
                "--all goes without a client, --for, --url, --token-env and --approve: they differ for each client"
            )
            raise invalid("every", message, usage=True)
        return _install_all(ctx, _Wanted(name, args, command), yes=yes, show=show)
    if client is None:
        raise invalid("client", f"name a client ({', '.join(CLIENTS)}), or use --all", usage=True)
    if yes:
        raise invalid("yes", "--yes goes with --all; one client is not asked about", usage=True)
    wanted = _Wanted(name, args, command, url, token_env, approve)
    return _install(ctx, client, level, wanted, show=show)


def _install(ctx: Context, client: str, level: str, wanted: _Wanted, *, show: bool) -> Installed:
    target, name, url = CLIENTS[client], wanted.name, wanted.url
    file = config_file(target, level, ctx.env, ctx.cwd)
    if not name.strip() or any(char < " " for char in name):
        raise invalid("name", f"not a name of a server: {name!r}")
    if url is None:
        entry = _on_stdio(ctx, target, wanted)
    elif wanted.args or wanted.command:
        message = "--url leads to a server that runs already; --arg and --command are for one to start"
        raise invalid("url", message, usage=True)
    else:
        entry = make_entry.over_http(target, name, url, wanted.token_env)
    if wanted.approve and target.name not in registry.APPROVED:
        hint = f"Tell {target.title} itself to allow the tools of {name}."
        raise invalid("approve", f"no entry of {target.title} can allow calls without asking", hint=hint, usage=True)
    entry = registry.complete(target, entry, approve=wanted.approve)
    change: Change | None = None
    try:
        change = Change(target, file, name, url)
        entry = change.put(entry)
    except OutliveError as error:
        if not show:
            raise
        change, hint = None, f"{error.message}."
    else:
        hint = make_entry.advice(target, level, entry, ctx.env, changed=change.kind != NONE)
    write = change is not None and not show and change.kind != NONE
    return Installed(
        client=client,
        scope=level,
        path=file.path,
        name=name,
        change=change.kind if change else None,
        hint=hint or None,
        written=write,
        backup=change.write() if change and write else None,
        entry=entry,
        besides=registry.besides(target, entry) or None,
        fragment=registry.fragment(target, name, entry),
        own_command=registry.own_command(target, level, name, entry),
    )


def _install_all(ctx: Context, wanted: _Wanted, *, yes: bool, show: bool) -> Installed:
    """Install for each client that is on this machine; a failure does not stop the next."""
    asked = not yes and not show and os.isatty(0) and os.isatty(2)
    writes = yes or asked
    clients = []
    failed = []
    for client, evidence in installed(ctx.env, ctx.cwd).items():
        title = CLIENTS[client].title
        try:
            done = _install(ctx, client, USER, wanted, show=True)
            if writes and done.change is None:
                failed.append(f"{title}: {done.hint}")
            elif writes and done.change != NONE and (yes or _agreed(title, done, evidence)):
                done = _install(ctx, client, USER, wanted, show=False)
        except OutliveError as error:
            failed.append(f"{title}: {error.message}.")
            done = Installed(change=None, written=False, hint=error.message)
        clients.append(_about(client, evidence, done))
    if failed and not show:
        raise _some_failed(failed, clients)
    if not clients:
        hint = "No client was found. `outlive install CLIENT` writes the file of a client that comes later."
    elif not writes and not show and any(one.change != NONE for one in clients):
        hint = "Nothing was written: no terminal is there to ask at. --yes writes all; `outlive install CLIENT` one."
    else:
        hint = None
    return Installed(clients=clients, hint=hint)


def _about(client: str, evidence: str, done: Uninstalled) -> ClientAnswer:
    """Return what `--all` says of a client."""
    return ClientAnswer(
        found=evidence,
        client=client,
        path=done.path,
        name=done.name,
        change=done.change,
        written=bool(done.written),
        backup=done.backup,
        hint=done.hint,
    )


def _some_failed(failed: list[str], clients: list[ClientAnswer]) -> OutliveError:
    """Return the error of `--all` about the files that could not be changed. The others were."""
    details: dict[str, object] = {"clients": [one.to_dict() for one in clients]}
    message = f"{len(failed)} of {len(clients)} files could not be changed. {' '.join(failed)}"
    return OutliveError("io_error", message, hint="The other clients are done: details.clients.", details=details)


def _agreed(title: str, planned: Installed, evidence: str) -> bool:
    """Ask at the terminal whether the client is to get outlive; no answer is a no."""
    sys.stderr.write(f"{title} ({evidence}): write {planned.path}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _on_stdio(ctx: Context, client: Client, wanted: _Wanted) -> dict[str, object]:
    if wanted.token_env is not None:
        raise invalid("token_env", "--token-env goes with --url", usage=True)
    words = [wanted.command] if wanted.command else start_command(sys.argv, ctx.env)
    if wanted.args and not wanted.command:
        make_entry.check_arguments(words, wanted.args)
    return make_entry.on_stdio(client, wanted.name, words, wanted.args, ctx.env, ctx.flags)


def uninstall(
    ctx: Context,
    *,
    client: str | None = None,
    every: bool = False,
    level: str = USER,
    name: str = "outlive",
    url: str | None = None,
    show: bool = False,
) -> Uninstalled:
    """Take the entry out of the client's file, and leave everything else in it as it is. The copy of the file from
    before goes with it, unless the file has been changed since.

    `every`: of each client that has one. Jobs are not touched."""
    if every:
        if client or url or level != USER:
            raise invalid("every", "--all goes without a client, --for and --url: they differ for each", usage=True)
        return _uninstall_all(ctx, name, show=show)
    if client is None:
        raise invalid("client", f"name a client ({', '.join(CLIENTS)}), or use --all", usage=True)
    target = CLIENTS[client]
    change = Change(target, config_file(target, level, ctx.env, ctx.cwd), name, url)
    change.take_out()
    write = not show and change.kind != NONE
    return Uninstalled(
        client=client,
        scope=level,
        path=change.file.path,
        name=name,
        change=change.kind,
        written=write,
        backup=change.write() if write else None,
    )


def _uninstall_all(ctx: Context, name: str, *, show: bool) -> Uninstalled:
    """Uninstall from the user's file of each client that has our entry; a failure does not stop the next."""
    clients, failed = [], []
    for one in survey(ctx.env, ctx.cwd):
        client, evidence = str(one["client"]), str(one["path"])
        unreadable = one["problem"] and not one["configured"]  # it may have our entry
        if one["scope"] != USER or (one["name"] != name and not unreadable):
            continue
        try:
            done = uninstall(ctx, client=client, name=name, show=show)
        except OutliveError as error:
            failed.append(f"{CLIENTS[client].title}: {error.message}.")
            done = Uninstalled(change=None, written=False, hint=error.message)
        clients.append(_about(client, evidence, done))
    if failed and not show:
        raise _some_failed(failed, clients)
    return Uninstalled(clients=clients, hint=None if clients else f"No client of yours has a server {name!r}.")


CLIENT = Arg("client", STR, "The MCP client; not with --all.", cli="CLIENT", choices=tuple(CLIENTS))
FOR = Arg(
    "level",
    STR,
    "user: for everything you do; project: for the current directory.",
    default=USER,
    choices=LEVELS,
    cli="--for",
    metavar="WHOM",
)
NAME = Arg("name", STR, "The server's name in that file.", default="outlive", metavar="NAME")

INSTALL = Verb(
    "install",
    "Put outlive into the configuration of an MCP client, or of all.",
    install,
    group="Set up",
    store=False,
    args=(
        CLIENT,
        Arg("every", BOOL, "Find the clients on this machine, and ask about each at the terminal.", default=False,
            cli="--all"),
        Arg("yes", BOOL, "With --all: do not ask.", default=False),
        FOR,
        NAME,
        Arg("args", STRS, "One more argument of outlive mcp, such as --arg=--isolate.", default=(), cli="--arg",
            metavar="ARG"),
        Arg("command", STR, "What the client runs (default: the absolute path of this outlive).", metavar="PATH"),
        Arg("url", STR, "The address of a server that runs already; the client then starts none.", metavar="URL"),
        Arg("token_env", STR, "The name of the variable that holds the token for --url.", metavar="NAME"),
        Arg("approve", BOOL, "Let the client call the tools without asking you (Codex, Gemini CLI).", default=False),
        Arg("show", BOOL, "Write nothing: show the entry, and what would be changed.", default=False, cli="--print"),
    ),
    result=Installed,
    detail="Everything else in the file stays as it is, comments too. The file as it was before the first change is kept "
    "beside it as FILE.before-outlive. A server of that name is replaced only if it is provably outlive. The same call "
    "again changes nothing. Members that the client needs besides are added unless the entry has them. --root, --config and "
    "OUTLIVE_ROOT are passed on. --all does what it can, and fails if a file cannot be changed. Clients: " + ", ".join(CLIENTS) + ".",
)  # fmt: skip

UNINSTALL = Verb(
    "uninstall",
    "Take outlive out of the configuration of an MCP client, or of all.",
    uninstall,
    group="Set up",
    store=False,
    args=(
        CLIENT,
        Arg("every", BOOL, "Out of the file of every client that has it.", default=False, cli="--all"),
        FOR,
        NAME,
        Arg("url", STR, "The address of the server, if `outlive serve` has another one by default.", metavar="URL"),
        Arg("show", BOOL, "Write nothing: say what would be changed.", default=False, cli="--print"),
    ),
    result=Uninstalled,
    detail="Everything else in the file stays as it is. FILE.before-outlive, the copy from before the first change, is removed "
    "if the file is again as it was then. A server of that name is taken out only if it is provably outlive. --all does "
    "what it can, and fails if a file cannot be changed. Jobs go on.",
)
HOOK = Verb(
    "hook",
    "Answer a hook of an agent host with what happened to its session's jobs.",
    group="Tell agents",
    program="outlive.parts.clients.hook:main",
    args=(
        Arg("host", STR, "The host that calls.", required=True, cli="HOST", choices=("claude-code", "codex", "gemini")),
    ),
    detail="The host writes what happens to it on stdin, as JSON; the answer is JSON in the host's own form, or nothing. The "
    "notices are added to the conversation; at a stop the agent goes on with them. The exit status is always 0: "
    "a hook that fails would hold up the host.",
)
