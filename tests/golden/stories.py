"""What is asked, and in which order. Each story has a file in tests/fixtures/golden.

A job prints on one stream, or its answer is asked for by stream: which of two pipes the kernel
reports first differs from run to run.
"""

from __future__ import annotations

from collections.abc import Callable

from golden import tool_stories
from golden.book import BRIEF, FULL, HUMAN, Book
from golden.tool_stories import OTHERS, READERS
from support import examples

Story = Callable[[Book], None]
ERROR = (FULL, HUMAN)
UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


def starting(book: Book) -> None:
    """run, create, start and restart."""
    for form in (FULL, BRIEF, HUMAN):
        book.ask(
            "run", "--title", "t", "--tag", "a.b", "--env", "A=1", "--mask", "A", "echo out; exit 3", forms=(form,)
        )
        book.ask("run", "true", forms=(form,))
        book.ask("run", "--wait", "--", "/no/such/program", "x", forms=(form,))
        book.ask("run", "--tail-lines", "2", "--max-bytes", "100", "seq 200", forms=(form,))
        book.ask("run", "kill -TERM $$", forms=(form,))
    for form in (FULL, BRIEF, HUMAN):
        job = book.ask("run", "--snapshot-after", "0", "--", "sleep", "100", forms=(form, FULL))["job_id"]
        book.cli.ok("remove", job)
    for job in book.cli.ok("list", "--all")["jobs"]:
        book.cli.ok("remove", job["job_id"])
    jobs = [book.ask("create", "--title", "later", "echo later", forms=(form,))["job_id"] for form in (FULL, BRIEF)]
    jobs.append(book.cli.ok("create", "echo later")["job_id"])
    book.ask("create", "echo shown", forms=(HUMAN,))
    for form, job in zip((FULL, BRIEF, HUMAN), jobs, strict=True):
        book.ask("start", job, forms=(form,))
        book.ask("restart", job, forms=(form,))
    book.ask("start", jobs[0], forms=ERROR)
    for words in (["start", UNKNOWN], ["restart", UNKNOWN], ["create"], ["create", "--tag", "no good", "true"]):
        book.ask(*words, forms=ERROR)
    for flags in (["--cwd", "/no/such/place"], ["--env", "A-B=1"], ["--title", "x" * 200], ["--unknown"]):
        book.ask("run", *flags, "true", forms=ERROR)
    book.ask("run", "", forms=ERROR)
    book.ask("run", "--propagate", "--wait", "exit 7", forms=ERROR)


def reading(book: Book) -> None:
    """The verbs that read a job which ended."""
    for verb in READERS:
        book.ask(verb, UNKNOWN, forms=ERROR)
        book.ask(verb, "--unknown", forms=ERROR)
    for verb in OTHERS:
        book.ask(*examples.words(verb, UNKNOWN), forms=ERROR)
    ended = book.made("run", "--title", "much", "--tag", "a.b", "seq -f 'line %g' 60; exit 3")
    for verb in READERS:
        book.ask(verb, ended)
    book.ask("poll", ended, "--since-seq", "20", "--max-bytes", "100")
    book.ask("poll", ended, "--since-seq", "1000000000")
    book.ask("log", ended, "--offset", "5", "--limit", "2")
    book.ask("log", ended, "--search", "line 29", "--context", "1")
    book.ask("log", ended, "--search", "nothing like it")
    book.ask("log", ended, "--search", "(", forms=ERROR)
    book.ask("tail", ended, "--tail-lines", "2", "--max-bytes", "60")
    book.ask("events", ended, "--limit", "1")
    book.ask("wait", ended, "--until", "regex=line 7")
    book.ask("wait", ended, "--until", "exti", forms=ERROR)
    book.ask("kill", ended, "--signal", "TREM", forms=ERROR)
    silent = book.made("run", "true")
    for verb in ("status", "poll", "log", "tail", "events", "wait"):
        book.ask(verb, silent)
    book.ask("wait", ended, silent, "--mode", "all")
    both = book.made("run", "--wait", "--detail", "brief", "echo out >&2; kill -KILL $$")
    for verb in ("status", "tail", "wait"):
        book.ask(verb, both)


