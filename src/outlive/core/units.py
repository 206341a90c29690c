"""Quantities as text, read and written: time stamps, durations, sizes, counts. Every face has these words."""

from __future__ import annotations

import time
from datetime import datetime

from outlive import limits
from outlive.errors import invalid


def timestamp(seconds: float | None = None) -> str:
    """Return Unix seconds, or the present time, as RFC 3339 in UTC with milliseconds."""
    now = time.time() if seconds is None else seconds
    whole, ms = divmod(round(now * 1000), 1000)
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(whole)) + f".{ms:03d}Z"


def seconds_of(stamp: str) -> float:
    """Return the Unix seconds of an RFC 3339 time stamp. Errors: ValueError."""
    return datetime.fromisoformat(stamp).timestamp()


def seconds_or(stamp: str | None, otherwise: float) -> float:
    """Return the Unix seconds of a time in a record; `otherwise` for none, and for what is no time: the job may have
    written it."""
    try:
        return seconds_of(stamp) if stamp else otherwise
    except ValueError:
        return otherwise


_MOMENT = "Write a duration back from now, such as 24h, or a time, such as 2026-01-31 or 2026-01-31T09:30Z."


def moment(text: str, field: str) -> float:
    """Return the Unix seconds of a time stamp, or of a duration back from now. Errors: invalid_argument."""
    try:
        return seconds_of(text.strip())
    except ValueError:
        return time.time() - duration_ms(text, field, bare_unit=None, hint=_MOMENT) / 1000


_UNITS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}


def _split(text: str) -> tuple[str, str]:
    """Return the number with which a text begins, and the rest; "" and the text if it begins with none. Not by `re`, which
    would take a megabyte of each job with limits."""
    text = text.strip()
    end = next((at for at, char in enumerate(text) if not (char.isdecimal() or char == ".")), len(text))
    whole, dot, fraction = text[:end].partition(".")
    is_number = whole.isdecimal() and (fraction.isdecimal() or not dot)
    return (text[:end], text[end:].lstrip()) if is_number else ("", text)


def duration_ms(text: str, field: str, *, bare_unit: str | None = "ms", hint: str | None = None) -> int:
    """Return the milliseconds that `5s`, `30m` or `250` means. `bare_unit`: of a bare number; None requires a unit.
    `hint`: what to write instead of what is no duration. Errors: invalid_argument."""
    number, unit = _split(text)
    unit = unit or bare_unit or ""
    if number and unit in _UNITS:
        ms = float(number) * _UNITS[unit]
    else:
        units = "a number with a unit: ms, s, m, h, d or w" + (f" (bare numbers are {bare_unit})" if bare_unit else "")
        raise invalid(field, f"{field} is not a duration: {text!r}", hint=hint or f"Write {units}; for example 30m.")
    if ms > limits.MAX_DURATION_MS:
        raise invalid(field, f"{field} is longer than ten years: {text!r}")
    return round(ms)


_SIZES = {
    f"{prefix}{end}": (power, 1000 if end == "b" else 1024)
    for power, prefix in enumerate("kmgt", 1)
    for end in ("", "b", "ib")
}
_SIZES |= {"": (0, 1), "b": (0, 1)}


def byte_count(text: str, field: str) -> int:
    """Return the bytes that `500`, `1.5GiB`, `64K` (powers of 1024) or `2GB` means. Errors: invalid_argument."""
    number, unit = _split(text)
    if not number or unit.lower() not in _SIZES or not text.isascii():
        raise invalid(field, f"{field} is not a size: {text!r}", hint="Write bytes, or a number with K, M, G or T.")
    power, base = _SIZES[unit.lower()]
    count: float = (float(number) if "." in number else int(number[:20])) * base**power
    if count > limits.MAX_QUOTA_BYTES:
        raise invalid(field, f"{field} is larger than any disk: {text[:40]!r}")
    return round(count)


def duration(ms: float) -> str:
    """Return `250 ms`, `1.5 s`, `3 min 20 s`, `2 h 5 min`, `4 d 1 h`."""
    if ms < 1_000:
        return f"{ms:.0f} ms"
    if ms < 60_000:
        return f"{ms / 1_000:.3g} s"
    minutes, seconds = divmod(int(ms / 1_000), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    pairs = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next(at for at, (number, _) in enumerate(pairs) if number)
    return " ".join(f"{number} {unit}" for number, unit in pairs[first : first + 2] if number)


def size(count: float) -> str:
    """Return `512 B`, `1.5 KiB`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1_024:
            return f"{count:.4g} {unit}"
        count /= 1_024
    return f"{count:.4g} TiB"


def counted(number: int, noun: str) -> str:
    """Return `1 line`, `2,000 lines`, `3 processes`."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{number:,} {noun if number == 1 else plural}"
