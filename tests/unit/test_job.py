"""What a job is: ids, records and the words for times, lengths, tags and names."""

from __future__ import annotations

import datetime
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ulid import ULID

from outlive import limits
from outlive.core import ids, labels, records, units
from outlive.errors import OutliveError

A_ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # the specification's own example


@pytest.fixture(autouse=True)
def no_earlier_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ids, "_last", (0, 0))


class TestIds:
    def test_an_id_is_a_ulid_to_the_reference_implementation(self) -> None:
        made = ids.new_id()
        assert str(ULID.from_str(made)) == made
        assert ids.is_id(made)

    @given(st.integers(min_value=1, max_value=2**48 - 1))
    def test_the_time_in_an_id_is_what_the_reference_reads(self, now_ms: int) -> None:
        ids._last = (0, 0)
        made = ids.new_id(now_ms)
        assert ULID.from_str(made).milliseconds == now_ms == ids.id_time_ms(made)

    def test_the_time_in_an_id_is_now(self) -> None:
        before = time.time_ns() // 1_000_000
        made = ids.new_id()
        assert before <= ids.id_time_ms(made) <= time.time_ns() // 1_000_000

    @given(st.integers(min_value=0, max_value=2**48 - 1), st.binary(min_size=10, max_size=10))
    def test_ids_of_the_reference_are_ids(self, ms: int, random: bytes) -> None:
        theirs = str(ULID(ms.to_bytes(6, "big") + random))
        assert ids.is_id(theirs)
        assert ids.id_time_ms(theirs) == ms

    def test_ids_sort_in_the_order_they_were_made(self) -> None:
        made = [ids.new_id() for _ in range(10_000)]
        assert made == sorted(set(made))

    def test_ids_of_one_millisecond_count_up(self) -> None:
        first, second = (ULID.from_str(ids.new_id(1_700_000_000_000)) for _ in range(2))
        assert int(second) == int(first) + 1

    def test_an_id_is_larger_though_the_clock_went_back(self) -> None:
        assert ids.new_id(2_000) < ids.new_id(1_000)

    def test_two_processes_make_different_ids_in_one_millisecond(self, monkeypatch: pytest.MonkeyPatch) -> None:
        first = ids.new_id(1_000)
        monkeypatch.setattr(ids, "_last", (0, 0))
        assert ids.new_id(1_000) != first

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "..",
            "../" + A_ULID,
            A_ULID[:-1],
            A_ULID + "0",
            A_ULID + "\n",
            A_ULID.lower(),
            "8" + A_ULID[1:],  # more than 128 bits
            "I" + A_ULID[1:],
            A_ULID[:-1] + "U",
            A_ULID[:-1] + "٣",  # a digit to str.isdigit
        ],
    )
    def test_what_is_no_ulid_is_no_id(self, text: str) -> None:
        assert not ids.is_id(text)

    def test_six_characters_of_an_id_may_name_a_job(self) -> None:
        assert ids.is_id_part(A_ULID[:6])
        assert ids.is_id_part(A_ULID[-6:])
        assert ids.is_id_part(A_ULID)

    @pytest.mark.parametrize(
        "text", ["", "..", A_ULID[:5], A_ULID[:6] + "/", "ILOU00", A_ULID + "0", A_ULID[:6] + "\n"]
    )
    def test_less_or_something_else_may_not(self, text: str) -> None:
        assert not ids.is_id_part(text)

    def test_the_short_id_is_the_end_that_differs(self) -> None:
        assert ids.short_id(A_ULID) == A_ULID[-8:]
        assert ids.is_id_part(ids.short_id(A_ULID))


class TestRecords:
    def test_what_is_not_given_has_its_default(self) -> None:
        state = records.State(pid=7)
        assert (state.pid, state.state, state.exit_code) == (7, "running", None)

    def test_a_record_is_frozen(self) -> None:
        state = records.State()
        with pytest.raises(AttributeError, match="frozen"):
            state.pid = 7
        assert state.pid is None

    def test_replace_makes_another_record(self) -> None:
        running = records.State(pid=7)
        ended = running.replace(state="exited", exit_code=3)
        assert (ended.pid, ended.exit_code, running.exit_code) == (7, 3, None)

    def test_an_unknown_name_is_a_mistake_of_the_code(self) -> None:
        with pytest.raises(TypeError, match="colour"):
            records.State(colour="red")
        with pytest.raises(AttributeError):
            records.State().colour  # noqa: B018

    def test_an_unknown_name_in_a_file_is_passed_over(self) -> None:
        assert records.State.of({"pid": 7, "of_a_newer_version": 1}) == records.State(pid=7)

    def test_a_record_survives_being_written_and_read(self) -> None:
        definition = records.Definition(command=["make"], tags=["a"], env={"A": "1"})
        assert records.Definition.of(definition.to_dict()) == definition

    def test_changing_the_dictionary_does_not_change_the_record(self) -> None:
        state = records.State(pid=7)
        state.to_dict()["pid"] = 8
        assert state.pid == 7

    def test_records_of_different_kinds_are_different(self) -> None:
        assert records.State() != records.Definition()
        assert records.State() == records.State()

    @pytest.mark.parametrize("name", records.STATES)
    def test_only_an_end_is_finished(self, name: str) -> None:
        assert records.State(state=name).finished == (name in ("exited", "killed", "failed"))


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

    @pytest.mark.parametrize("text", ["", "yesterday", "2023-13-01T00:00:00.000Z"])
    def test_what_is_no_time_stamp_is_refused(self, text: str) -> None:
        with pytest.raises(ValueError):
            units.seconds_of(text)


