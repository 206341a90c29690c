"""`outlive hook HOST`: what happened to a session's jobs, in the form of the host that asks."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable, Mapping

from outlive import config
from outlive.cli import stdio
from outlive.cli.call import shell_words
from outlive.core.ids import short_id
from outlive.core.members import parse_json, text_of
from outlive.core.quoted import visible
from outlive.core.record import Value
from outlive.errors import OutliveError
from outlive.jobs.context import Context, Principal, note_workspaces
from outlive.jobs.told.notices import of_session
from outlive.launch.from_cli import Launcher
from outlive.store.inbox import Inbox, family_of
from outlive.store.root import Store, default_path
from outlive.system import tree
from outlive.verbs.spec import GlobalOptions

_MOST_BYTES = 1 << 20


class _Host(Value):
    """An agent host: as it names itself to its servers, the variable with the directory of its session, and how its hook
    of a stop makes the model go on: by a decision, which has this name, or by context."""

    client: str
    directory: str = ""
    goes_on: str = ""


# https://code.claude.com/docs/en/hooks, https://developers.openai.com/codex/hooks, https://geminicli.com/docs/hooks/reference
_HOSTS = {
    # Its decision to block would do too, but is shown as "Stop hook reported a problem"
    "claude-code": _Host("claude-code", "CLAUDE_PROJECT_DIR"),
    "codex": _Host("codex-mcp-client", goes_on="block"),
    "gemini": _Host("gemini-cli-mcp-client", "GEMINI_PROJECT_DIR", goes_on="deny"),
}
_STOPS = ("Stop", "AfterAgent")


def main(values: Mapping[str, object], options: GlobalOptions) -> int:
    """Return 0 whatever happens: a hook that fails would hold up the host."""
    try:
        event = parse_json(sys.stdin.buffer.read(_MOST_BYTES))
        if isinstance(event, dict):
            _answer(_HOSTS[str(values["host"])], event, options)
    except (OSError, ValueError, OutliveError) as error:
        stdio.note(f"outlive hook: {visible(str(error))}\n")
    return 0


def _answer(host: _Host, event: Mapping[str, object], options: GlobalOptions) -> None:
    session, name = event.get("session_id"), event.get("hook_event_name")
    env = os.environ
    if not isinstance(session, str) or not isinstance(name, str):
        raise ValueError("the event names no session")  # noqa: TRY004 - of what was read
    if not os.path.isdir(options.root or default_path(env)):
        return  # no job was ever started
    settings = config.load(env, options.config)
    with contextlib.closing(Store.open(options.root, env)) as store:
        caller = Principal(
            store,
            settings,
            face="cli",
            owner=env.get("OUTLIVE_OWNER") or "cli",
            client=None,
            cwd=None,
            env=dict(env),
            launcher=Launcher(),
            shell_words=shell_words(settings),
        )
        here = [one for one in (env.get(host.directory), event.get("cwd")) if isinstance(one, str)]
        note_workspaces(settings, env, *here)  # jobs of the session may have written there
        ctx = Context(caller, "hook")
        news = of_session(ctx, session, _of_window(ctx.store, host.client, here))
        written = not news.notices
        try:
            if news.notices:
                text = "\n".join(visible(_sentence(notice)) for notice in news.notices)
                stdio.json_line(json.dumps(_in_form(host, name, text)).encode())
                written = True
        finally:
            news(written)


def _of_window(store: Store, client: str, directories: Iterable[str]) -> list[Inbox]:
    """Return the inboxes of the client's window that called this process, whatever its session is called now,
    and of windows of this client in these directories that are closed."""
    families = {family_of(client, directory) for directory in directories}
    mine = tree.client()
    inboxes = []
    for inbox in Inbox.every(store):
        host = inbox.host()  # None: of a shell, or of a server for several clients
        if host is None:
            continue
        is_left = inbox.family in families and not tree.is_client_there(host)
        if host == mine or is_left:
            inboxes.append(inbox)
    return inboxes


def _in_form(host: _Host, name: str, text: str) -> dict[str, object]:
    """Return the answer as the host reads it: context for the model, with which it goes on at a stop too."""
    text = f"News of your background jobs:\n{text}"
    if host.goes_on and name in _STOPS:
        return {"decision": host.goes_on, "reason": text}
    return {"hookSpecificOutput": {"hookEventName": name, "additionalContext": text}}


def _sentence(notice: dict[str, object]) -> str:
    job = f"outlive job {short_id(text_of(notice, 'job_id'))} ({notice['name']})"
    last = f"; last line: {notice['last_line']}" if notice.get("last_line") else ""
    if notice.get("message"):
        return f"{job}: {notice['message']}."
    if notice["event"] == "watch_hit":
        return f"{job} printed what you watch for, {notice['pattern']}: {notice['last_line']}"
    if notice["state"] == "exited":
        return f"{job} exited with code {notice['exit_code']}{_by(notice)}{last}"
    if notice["state"] == "killed":
        return f"{job} was ended by {notice['signal']} (reason: {notice['reason']}{_by(notice)}){last}"
    if notice["state"] == "failed":
        return f"{job} failed (reason: {notice['reason']}){last}"
    return f"{job} still runs; the call that started it got no answer{last}"


def _by(notice: dict[str, object]) -> str:
    return f", on request of {notice['ended_by']}" if notice.get("ended_by") else ""
