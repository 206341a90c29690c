"""The fake verbs stand for all the real ones."""

from __future__ import annotations

from outlive.verbs import spec
from support.mcp_fakes import Recorder, process_verbs, run_verb


def test_fakes_cover_every_kind_of_argument() -> None:
    verbs = [run_verb(None), *process_verbs(Recorder()).values()]
    kinds = {arg.kind for verb in verbs for arg in verb.args}
    assert kinds == {
        spec.STR,
        spec.ITEMS,
        spec.INT,
        spec.FLOAT,
        spec.BOOL,
        spec.STRS,
        spec.MS,
        spec.SECONDS,
        spec.ENV,
        spec.WORDS,
        spec.PATH,
    }
