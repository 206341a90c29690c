"""A verb is declared once: what is added to the declarations alone shows in the completion."""

from __future__ import annotations

import pytest

from heart.verbs import test_one_declaration
from outlive.parts.completion import candidates

ping = test_one_declaration.ping


@pytest.mark.usefixtures("ping")
def test_a_verb_shows_in_the_completion() -> None:
    assert "--count" in dict(candidates.of(["ping", "--"], {}, described=False))
