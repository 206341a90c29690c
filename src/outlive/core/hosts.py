"""Where jobs run besides this machine."""

from outlive.core.record import Record


class HostSettings(
    Record,
    omitted=("target", "root", "workdir", "python", "options", "caller_options", "programs", "sandbox", "network"),
):
    """[hosts.NAME]. None: it was not set."""

    kind: str = ""
    target: str | None = None
    root: str | None = None
    workdir: str | None = None
    python: str | None = None
    options: list[str] | None = None
    caller_options: bool | None = None
    programs: str | None = None
    sandbox: str | None = None
    network: str | None = None
