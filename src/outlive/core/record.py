"""The one class of what is stored, sent and answered: a `Record` declares each of its values once.

A `Value` is a record that only passes between functions. Why they are neither dataclasses, NamedTuples nor `msgspec.Struct`s:
docs/explanation/dependencies.md.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, ClassVar, ParamSpec, Self, TypeVar, dataclass_transform

from outlive import limits

_P = ParamSpec("_P")
_R = TypeVar("_R")
_UNION: type = type(int | None)
_PLAIN = frozenset({str, int, bool, float, type(None)})
ABSENT: Any = object()  # a value that is not there: it is not in the JSON


def _mapped(convert: Callable[[Any], Any], container: type | None, value: Any) -> Any:
    """Return a record, or each in a list or a dict of records, converted."""
    if container is None:
        return convert(value)
    if container is list:
        return [convert(one) for one in value]
    return {key: convert(one) for key, one in value.items()}


def _places(name: str, container: type | None, value: Any) -> Iterable[tuple[str, Any]]:
    """Return the path of a value, or of each in a list or a dict, with what is there."""
    if container is None:
        return [(name, value)]
    if container is list:
        return [(f"{name}[{place}]", one) for place, one in enumerate(value)]
    return [(f"{name}.{key}", one) for key, one in value.items()]


def _in_json(value: Any) -> Any:
    """Return a value with the JSON objects of the records in it."""
    if isinstance(value, Record):
        return value.to_dict()
    if type(value) is list:
        return [one.to_dict() for one in value] if value and isinstance(value[0], Record) else value
    if type(value) is dict and isinstance(next(iter(value.values()), None), Record):
        return {key: one.to_dict() for key, one in value.items()}
    return value


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Record:
    """Named values, each declared as `name: type` or `name: type = default` in the class body. A value may be a record
    itself, or a list or a dict of records.

    What is read from a file has types that are known when the class is made: a module that declares such a record does
    not import `annotations` from `__future__`. To the type checker a subclass is a frozen dataclass, whose values are
    given by name; `frozen=False` says otherwise, as for a dataclass.

    `omitted`: names of values that are left out of the JSON when they are None. A file without a value that has no
    default makes no sense.
    """

    FIELDS: ClassVar[dict[str, Any]] = {}  # name → default, in the order of the file
    _LAYOUT: ClassVar[Layout | None] = None  # worked out at the first use: a call uses few of the classes
    _OMITTED: ClassVar[Collection[str]] = ()
    _INLINE: ClassVar[Collection[str]] = ()  # names of records whose values stand in their place

    def __init_subclass__(cls, omitted: tuple[str, ...] = (), *, frozen: bool = True) -> None:
        cls.FIELDS = {name: vars(cls).get(name, ABSENT) for name in cls.__annotations__}
        cls._OMITTED, cls._LAYOUT = omitted, None
        if not frozen:
            cls.__setattr__ = object.__setattr__  # type: ignore[assignment]  # as for any object

    @classmethod
    def layout(cls) -> Layout:
        """Return the types of the values."""
        if cls._LAYOUT is not None:
            return cls._LAYOUT
        types: list[tuple[str, tuple[type, ...]]] = []
        held: list[tuple[str, type | None, type[Record]]] = []
        texts: list[str] = []
        for name, declared in cls.__annotations__.items():
            if type(declared) is str:
                raise TypeError(f"{cls.__name__}.{name}: its module imports `annotations` from __future__")
            kinds, is_union = [], type(declared) is _UNION
            for option in declared.__args__ if is_union else (declared,):
                container = getattr(option, "__origin__", None)  # list of list[str]
                inner = option if container is None else option.__args__[-1]
                is_record = type(inner) is type and issubclass(inner, Record)
                kinds.append(container or (dict if is_record else option))
                if is_record:
                    held.append((name, container, inner))
                elif container is list and inner is str:
                    texts.append(name)
            types.append((name, tuple(kinds)))
        cls._LAYOUT = Layout(types, held, texts)
        return cls._LAYOUT

    def __init__(self, *values: Any, **named: Any) -> None:
        if values:
            named |= zip(self.FIELDS, values, strict=False)
        # Attributes of the instance, because a list reads 24 of each of its jobs
        own = self.__dict__
        own.update(self.FIELDS)
        own.update(named)
        if len(own) > len(self.FIELDS):  # the type checker does not see what `**` passes
            raise TypeError(f"{type(self).__name__} has no {sorted(named.keys() - self.FIELDS.keys())}")
        self.__post_init__()

    def __post_init__(self) -> None:
        """Work out what follows from the values given."""

    @classmethod
    def of(cls, content: dict[str, Any]) -> Self:
        """Return the record that a file holds. A name that an older writer did not know has its default; one of a newer
        writer is ignored."""
        record = cls.__new__(cls)
        values = vars(record)
        values.update({name: content.get(name, default) for name, default in cls.FIELDS.items()})
        for name, container, kind in cls.layout().held:
            if name in content and (value := values[name]) is not None:
                values[name] = _mapped(kind.of, container, value)
        return record

    @classmethod
    def misfit(cls, content: dict[str, Any]) -> str | None:
        """Return the path of a value that is missing or of another type, such as `watches[0].pattern`; None if all are
        right."""
        layout = cls.layout()
        for name, kinds in layout.types:
            if type(content[name]) not in kinds if name in content else cls.FIELDS[name] is ABSENT:
                return name
        for name in layout.texts:
            if (value := content.get(name)) and {*map(type, value)} != {str}:
                return next(place for place, one in _places(name, list, value) if type(one) is not str)
        for name, container, kind in layout.held:
            if (value := content.get(name)) is not None:
                for place, one in _places(name, container, value):
                    if type(one) is not dict:
                        return place
                    if (inner := kind.misfit(one)) is not None:
                        return f"{place}.{inner}"
        return None

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"{type(self).__name__} is frozen; use {type(self).__name__}.replace")

    @classmethod
    def replace(cls: Callable[_P, _R], record: _R, *args: _P.args, **values: _P.kwargs) -> _R:
        """Return a copy of a record with other values: `State.replace(state, exit_code=3)`. The type
        checker takes for them what it takes for the constructor."""
        copy = cls(*args, **values)
        vars(copy).update({**vars(record), **values})
        return copy

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON object that a file or an answer holds."""
        content: dict[str, Any] = {}
        self.write_into(content)
        return content

    def write_into(self, content: dict[str, Any]) -> None:
        """Write the values into the JSON object that is being made."""
        values, omitted, inline = vars(self), self._OMITTED, self._INLINE
        for name in self.FIELDS:
            value = values[name]
            if value is ABSENT or (value is None and name in omitted):
                continue
            if name in inline:
                value.write_into(content)
            else:
                content[name] = value if type(value) in _PLAIN else _in_json(value)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"


