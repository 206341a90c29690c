"""Delete a finished job."""

from __future__ import annotations

from outlive.answers.ending import Deleted
from outlive.core.records import CONTROL
from outlive.verbs.spec import JOB_ID, Verb

VERB = Verb(
    "clear",
    "Delete a finished job and its output.",
    "outlive.verbs.clear:clear",
    args=(JOB_ID,),
    right=CONTROL,
    result=Deleted,
)
