"""Time stamps, durations and sizes: what is read, what is refused."""

from __future__ import annotations

import datetime
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from outlive import limits
from outlive.core import units
from outlive.errors import OutliveError


class TestTimes:
    def test_a_time_stamp_is_utc_with_milliseconds(self) -> None:
        assert units.timestamp(0) == "1970-01-01T00:00:00.000Z"
        assert units.timestamp(1_700_000_000.1239) == "2023-11-14T22:13:20.124Z"
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", units.timestamp())

    def test_rounding_carries_into_the_next_second(self) -> None:
        assert units.timestamp(59.9996) == "1970-01-01T00:01:00.000Z"

    @given(st.integers(min_value=0, max_value=4_102_444_800_000))
    def test_a_time_stamp_is_read_back(self, ms: int) -> None:
        stamp = units.timestamp(ms / 1000)
        assert round(units.seconds_of(stamp) * 1000) == ms
        assert datetime.datetime.fromisoformat(stamp).utcoffset() == datetime.timedelta(0)

    def test_what_is_no_time_stamp_is_refused(self) -> None:
        for text in ["", "yesterday", "2023-13-01T00:00:00.000Z"]:
            with pytest.raises(ValueError):
                units.seconds_of(text)


class TestDurations:
    def test_a_duration_is_a_number_with_a_unit_or_bare_milliseconds(self) -> None:
        rows: list[tuple[str, int]] = [
            ("250", 250),
            ("250ms", 250),
            ("5s", 5_000),
            ("1.5s", 1_500),
            ("30m", 1_800_000),
            ("2 h", 7_200_000),
            ("30d", 2_592_000_000),
            ("1w", 604_800_000),
            (" 0 ", 0),
            ("0.4", 0),
        ]
        for text, ms in rows:
            assert units.duration_ms(text, "timeout") == ms

    def test_anything_else_is_refused_and_the_field_named(self) -> None:
        for text in ["", "s", "-1", "-1s", "1e3", "5 years", "1s1s", "5S", "nan", "inf", "0x10", "1,5s"]:
            with pytest.raises(OutliveError) as caught:
                units.duration_ms(text, "timeout")
            assert caught.value.code == "invalid_argument"
            assert caught.value.details == {"field": "timeout"}
            assert caught.value.hint

    def test_a_unit_may_be_required(self) -> None:
        assert units.duration_ms("30d", "older_than", bare_unit=None) == 2_592_000_000
        with pytest.raises(OutliveError):
            units.duration_ms("30", "older_than", bare_unit=None)

    def test_a_bare_number_may_have_another_unit(self) -> None:
        assert units.duration_ms("1.5", "timeout", bare_unit="s") == 1_500

    def test_what_no_deadline_can_hold_is_refused(self) -> None:
        assert units.duration_ms("3660d", "timeout") == limits.MAX_DURATION_MS
        for text in ("3661d", "9" * 400):
            with pytest.raises(OutliveError) as caught:
                units.duration_ms(text, "timeout")
            assert caught.value.code == "invalid_argument"


def test_durations_and_sizes_are_short() -> None:
    spans = {
        0: "0 ms",
        250.4: "250 ms",
        1_500: "1.5 s",
        200_000: "3 min 20 s",
        7_500_000: "2 h 5 min",
        86_400_000: "1 d",
    }
    assert {ms: units.duration(ms) for ms in spans} == spans
    sizes = {0: "0 B", 1_536: "1.5 KiB", 10 * 1024**3: "10 GiB", 2**50: "1024 TiB"}
    assert {count: units.size(count) for count in sizes} == sizes


def test_a_count_has_its_plural() -> None:
    assert [units.counted(1, "process"), units.counted(2, "process"), units.counted(0, "line"), units.counted(2_000, "line")] == [
        "1 process", "2 processes", "0 lines", "2,000 lines",
    ]  # fmt: skip