@dataclass_transform(kw_only_default=False, frozen_default=True)
class Value(Record):
    """A record that passes between functions: what it is made of is given by place too, and it may be a key."""

    def changed(self, **values: Any) -> Self:
        """Return a copy with other values."""
        return type(self)(**{**{name: vars(self)[name] for name in self.FIELDS}, **values})

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))


class Layout(Value):
    """The types of a record's values."""

    types: list[tuple[str, tuple[type, ...]]]  # name, and its types in JSON
    held: list[tuple[str, type | None, type[Record]]]  # name; list, dict or None; and what records it holds
    texts: list[str]  # names of lists of strings


def are_sizes(value: list[int] | None, count: int) -> bool:
    return value is None or (len(value) == count and all(map(_is_position, value)))


def is_passable(text: str) -> bool:
    """Return whether a system call takes a text: it has neither a NUL nor half a character."""
    try:
        return "\0" not in text and (text.isascii() or bool(text.encode("utf-8", "surrogateescape")))
    except UnicodeEncodeError:
        return False


def is_terminal_size(value: list[int]) -> bool:
    """Return whether this is [seq, cols, rows] of a terminal that we made: a screen has so many cells."""
    most = (limits.MAX_QUOTA_BYTES, limits.MAX_TERMINAL_COLS, limits.MAX_TERMINAL_ROWS)
    return type(value) is list and len(value) == 3 and all(map(_is_position, value, most))


def _is_position(value: int, most: int = limits.MAX_QUOTA_BYTES) -> bool:
    return type(value) is int and 0 <= value <= most
