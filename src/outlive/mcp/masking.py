"""What masks secrets in what the clients of a server are shown: nothing, unless a part does it (`masking`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from outlive import parts
from outlive.config import Config
from outlive.store.output.masks import Find
from outlive.store.root import Store

COUNT = "masked_secrets"  # the member of an answer that says how many there are

# Of a server: what returns its own environment, which jobs inherit; and the job root, None before it is opened
Environment: TypeAlias = Callable[[], Mapping[str, str]]
Opened: TypeAlias = Callable[[], Store | None]


class Masking:
    """Masks nothing. `about` names the jobs whose secrets are meant: an id, or an answer about them."""

    def find(self, job_id: str) -> Find | None:
        """Return what finds secrets in the bytes of a job's output, for what decodes them. None: nothing is masked."""
        return None

    def masked(self, text: str, about: object) -> str:
        return text

    def masked_members(self, members: Mapping[str, object], about: object) -> dict[str, object]:
        """Return members with every text in them masked."""
        return dict(members)

    def masked_answer(self, answer: Mapping[str, object]) -> dict[str, object]:
        """Return a full answer with its texts masked, and how many secrets that were."""
        return dict(answer)


def of_server(config: Config, environment: Environment, store: Opened) -> Masking:
    """Return what masks in one server."""
    masking = parts.only("masking")
    made: Masking = masking(config, environment, store) if masking else Masking()
    return made
