"""JSON without the import of `json`, for what runs for as long as a job, and on the way of each call.

`json` loads `re`, which loads `enum`, `functools` and `collections`. A supervisor that keeps them is 1.1 MB larger, an
eighth of what a job may take, and a call of the command line, which has `re` from `typing`, takes 1.1 ms longer (both
measured), a tenth of what a bare Python takes. So this module calls the C code of `_json`, which loads
nothing. Where `_json` is missing or has changed, it falls back on `json`.
"""

from __future__ import annotations

from outlive.annotations import Any, Callable

_BLANKS = " \t\n\r"
_scan: Callable[[str, int], tuple[Any, int]] | None = None


class _Decoding:
    """The settings that json.JSONDecoder gives to its scanner."""

    strict = True
    object_hook = object_pairs_hook = None
    # float() knows NaN, Infinity and -Infinity by name
    parse_float, parse_int, parse_constant = float, int, float


try:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner

    _scan = make_scanner(_Decoding)  # type: ignore[arg-type]
except (ImportError, AttributeError, TypeError):
    pass


def loads(text: str | bytes) -> Any:
    """Return what json.loads returns, which also reads what is not plain UTF-8 or JSON. Errors: ValueError."""
    try:
        whole = (text if isinstance(text, str) else text.decode()).strip(_BLANKS)
        assert _scan is not None
        content, end = _scan(whole, 0)
        if end == len(whole):
            return content
    except Exception:  # noqa: BLE001 - json reads it after all, or says what is wrong with it
        pass
    try:
        return _library().loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def dumps(
    content: Any,
    *,
    ensure_ascii: bool = True,
    allow_nan: bool = True,
    separators: tuple[str, str] = (", ", ": "),
) -> str:
    """Return what json.dumps returns. Errors: ValueError, TypeError."""
    try:
        encode = encode_basestring_ascii if ensure_ascii else encode_basestring
        between, behind_key = separators
        encoder = make_encoder({}, _refuse, encode, None, behind_key, between, False, False, allow_nan)
        return "".join(encoder(content, 0))
    except Exception:  # noqa: BLE001 - json says what is wrong with it
        return str(_library().dumps(content, ensure_ascii=ensure_ascii, allow_nan=allow_nan, separators=separators))


def _refuse(content: object) -> Any:
    raise TypeError(f"{type(content).__name__} is not JSON")


def _library() -> Any:
    """Return the module `json`. Errors: ValueError if it is gone: a supervisor may outlive its Python."""
    try:
        import json  # late: see above
    except ImportError as error:
        raise ValueError("not plain JSON") from error
    return json
