"""Job ids are ULIDs, and sort in the order in which they were made."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from outlive.core import ids

A_ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # the specification's own example


@pytest.fixture(autouse=True)
def no_earlier_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_last", (0, 0))


def test_an_id_is_a_ulid_to_the_reference_implementation() -> None:
    made = ids.new_id()
    assert str(ULID.from_str(made)) == made
    assert ids.is_id(made)


@given(st.integers(min_value=1, max_value=2**48 - 1))
def test_the_time_in_an_id_is_what_the_reference_reads(now_ms: int) -> None:
    ids._last = (0, 0)
    made = ids.new_id(now_ms)
    assert ULID.from_str(made).milliseconds == now_ms == ids.id_time_ms(made)


def test_the_time_in_an_id_is_now() -> None:
    before = time.time_ns() // 1_000_000
    made = ids.new_id()
    assert before <= ids.id_time_ms(made) <= time.time_ns() // 1_000_000


@given(st.integers(min_value=0, max_value=2**48 - 1), st.binary(min_size=10, max_size=10))
def test_ids_of_the_reference_are_ids(ms: int, random: bytes) -> None:
    theirs = str(ULID(ms.to_bytes(6, "big") + random))
    assert ids.is_id(theirs)
    assert ids.id_time_ms(theirs) == ms


def test_ids_sort_in_the_order_they_were_made_though_the_clock_goes_back() -> None:
    made = [ids.new_id() for _ in range(10_000)]
    made.append(ids.new_id(1_000))
    assert made == sorted(set(made))


def test_ids_of_one_millisecond_count_up() -> None:
    first, second = (ULID.from_str(ids.new_id(1_700_000_000_000)) for _ in range(2))
    assert int(second) == int(first) + 1


def test_two_processes_make_different_ids_in_one_millisecond(monkeypatch: pytest.MonkeyPatch) -> None:
    first = ids.new_id(1_000)
    monkeypatch.setattr(ids, "_last", (0, 0))
    assert ids.new_id(1_000) != first


def test_what_is_no_ulid_is_no_id() -> None:
    rows: list[str] = [
        "", "..", "../" + A_ULID, A_ULID[:-1], A_ULID + "0", A_ULID + "\n", A_ULID.lower(),
        "8" + A_ULID[1:],  # more than 128 bits
        "I" + A_ULID[1:],
        A_ULID[:-1] + "U",
        A_ULID[:-1] + "٣",  # a digit to str.isdigit
    ]  # fmt: skip
    for text in rows:
        assert not ids.is_id(text)


def test_four_characters_of_an_id_may_name_a_job_and_less_or_something_else_may_not() -> None:
    for text in ["", "..", A_ULID[:3], A_ULID[:6] + "/", "ILOU00", A_ULID + "0", A_ULID[:6] + "\n"]:
        assert all(map(ids.is_id_part, (A_ULID[:4], A_ULID[-4:], A_ULID)))
        assert not ids.is_id_part(text)


def test_the_short_id_is_the_end_that_differs() -> None:
    assert ids.short_id(A_ULID) == A_ULID[-8:]
    assert ids.is_id_part(ids.short_id(A_ULID))
