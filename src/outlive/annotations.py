"""The names that annotations are made of, without the import of `typing`.

Each running job keeps a guardian and a supervisor, and these keep what they import. So the rooms that
they are made of (`LEAN_ROOMS` in tests/test_house.py) import none of `typing`, `collections`, `json`,
`re`, `enum`, `socket`, `selectors` and `signal` before a job needs them: with `typing` alone, a job that
the command line started took 11 % more memory, with all of these 16 %. They take names for annotations
from here, JSON from `outlive.fastjson`, sockets from `system/fds.py` and signals from
`system/signals.py`. All other rooms import the standard library as usual.

To the type checker these are the names of the standard library (pyproject.toml lets others import them
from here). At run time no annotation is read, and each name stands for nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
    from threading import Lock, Semaphore
    from typing import (
        IO,
        Any,
        ClassVar,
        Literal,
        NoReturn,
        NotRequired,
        ParamSpec,
        Protocol,
        Self,
        TypeAlias,
        TypedDict,
        TypeVar,
        dataclass_transform,
    )
else:

    class _Name:
        """May be subscripted, subclassed and called, as the modules of these rooms do."""

        def __init__(self, *_, **__):
            pass

        def __class_getitem__(cls, _):
            return cls

    class TypedDict(dict):
        def __init_subclass__(cls, **_):
            pass

    def dataclass_transform(**_):
        return lambda kind: kind

    Callable = Container = Generator = Iterable = Iterator = Lock = Mapping = Semaphore = Sequence = _Name
    IO = Any = ClassVar = Literal = NoReturn = NotRequired = ParamSpec = Protocol = Self = TypeAlias = TypeVar = _Name
