"""What is asked over MCP: every tool and action, in both details, with the text for models."""

from __future__ import annotations

from collections.abc import Callable

from golden.book import Book
from outlive.core.records import CONTROL, EXEC, READ
from outlive.mcp.tools.offer import process_verbs
from support import examples

UNKNOWN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OF_JOB = [verb for verb in process_verbs().values() if examples.takes_job(verb)]
READERS = [*(verb.name for verb in OF_JOB if verb.right == READ), "kill"]
OTHERS = [verb.name for verb in OF_JOB if verb.name not in READERS]  # of which a story of its own may say more
DETAILS = ("brief", "full")


def tools(book: Book) -> None:
    """What the server offers, and calls that no tool takes."""
    listed = book.session.tools()
    book.note("tools/list", {name: tool.model_dump(mode="json", exclude_none=True) for name, tool in listed.items()})
    actions = process_verbs().items()
    rights = {right: [action for action, verb in actions if verb.right == right] for right in (READ, CONTROL, EXEC)}
    book.note("rights", rights)
    book.call("process", action="no-such")
    book.call("process")
    for detail in DETAILS:
        book.call("process", details=(detail,), action="help")
    book.call("exec")
    book.call("exec", command="true", no_such=1)


def exec_(book: Book) -> None:
    """exec, and the actions that start a job."""
    for detail in DETAILS:
        book.call("exec", details=(detail,), command="echo out; exit 3", title="t", tags=["a.b"], env={"A": "1"})
        book.call("exec", details=(detail,), command="true")
        book.call("exec", details=(detail,), command="seq 200", max_bytes=100)
        book.call("exec", details=(detail,), command=["/no/such/program"])
        book.call("exec", details=(detail,), command="kill -TERM $$")
        book.call("exec", details=(detail,), command=["sleep", "100"], timeout=0.1)
    book.call("exec", command="")
    book.call("exec", command="true", workdir="/no/such/place")
    book.call("exec", command="true", env={"A-B": "1"})
    for detail in DETAILS:
        made = book.call("process", action="create", command="echo later", title="later", details=(detail,))
        book.call("process", action="start", job_id=made["job_id"], details=(detail,))
        book.call("process", action="restart", job_id=made["job_id"], details=(detail,))
    for action in ("start", "restart"):
        book.call("process", action=action, job_id=UNKNOWN)
    book.call("process", action="create")
    for detail in DETAILS:
        book.call(
            "exec",
            details=(detail,),
            command="printf 'ok\\nnot ok 2 - divides\\n# a.c:7: no\\n' > r.tap",
            report="r.tap",
        )


def process_ended(book: Book) -> None:
    """The actions that read a job which ended."""
    for action in READERS:
        book.call("process", action=action, job_id=UNKNOWN)
        book.call("process", action=action)
    for verb in OTHERS:
        book.call("process", **examples.arguments(verb, UNKNOWN))
    job = book.cli.ok("run", "--title", "much", "--tag", "a.b", "seq -f 'line %g' 60; exit 3")["job_id"]
    silent = book.cli.ok("run", "true")["job_id"]
    for one in (job, silent):
        book.settle(one)
        for action in READERS:
            book.call("process", action=action, job_id=one)
    book.call("process", action="poll", job_id=job, since_seq=20, max_bytes=200)
    book.call("process", action="log", job_id=job, offset=5, limit=2)
    book.call("process", action="log", job_id=job, search="line 29", context=1)
    book.call("process", action="log", job_id=job, search="nothing like it")
    book.call("process", action="wait", job_id=job, until="regex=line 7")
    book.call("process", action="wait", job_id=job, until="exti")
    book.call("process", action="status", job_id=[job])


def process_running(book: Book) -> None:
    """The actions that read, write to and end a job which runs."""
    for detail in DETAILS:
        job = book.call(
            "exec", details=(detail,), command="echo up; exec cat", stdin="open", background=True, until="input"
        )["job_id"]
        for action in ("status", "poll", "log", "tail", "list"):
            book.call("process", details=(detail,), action=action, **({} if action == "list" else {"job_id": job}))
        book.call("process", details=(detail,), action="wait", job_id=job, timeout_ms=1)
        book.call("process", details=(detail,), action="write", job_id=job, data="line\n")
        book.cli.ok("wait", job, "--until", "regex=line", "--since-seq", "0")
        book.cli.ok("wait", job, "--until", "input")
        for action in ("screen", "submit", "clear", "start"):
            book.call("process", details=(detail,), action=action, job_id=job)
        book.call("process", details=(detail,), action="kill", job_id=job)
        book.call("process", details=(detail,), action="remove", job_id=job)
    book.call("process", action="spawn", command="")


def process_terminal(book: Book) -> None:
    """The actions for a job with a terminal."""
    command = ["sh", "-c", "stty -echo; echo ready; exec cat"]
    job = book.call("exec", details=("brief",), command=command, pty=True, until="input")["job_id"]
    book.call("process", action="screen", job_id=job)
    for detail in DETAILS:
        book.call("process", details=(detail,), action="send-keys", job_id=job, keys=["a", "enter"])
        book.call("process", details=(detail,), action="submit", job_id=job, text="b")
        book.call("process", details=(detail,), action="paste", job_id=job, text="c\n")
        book.call("process", details=(detail,), action="resize", job_id=job, cols=80, rows=20)
    book.call("process", action="send-keys", job_id=job, keys=["no-such-key"])
    book.call("process", action="resize", job_id=job, cols=0, rows=20)
    for action in ("screen", "send-keys", "submit", "paste"):
        book.call("process", action=action, job_id=UNKNOWN)
    book.call("process", action="remove", job_id=job, details=("brief",))


def process_jobs(book: Book) -> None:
    """The actions about many jobs, labels and deletion."""
    for action in ("list", "gc", "hosts"):
        book.call("process", action=action)
    jobs = [book.cli.ok("run", "--title", f"job {number}", "echo out")["job_id"] for number in range(5)]
    for job in jobs:
        book.settle(job)
    book.call("process", action="list", all=True)
    book.call("process", action="list", all=True, limit=2)
    book.call("process", action="list", state="no-such")
    book.call("process", action="tag_set", job_id=jobs[0], tags=["c.d", "e"])
    book.call("process", action="tag_set", job_id=jobs[0], tags=["no good"])
    book.call("process", action="notify_set", job_id=jobs[0], notify_file=str(book.place / "ends"))
    for action in ("clear", "remove"):
        for detail in DETAILS:
            book.call("process", details=(detail,), action=action, job_id=jobs.pop())
        book.call("process", action=action, job_id=UNKNOWN)
    book.call("process", action="gc", older_than="0s", dry_run=True)
    book.call("process", action="gc", older_than="0s")
    book.call("process", action="gc", older_than="never")


ALL: list[Callable[[Book], None]] = [tools, exec_, process_ended, process_running, process_terminal, process_jobs]