class TestDurations:
    @pytest.mark.parametrize(
        ("text", "ms"),
        [("250", 250), ("250ms", 250), ("5s", 5_000), ("1.5s", 1_500), ("30m", 1_800_000), ("2 h", 7_200_000)]
        + [("30d", 2_592_000_000), ("1w", 604_800_000), (" 0 ", 0), ("0.4", 0)],
    )
    def test_a_duration_is_a_number_with_a_unit_or_bare_milliseconds(self, text: str, ms: int) -> None:
        assert units.duration_ms(text, "timeout") == ms

    @pytest.mark.parametrize(
        "text", ["", "s", "-1", "-1s", "1e3", "5 years", "1s1s", "5S", "nan", "inf", "0x10", "1,5s"]
    )
    def test_anything_else_is_refused_and_the_field_named(self, text: str) -> None:
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


class TestTags:
    @pytest.mark.parametrize("tag", ["a", "project.build", "A-1.b-2.c", "x" * limits.MAX_TAG_CHARS])
    def test_a_tag_is_segments_joined_by_dots(self, tag: str) -> None:
        assert labels.check_tags([tag]) == [tag]

    @pytest.mark.parametrize("tag", ["", ".", "a.", ".a", "a..b", "a b", "a_b", "a.*", "ä", "a\n", "x" * 129])
    def test_anything_else_is_refused(self, tag: str) -> None:
        with pytest.raises(OutliveError) as caught:
            labels.check_tags([tag])
        assert caught.value.code == "invalid_tag"

    def test_a_repeated_tag_is_kept_once_in_its_first_place(self) -> None:
        assert labels.check_tags(["b", "a", "b"]) == ["b", "a"]

    def test_there_may_not_be_too_many(self) -> None:
        most = [f"t{number}" for number in range(limits.MAX_TAGS)]
        assert labels.check_tags([*most, most[0]]) == most
        with pytest.raises(OutliveError) as caught:
            labels.check_tags([*most, "one-more"])
        assert caught.value.code == "invalid_tag"

    @pytest.mark.parametrize(
        ("pattern", "tag", "fits"),
        [
            ("a", "a", True),
            ("a", "a.b", False),
            ("a.*", "a", True),
            ("a.*", "a.b", True),
            ("a.*", "a.b.c", True),
            ("a.*", "ab", False),
            ("a.b.*", "a.c", False),
        ],
    )
    def test_a_pattern_is_a_tag_or_everything_below_it(self, pattern: str, tag: str, fits: bool) -> None:
        assert labels.check_tag_pattern(pattern) == pattern
        assert labels.tag_matches(pattern, ["other", tag]) is fits

    @pytest.mark.parametrize("pattern", ["*", ".*", "a*", "a.*.b", "a.*.*", ""])
    def test_a_star_stands_at_the_end_only(self, pattern: str) -> None:
        with pytest.raises(OutliveError) as caught:
            labels.check_tag_pattern(pattern)
        assert caught.value.code == "invalid_tag"


class TestNames:
    @pytest.mark.parametrize(
        ("command", "name"),
        [
            (["npm", "run", "dev"], "npm run"),
            (["/usr/bin/python3", "-m", "http.server"], "python3 http.server"),
            (["pytest -q tests/unit"], "pytest tests/unit"),
            (["A=1 B='x y' make all"], "make all"),
            (["cd app && npm test"], "cd app"),
            (["sleep 5; echo done"], "sleep 5"),
            (["ls"], "ls"),
            (["ls -la"], "ls"),
            (["   "], "command"),
            ([""], "command"),
            (["echo 'two words'"], "echo two words"),
        ],
    )
    def test_a_job_is_called_by_its_verb_and_first_target(self, command: list[str], name: str) -> None:
        assert labels.name_of(command) == name

    def test_a_long_name_keeps_both_ends(self) -> None:
        name = labels.name_of(["cat", "a" * 100 + ".log"])
        assert len(name) <= limits.NAME_CHARS
        assert name.startswith("cat a") and name.endswith(".log")

    @given(st.lists(st.text(), min_size=1, max_size=4))
    def test_every_command_has_a_short_name_of_one_line(self, command: list[str]) -> None:
        name = labels.name_of(command)
        assert 0 < len(name) <= limits.NAME_CHARS
        assert "\n" not in name
