"""What the answers are made of: fields with their help, and the records that hold them.

The classes of this room are the one place that knows the fields of answers. From them come the JSON and its order, the
brief form, the order for a person, the JSON Schema and the reference pages. `jobs` makes the parts, `verbs` the
answers. `typing.get_type_hints` gives the types to the schema; a call needs none."""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any, ClassVar, dataclass_transform

from outlive.core.object_reference import resolve_name
from outlive.core.record import ABSENT as ABSENT
from outlive.core.record import Record, Value

# How `detail: brief` shows a field
IF_SAID = "if it says something"  # not if it is null, false or empty
FULL_ONLY = "not"  # it repeats another member, echoes the call, or is nothing to act on
ALWAYS = "always"
EVEN_FALSE = "if it says something, and false does"
READABLE = "as text for reading"
DECISIONS = ["allow", "ask", "deny"]  # of the policy
TIME = "date-time"  # the format of a time stamp in JSON Schema
# Where a field stands in the JSON. A client may cut an answer anywhere: how the job ended comes first, its output last
FIRST, LAST = "first", "last"
# How a person sees a field. A number: its place among the first; None: behind these, in the order of the JSON
HIDDEN, BELOW = -1, -2  # BELOW: the output, which stands below all others

_EXACT = ("enum", "pattern", "format", "const")  # what has one of these in its schema is no text
_NO_SCHEMA = frozenset({"brief", "place", "human", "keep", "without", "entry", "verbatim"})


class Field(Value):
    """What is known of a field besides its type.

    `how`: `brief`, `place` and `human` as above; `keep`, of a part: the fields that the brief form of this answer shows too;
    `without`: the members of an object that only a full answer shows; `entry`: the record of the entries of a list; `verbatim`:
    no secret is masked in it over MCP, because callers use it again. All else is for its JSON Schema. `inline`: the record
    whose fields stand in the place of this one, or "module:NAME", which is loaded when an answer is made.
    """

    help: str
    how: dict[str, Any]
    optional: bool = False
    hides_null: bool = False
    default: Any = ABSENT
    inline: type[Fields] | str | None = None

    @property
    def inlined(self) -> type[Fields] | None:
        """The record whose fields stand in the place of this one; None: it is a field."""
        record: type[Fields] | None = resolve_name(self.inline) if isinstance(self.inline, str) else self.inline
        return record

    @cached_property
    def brief(self) -> str:
        return str(self.how.get("brief", IF_SAID))

    @cached_property
    def place(self) -> str:
        return str(self.how.get("place", ""))

    @property
    def human(self) -> int | None:
        human: int | None = self.how.get("human")
        return human

    @property
    def verbatim(self) -> bool:
        return bool(self.how.get("verbatim")) or not self.how.keys().isdisjoint(_EXACT)

    @property
    def schema(self) -> dict[str, Any]:
        """What its JSON Schema has besides the type and the help."""
        return {name: value for name, value in self.how.items() if name not in _NO_SCHEMA}

    def kept(self) -> Field:
        """Return the field as the brief form shows it."""
        return self.changed(how={**self.how, "brief": IF_SAID})


def field(help: str, **how: Any) -> Any:
    """Declare a field that is always there; None is null. `how`: as for Field."""
    return Field(help, how)


def optional(help: str, **how: Any) -> Any:
    """Declare a field that is not there if it is None."""
    return Field(help, how, optional=True, hides_null=True, default=None)


def maybe(help: str, **how: Any) -> Any:
    """Declare a field that is not there if it is not given; None is null."""
    return Field(help, how, optional=True)


def inline(record: type[Fields] | str, **how: Any) -> Any:
    """Declare a record, or "module:NAME", whose fields stand in this place; if it is None, none of them does."""
    return Field("", how, hides_null=True, inline=record)


@dataclass_transform(kw_only_default=True, field_specifiers=(field, inline))
class Fields(Record, frozen=False):
    """Fields of answers, or of an object in an answer, each declared as `name: type = field(help)`. The order of the
    class is the order of the JSON. An answer is made step by step, so its fields can be set."""

    DECLARED: ClassVar[dict[str, Field]] = {}
    BRIEF: ClassVar[tuple[str, ...]] = ()  # of the entries of a list: what brief shows of one, in this order
    BRIEF_OF_OTHERS: ClassVar[tuple[str, ...]] = ()  # ... and also of one with `others`
    SCHEMA: ClassVar[dict[str, Any]] = {}  # what else the JSON Schema has
    # What the texts for a model and for a person say by sentences and columns of their own; all else of a brief answer
    # stands there by its name
    IN_SENTENCES: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls.DECLARED = {**cls.DECLARED, **{name: one for name, one in vars(cls).items() if type(one) is Field}}
        cls.FIELDS = {name: one.default for name, one in cls.DECLARED.items()}
        cls._OMITTED = {name for name, one in cls.DECLARED.items() if one.hides_null}
        cls._INLINE = {name for name, one in cls.DECLARED.items() if one.inline is not None}

    @classmethod
    @cache  # a list asks for each of its rows
    def flat(cls) -> dict[str, Field]:
        """Return the fields by their names in the JSON, those of its parts too, in their order."""
        flat: dict[str, Field] = {}
        for name, declared in cls.DECLARED.items():
            record = declared.inlined
            if record is None:
                flat[name] = declared
                continue
            keep = declared.how.get("keep", ())
            flat |= {inner: one.kept() if inner in keep else one for inner, one in record.flat().items()}
        return flat

    @classmethod
    def in_sentences(cls) -> frozenset[str]:
        """Return `IN_SENTENCES`, those of its parts too."""
        records = filter(None, (one.inlined for one in cls.DECLARED.values()))
        return cls.IN_SENTENCES.union(*(record.in_sentences() for record in records))


class Answer(Fields):
    """The answer of a verb."""

    # The text for a model, if one sentence says it all: "The terminal is now {cols}x{rows}."
    TEXT: ClassVar[str] = ""

    @classmethod
    @cache
    def flat(cls) -> dict[str, Field]:
        rank: dict[Any, int] = {FIRST: 0, LAST: 2}
        return dict(sorted(super().flat().items(), key=lambda one: rank.get(one[1].how.get("place"), 1)))

    @classmethod
    @cache  # each answer asks
    def ends(cls) -> tuple[list[str], list[str]]:
        """Return the fields that stand first in the JSON, and those that stand last."""
        placed = [(name, one.place) for name, one in cls.flat().items()]
        first, last = ([name for name, place in placed if place == end] for end in (FIRST, LAST))
        return first, last


def sentences(*parts: str | None) -> str | None:
    """Return these sentences as one text, without those that are empty; None if all are."""
    return " ".join(filter(None, parts)) or None
