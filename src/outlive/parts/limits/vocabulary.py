"""The resources of a job: one vocabulary for every machine, parsed, checked, and in one form.

Pure: what a machine makes of them is not known here. In the canonical form a size is a number of
bytes and a time a text such as "90s", and parsing that form returns it unchanged. So it can be
stored, shown, and sent to another machine as it stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from outlive import limits
from outlive.core.members import object_of
from outlive.core.nearest import meant
from outlive.core.units import byte_count, duration_ms
from outlive.errors import OutliveError, argument, invalid
from outlive.part import Context
from outlive.parts.limits.names import CPU_TIME, CPUS, GPUS, MEMORY, NAMES, NICE, OPTIONS, PROCESSES
from outlive.parts.resources import RESOURCES, Resources

_MOST = 10**6  # of processors, devices and processes
_LEAST_BYTES = 1024**2  # less is a number whose unit was forgotten
_LEAST_CPU_MS = 1_000  # the kernel counts whole seconds (RLIMIT_CPU)
_OPTION = "letters, digits, - and _"


def kept(ctx: Context, args: Mapping[str, object]) -> dict[str, object]:
    """Return what is kept of a call. Errors: as `parsed`."""
    asked = parsed(object_of(args, RESOURCES))
    return {} if asked is None else {RESOURCES: asked.to_dict()}


def parsed(given: dict[str, Any]) -> Resources | None:
    """Return the canonical form of what a caller gave, None if that names nothing. Texts stand for numbers, as on a command
    line, and `options.NAME` for a member of `options`.

    Errors: invalid_argument, with the member as `details.member`.
    """
    prefix = f"{OPTIONS}."
    flat = {_known(name): value for name, value in given.items() if value is not None and not name.startswith(prefix)}
    options = {name.removeprefix(prefix): value for name, value in given.items() if name.startswith(prefix)}
    if options:
        flat[OPTIONS] = {**_options(OPTIONS, flat.get(OPTIONS, {})), **options}
    return Resources.of({name: _READ[name](name, value) for name, value in flat.items()}) if flat else None


def milliseconds(cpu_time: str | None) -> int:
    """Return `Resources.cpu_time` in milliseconds; 0: none."""
    return 0 if cpu_time is None else duration_ms(cpu_time, CPU_TIME)


def _known(name: str) -> str:
    folded = name.replace("-", "_").lower()
    if folded in NAMES:
        return folded
    hint = meant(_MEANT.get(folded, name), [*NAMES], f"Members: {', '.join(NAMES)}.")
    raise _wrong(name, f"{argument(RESOURCES)} has no member {name!r}", hint)


_MEANT = {"cpu": CPUS, "cores": CPUS, "mem": MEMORY, "ram": MEMORY, "gpu": GPUS, "cputime": CPU_TIME, "pids": PROCESSES}


def _wrong(name: str, message: str, hint: str) -> OutliveError:
    return invalid(RESOURCES, message, hint=hint, member=name)


def _number(value: object) -> float | None:
    """Return the number that a value is, or says; None if it is none."""
    if isinstance(value, str):
        text = value.strip()
        try:
            value = float(text) if text.isascii() and "_" not in text else None
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return value if abs(value) < float("inf") else None  # nan is not less


def _whole(name: str, value: object, *, least: int, most: int, example: str) -> int:
    number = _number(value)
    if number is None or number != number // 1 or not least <= number <= most:
        message = f"{argument(RESOURCES)}: {name} is a whole number from {least} to {most}, not {value!r}"
        raise _wrong(name, message, f"For example {example}.")
    return int(number)


def _count(name: str, value: object) -> int:
    return _whole(name, value, least=1, most=_MOST, example="1" if name == GPUS else "200")


def _nice(name: str, value: object) -> int:
    return _whole(name, value, least=-20, most=19, example="10: the others go first")


def _cpus(name: str, value: object) -> int | float:
    number = _number(value)
    if number is None or not 0.01 <= number <= _MOST:
        raise _wrong(
            name, f"{argument(RESOURCES)}: cpus is a number from 0.01 on, not {value!r}", "For example 2 or 0.5."
        )
    return int(number) if number == number // 1 else round(number, 2)


def _memory(name: str, value: Any) -> int:
    size = value
    if isinstance(value, str):
        try:
            size = byte_count(value, name)
        except OutliveError:
            size = None
    whole = not isinstance(size, bool) and isinstance(size, (int, float)) and size == size // 1
    if not whole or not _LEAST_BYTES <= size <= limits.MAX_QUOTA_BYTES:
        least = f"from {_LEAST_BYTES // 1024**2}M on"
        message = f"{argument(RESOURCES)}: memory is a size {least}, not {value!r}"
        raise _wrong(name, message, 'Write bytes, or "500M" or "2G".')
    return int(size)


def _cpu_time(name: str, value: object) -> str:
    """Return the time as a text with its unit. Faces differ in what a bare number means, so it is refused."""
    try:
        ms = duration_ms(value, name, bare_unit=None) if isinstance(value, str) else -1
    except OutliveError:
        ms = -1
    if ms < _LEAST_CPU_MS:
        message = f"{argument(RESOURCES)}: cpu_time is a duration with its unit, at least 1s, not {value!r}"
        raise _wrong(name, message, 'For example "90s" or "10m".')
    return f"{ms // 1000}s" if ms % 1000 == 0 else f"{ms}ms"


def _options(name: str, value: object) -> dict[str, str | int | float | bool]:
    """Return the options for the engine: texts, numbers and booleans by name."""
    if not isinstance(value, dict):
        raise _wrong(
            name, f"{argument(RESOURCES)}: options is an object, not {value!r}", 'For example {"partition": "gpu"}.'
        )
    for option, content in value.items():
        plain = option.replace("-", "").replace("_", "")
        if not (plain.isascii() and plain.isalnum()) or option[0] in "-_":
            raise _wrong(
                f"{name}.{option}",
                f"{argument(RESOURCES)}: not the name of an option: {option!r}",
                f"It has {_OPTION}.",
            )
        if not isinstance(content, (str, int, float, bool)) or (isinstance(content, str) and not content.isprintable()):
            message = f"{argument(RESOURCES)}: the option {option} is a text of one line, a number, true or false"
            raise _wrong(f"{name}.{option}", message, f'For example {{"{option}": "value"}}.')
    return dict(value)


_READ = {
    CPUS: _cpus,
    MEMORY: _memory,
    GPUS: _count,
    CPU_TIME: _cpu_time,
    PROCESSES: _count,
    NICE: _nice,
    OPTIONS: _options,
}
