"""A class whose values are declared once, as those of a dataclass, whose import would take 12 ms of each call."""

from __future__ import annotations

from outlive.annotations import Any, dataclass_transform


@dataclass_transform()
class Declared:
    """Values in the order of the class, given by position or by name."""

    def __init__(self, *values: Any, **named: Any) -> None:
        declared = type(self).__annotations__
        if len(values) > len(declared) or not named.keys() <= declared.keys():
            raise TypeError(f"{type(self).__name__} has no {values[len(declared) :] or named.keys() - declared.keys()}")
        vars(self).update(zip(declared, values, strict=False), **named)
        self.__post_init__()

    def __post_init__(self) -> None:
        """Work out what follows from the values given."""
