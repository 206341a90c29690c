"""`engine.json` of a job on a host of kind ssh."""

from outlive.config import HostSettings
from outlive.core.record import Record
from outlive.core.records import HostQueue

AGENT = "SSH_AUTH_SOCK"


class SshRecord(Record, omitted=("agent", "queue", "unreachable_since")):
    """What a mirror needs to reach the job again."""

    kind: str = "ssh"
    settings: HostSettings = HostSettings()
    cwd: str = "/"
    written: list[str] = []  # directories there that the configuration lets jobs in sandboxes write, besides `workdir`
    # Whether the other machine may have been asked for the start: before that nothing can run there
    asked: bool = False
    agent: str | None = None  # the socket of the ssh agent of the caller
    queue: HostQueue | None = None
    unreachable_since: str | None = None
