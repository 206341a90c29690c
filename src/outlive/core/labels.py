"""What jobs are told apart by: their tags, and where they come from."""

from __future__ import annotations

from outlive import limits
from outlive.core.record import Value
from outlive.errors import OutliveError

SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"  # in the shells and servers that a client starts for its agent


def _is_tag(text: str) -> bool:
    """Return whether this is segments of letters, digits and hyphens, joined by dots."""
    return text.isascii() and all(part.replace("-", "0").isalnum() for part in text.split("."))


def check_tags(tags: list[str]) -> list[str]:
    """Return the tags without repeats, in the order given. Errors: invalid_tag."""
    for tag in tags:
        if not _is_tag(tag) or len(tag) > limits.MAX_TAG_CHARS:
            raise OutliveError(
                "invalid_tag",
                f"not a tag: {tag!r}",
                hint="A tag is letters, digits and hyphens in segments joined by dots, for example project.build; "
                "`.*` belongs to list filters only.",
                details={"field": "tags", "tag": tag},
            )
    unique = list(dict.fromkeys(tags))
    if len(unique) > limits.MAX_TAGS:
        raise OutliveError("invalid_tag", f"{len(unique)} tags; at most {limits.MAX_TAGS} are kept")
    return unique


def check_tag_pattern(pattern: str) -> str:
    """Return the filter of a list if it is a tag or `PREFIX.*`. Errors: invalid_tag."""
    check_tags([pattern.removesuffix(".*")])
    return pattern


def tag_matches(pattern: str, tags: list[str]) -> bool:
    """Return whether a pattern selects one of these tags: `a.b` that tag, `a.*` `a` and all below it."""
    if not pattern.endswith(".*"):
        return pattern in tags
    prefix = pattern[:-2]
    return any(tag == prefix or tag.startswith(prefix + ".") for tag in tags)


def is_port_name(text: str) -> bool:
    """Return whether a port may have this name: a letter, and at most 23 letters, digits, hyphens and underscores."""
    plain = text.replace("-", "0").replace("_", "0")
    return plain.isascii() and plain.isalnum() and text[0].isalpha() and len(text) <= limits.PORT_NAME_CHARS


class Origin(Value):
    """Where a job comes from, which decides who may reach it: scope, owner, directory and session, as in `core/records.py`."""

    scope: str | None
    owner: str
    local_cwd: str
    session: str | None