def running(book: Book) -> None:
    """The verbs that read, write to, watch and end a job which runs."""
    job = book.cli.ok("run", "--stdin", "open", "--until", "input", "echo up; exec cat")["job_id"]
    for verb in ("status", "poll", "log", "tail", "events", "list"):
        book.ask(verb, *([] if verb == "list" else [job]))
    book.ask("usage", job, forms=(BRIEF,))
    book.ask("wait", job, "--timeout-ms", "1")
    book.ask("wait", job, "--timeout-ms", "0", "--until", "regex=up", "--since-seq", "0")
    for number, form in enumerate((FULL, BRIEF, HUMAN)):
        book.ask("write", job, "--data", f"line {number}\n", forms=(form,))
        book.cli.ok("wait", job, "--until", f"regex=line {number}", "--since-seq", "0")
        book.cli.ok("wait", job, "--until", "input")
    book.ask("write", job, forms=ERROR)
    for verb in ("screen", "paste"):
        book.ask(verb, job, forms=ERROR)
    for words in (["start", job], ["clear", job], ["resize", job, "--cols", "80", "--rows", "20"]):
        book.ask(*words, forms=ERROR)
    book.ask("kill", job, forms=(FULL,))
    book.ask("write", job, "--data", "x", forms=ERROR)
    for form in (BRIEF, HUMAN):
        one = book.cli.ok("run", "--snapshot-after", "0", "--", "sleep", "100")["job_id"]
        book.ask("kill", one, forms=(form,))
    late = book.made("run", "--wait", "--timeout", "100", "--", "sleep", "100")
    book.ask("status", late)


def terminals(book: Book) -> None:
    """The verbs for a job with a terminal."""
    command = "stty -echo; echo ready; exec cat"
    job = book.cli.ok("run", "--pty", "--until", "input", "--", "sh", "-c", command)["job_id"]
    book.ask("screen", job)
    for number, form in enumerate((FULL, BRIEF, HUMAN)):
        for words in (["send-keys", "a", "enter"], ["submit", "--text", "b"], ["paste", "--text", "c\n"]):
            book.ask(words[0], job, *words[1:], forms=(form,))
        book.ask("resize", job, "--cols", str(70 + number), "--rows", "20", forms=(form,))
    book.ask("send-keys", job, "no-such-key", forms=ERROR)
    book.ask("send-keys", job, forms=ERROR)
    book.ask("paste", job, forms=ERROR)
    book.ask("resize", job, "--cols", "0", "--rows", "20", forms=ERROR)
    for verb in ("screen", "send-keys", "submit", "paste", "attach"):
        book.ask(verb, UNKNOWN, forms=ERROR)
    book.ask("attach", job, forms=ERROR)
    book.ask("top", forms=ERROR)
    book.cli.ok("remove", job)


def labels_and_deletion(book: Book) -> None:
    """list, tag set, notify set, clear, remove and gc."""
    book.ask("list")
    book.ask("gc")
    jobs = [book.cli.ok("run", "--title", f"job {number}", "echo out")["job_id"] for number in range(7)]
    for job in jobs:
        book.settle(job)
    book.ask("list")
    book.ask("list", "--limit", "2", "--offset", "1")
    book.ask("list", "--state", "running")
    book.ask("list", "--state", "no-such", forms=ERROR)
    book.ask("tag", "set", jobs[0], "--tag", "c.d", "--tag", "e")
    book.ask("tag", "set", jobs[0])
    book.ask("tag", "set", jobs[0], "--tag", "no good", forms=ERROR)
    book.ask("notify", "set", jobs[0], "--file", str(book.place / "ends"), forms=ERROR)
    running = book.cli.ok("run", "--snapshot-after", "0", "--", "sleep", "100")["job_id"]
    book.ask("notify", "set", running, "--file", str(book.place / "ends"))
    book.ask("notify", "set", running, "--watch", "err.r", forms=(FULL,))
    book.ask("notify", "set", running, forms=ERROR)
    book.cli.ok("remove", running)
    for verb in ("clear", "remove"):
        for form in (FULL, BRIEF, HUMAN):
            book.ask(verb, jobs.pop(), forms=(form,))
        book.ask(verb, UNKNOWN, forms=ERROR)
    book.ask("gc", "--older-than", "0s", "--dry-run")
    book.ask("gc", "--older-than", "0s")
    book.ask("gc", "--older-than", "never", forms=ERROR)
    book.ask("status", "abc", forms=ERROR)


