"""What the fake model does: one conversation, the same in every client."""

from __future__ import annotations

from typing import Any, NamedTuple

PROMPT = "SCRIPT=measure Please run the steps."
MARK = "SCRIPT=measure"
LINES = "seq -f 'line %g of the big output, with some padding text so that it is long' 1 5000"
# The pause keeps the order of the two streams, which are read from two pipes
ROWS = "i=0; while [ $i -lt 60 ]; do i=$((i+1)); printf 'row %s %01000d\\n' $i 0; done"
LONG = f"{ROWS}; sleep 0.5; echo 'the reason' >&2; exit 3"


class Step(NamedTuple):
    """One call of a tool of ours. `{job}` in an argument is the last job id that the model was shown."""

    name: str
    tool: str
    args: dict[str, Any]


STEPS = (
    Step("quick", "exec", {"command": "echo hello from outlive; uname -s", "workdir": "/tmp"}),
    Step("failing", "exec", {"command": LONG, "workdir": "/tmp"}),
    Step("lines", "exec", {"command": LINES, "workdir": "/tmp"}),
    Step(
        "running", "exec", {"command": "echo tick; exec sleep 600", "workdir": "/tmp", "title": "a", "yield_ms": 1500}
    ),
    Step("alias", "process", {"action": "log", "sessionId": "{job}", "maxBytes": 500}),
    Step("kill", "process", {"action": "kill", "job_id": "{job}"}),
)
