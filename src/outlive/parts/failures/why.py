"""Which jobs there may be something to say of: the rest of this part is loaded for these alone."""

from __future__ import annotations

from outlive import limits
from outlive.core.object_reference import resolve_name
from outlive.part import Inspection, JobDir, Look, OfJob, Output, Said

JOINING = "|;&\n"  # without one of these a string is one command
_PASSING = (b"pass", b"ok", b"success", b"succeeded")  # what runners of tests print at the end, in any case ...
_SUMMARY_BYTES = 1_024  # ... here


def tests_passed(inspection: Inspection, output: Output) -> bool:
    """Return whether a job ended well whose last words may be those of tests that passed."""
    if not inspection.state.finished or inspection.state.ended_badly:
        return False
    end = output.read(max(0, output.end - _SUMMARY_BYTES), output.end).lower()
    return any(word in end for word in _PASSING)


class Why(OfJob):
    def described(self, look: Look) -> Said | None:
        definition, state = self.definition, look.inspection.state
        text = " ".join(definition.command)
        # It may find its own words where it looks for processes (causes/own_words.py)
        looks = "pgrep" in text or "pkill" in text or ("grep" in text and "ps " in text)
        joined = definition.shell is not None and any(sign in text for sign in JOINING)
        ended = state.finished and (state.ended_badly or state.errno or joined or definition.sandbox is not None)
        silent = look.silent_ms is not None and look.silent_ms >= limits.SILENT_MS
        if not (looks or ended or silent or tests_passed(look.inspection, look.output)):
            return None
        said: Said = resolve_name("outlive.parts.failures.of_job:said")(look)
        return said

    def wants_person(self, inspection: Inspection, job: JobDir) -> str | None:
        said: str | None = resolve_name("outlive.parts.failures.silence:of_person")(inspection, job)
        return said
