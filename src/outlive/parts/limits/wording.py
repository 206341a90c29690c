"""What a job uses, with its limits, as text: for a model and for a person."""

from __future__ import annotations

from outlive.cli import human
from outlive.cli.summary import colour, state_of
from outlive.cli.text import Style
from outlive.core.ids import short_id
from outlive.core.members import Members, entries_of, number_of, object_of, text_of
from outlive.core.quoted import visible
from outlive.core.units import counted, duration, size
from outlive.mcp.tools import sentences
from outlive.parts.limits.names import CPU_TIME, MEMORY, PROCESSES
from outlive.parts.resources import RESOURCES
from outlive.render import events


def for_model(answer: Members) -> tuple[str, list[str]]:
    """Return no output, and the lines."""
    several = entries_of(answer, "jobs")
    if several:
        together = f"{counted(len(several), 'job')} together: {_figures(answer)}"
        return "", [together, *map(_used_by, several), *sentences.hint(answer)]
    limits = (f"limit of {name}: {events.about({'type': 'limit', **limit})}" for name, limit in _limits(answer).items())
    return "", [sentences.state_line(answer, process=True), _figures(answer), *limits, *sentences.hint(answer)]


def _figures(answer: Members) -> str:
    used = {name: value for name, value in object_of(answer, "usage").items() if name != "source"}
    return events.about({"type": "usage", **used})


def _used_by(job: Members) -> str:
    return visible(f"  {job['job_id']} ({job.get('name')}), {job.get('state')}: {job.get('error') or _figures(job)}")


def _limits(answer: Members) -> dict[str, dict[str, object]]:
    return {name: limit for name, limit in object_of(answer, RESOURCES).items() if isinstance(limit, dict)}


# --- for a person ---

# How each source of a figure is named
_SOURCES = {
    "cgroup": "",
    "rusage": "of its processes that have ended",
    "sampled": "as far as seen now",
}
_FROM_SOURCES = ("time", "memory", "processes")  # the figures that come from one of them
_LIMITS = {"time": CPU_TIME, "memory": MEMORY, "processes": PROCESSES}  # of a figure


def for_person(answer: Members, style: Style, *, verbose: bool) -> str:
    """Return a line for each thing that a job uses, with its limit and with where the figure comes from."""
    used, over = object_of(answer, "usage"), answer["state"] not in ("created", "running", "unknown")
    job = style.paint(f"job {visible(short_id(text_of(answer, 'job_id')))}", "1")
    about = f"{job}  {style.paint(state_of(dict(answer)), colour(dict(answer)))}"
    several = entries_of(answer, "jobs")
    if several:
        running = sum(one.get("state") == "running" for one in several)
        about = f"{style.paint(f'{len(several)} jobs', '1')}  {running} running"
        over = not running
    rows = [row for row in _rows(used, over=over) if row[2]]
    width = max(len(label) for _, label, _ in rows)
    limits = _limits(answer)
    lines = [about]
    for figure, label, value in rows:
        source = _SOURCES.get(text_of(object_of(used, "source"), figure), "")
        limit = _limit(figure, limits.get(_LIMITS.get(figure, ""), {}).get("value"))
        aside = ", ".join(filter(None, (limit, source if figure in _FROM_SOURCES and not over else "")))
        lines.append(f"{style.paint(label.ljust(width), '1')}  {value}" + (f"  ({aside})" if aside else ""))
    texts = ("".join(f"{one}\n" for one in lines), human.hint(dict(answer)))
    return "\n".join(filter(None, texts))


def _limit(figure: str, value: object) -> str:
    if not isinstance(value, (int, float)):
        return ""
    return f"limit {duration(value) if figure == 'time' else size(value) if figure == 'memory' else value}"


def _rows(used: dict[str, object], *, over: bool) -> list[tuple[str, str, str]]:
    """Return (figure, label, value) of each line; a value that is not known is ""."""
    wall = None if used.get("wall_ms") is None else number_of(used, "wall_ms")
    cpu = None if used.get("user_ms") is None else number_of(used, "user_ms") + number_of(used, "system_ms")
    return [
        ("wall", "time", "" if wall is None else duration(wall)),
        ("time", "processor", "" if cpu is None else _processor(cpu, wall, used)),
        ("memory", "memory", _memory(used, over=over)),
        ("processes", "processes", "" if over or used.get("processes") is None else f"{used['processes']:,}"),
        ("output", "output", "" if used.get("output_bytes") is None else size(number_of(used, "output_bytes"))),
        ("disk", "disk", _disk(used)),
    ]


def _processor(cpu_ms: int, wall_ms: int | None, used: dict[str, object]) -> str:
    share = f", {cpu_ms / wall_ms:.0%} of one" if wall_ms and cpu_ms * 100 >= wall_ms else ""
    return f"{duration(cpu_ms)}{share}: {duration(number_of(used, 'user_ms'))} user, {duration(number_of(used, 'system_ms'))} system"


def _memory(used: dict[str, object], *, over: bool) -> str:
    now, peak = number_of(used, "memory_bytes"), number_of(used, "peak_memory_bytes")
    # The two may come from different sources: a peak below what is used now says nothing
    most = f"at most {size(peak)}" if peak and (over or peak >= now) else ""
    return most if over or used.get("memory_bytes") is None else ", ".join(filter(None, (f"{size(now)} now", most)))


def _disk(used: dict[str, object]) -> str:
    read, written = number_of(used, "read_bytes"), number_of(used, "written_bytes")
    return f"{size(read)} read, {size(written)} written" if read or written else ""
