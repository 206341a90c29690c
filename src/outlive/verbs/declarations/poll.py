"""Read new output and the state, at once or when there is something new."""

from __future__ import annotations

from outlive.answers.reading import Polled
from outlive.core.records import READ
from outlive.verbs.spec import ENCODING, JOB, MAX_BYTES, MS, RAW, SHOW, SINCE_SEQ, Arg, Verb

VERB = Verb(
    "poll",
    "Read new output since a position, and the state.",
    "outlive.verbs.poll:poll",
    args=(
        JOB,
        SINCE_SEQ,
        Arg(
            "timeout_ms",
            MS,
            "Wait at most this long for output, a prompt or the end; 0: not at all.",
            default=0,
            minimum=0,
            metavar="DURATION",
            mcp_help="wait for news so long",
        ),
        MAX_BYTES,
        RAW,
        SHOW,
        ENCODING,
    ),
    right=READ,
    result=Polled,
)
