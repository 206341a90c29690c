"""Jobs that start when other jobs have come so far."""

from __future__ import annotations

from outlive.part import Part

AFTER = "after"  # the argument, and the member of `meta.json` and of `state.json`


class After(Part):
    name = "after"


PART = After()