RULES = """
[policy]
default = "allow"
ask_timeout = "1h"

[[policy.rule]]
prefix = [["sleep", "printenv"]]
decision = "ask"
reason = "the user sleeps by hand"

[[policy.rule]]
prefix = ["reboot"]
decision = "deny"
reason = "others work here"

[audit]
to = "file"
"""


def deciding(book: Book) -> None:
    """inbox, approve, deny, policy and audit."""
    for verb in ("approve", "deny"):
        book.ask(verb, UNKNOWN, forms=ERROR)
    plain = (FULL, HUMAN)
    book.ask("audit", forms=plain)
    book.ask("policy", "list", forms=plain)
    book.ask("policy", "check", "ls", forms=plain)
    path = book.place / "home/.config/outlive/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(RULES, encoding="utf-8")
    book.ask("policy", "list", forms=plain)
    for command in ("sleep 100", "ls", "reboot"):
        book.ask("policy", "check", command, forms=plain)
    book.ask("policy", "check", forms=plain)
    book.ask("run", "reboot", forms=ERROR)
    for form in plain:
        job = book.ask("run", "--snapshot-after", "0", "--", "sleep", "100", forms=(FULL,))["job_id"]
        book.ask("status", job)
        book.ask("list")
        book.ask("inbox", forms=(form,))
        book.ask("approve", job, "--reason", "go ahead", forms=(form,))
        book.cli.ok("kill", job)
        book.settle(job)
        book.ask("approve", job, forms=(form,))
        job = book.cli.ok("run", "--snapshot-after", "0", "--", "sleep", "100")["job_id"]
        book.ask("deny", job, "--reason", "not now", forms=(form,))
        book.ask("wait", job, forms=(form,))
    book.ask("policy", "forget", "--all", forms=plain)
    book.ask("policy", "forget", "no-such", forms=plain)
    book.ask("audit", "--verb", "approve", forms=plain)
    book.ask("audit", "--limit", "1", forms=(FULL,))
    book.ask("audit", "--since", "no time", forms=ERROR)


def administration(book: Book) -> None:
    """Hosts, tokens, clients, hooks, and the verbs that serve."""
    plain = (FULL, HUMAN)
    book.ask("host", "list")
    book.ask("host", "check", "local", forms=plain)
    for verb in ("check", "setup"):
        book.ask("host", verb, "no-such", forms=ERROR)
    book.ask("host", "setup", "local", forms=plain)
    book.ask("token", "list", forms=plain)
    book.ask("token", "revoke", "no-such", forms=ERROR)
    book.ask("token", "add", "no good", forms=ERROR)
    book.ask("token", "add", "one", "--scope", "mine", "--read-only", forms=(FULL,))
    book.ask("token", "add", "two", "--scope", "mine", forms=(HUMAN,))
    book.ask("token", "list", forms=plain)
    for name, form in (("one", FULL), ("two", HUMAN)):
        book.ask("token", "revoke", name, forms=(form,))
    book.ask("notices", forms=ERROR)
    book.ask("notices", "--session", "s", forms=plain)
    book.ask("hook", "no-such", forms=ERROR)
    book.ask("hook", "claude-code", input="{}", forms=(FULL,))
    book.ask("install", "no-such", forms=ERROR)
    for flags in (["--print"], []):
        for verb in ("install", "uninstall"):
            more = [*flags, *(["--command", "/opt/outlive"] if verb == "install" else [])]
            book.ask(verb, "cursor", *more, forms=(FULL,))
            book.ask(verb, "claude-code", *more, forms=(HUMAN,))
    book.ask("completion", "no-such", forms=ERROR)
    for verb in ("mcp", "serve", "ui", "demo", "schema", "doctor"):
        book.ask(verb, "--unknown", forms=ERROR)
    book.ask("serve", "--port", "none", forms=ERROR)
    book.ask("no-such-verb", forms=ERROR)
    book.ask(forms=ERROR)
    answer = book.cli.ok("doctor")
    book.note("$ outlive doctor", {**answer, "healthy": "<bool>", "checks": [one["name"] for one in answer["checks"]]})


OF_CLI: list[Story] = [starting, reading, running, terminals, labels_and_deletion, deciding, administration]
OF_MCP: list[Story] = tool_stories.ALL
