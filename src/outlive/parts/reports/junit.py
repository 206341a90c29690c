"""JUnit XML, as pytest, Maven Surefire, Gradle, Jest, Vitest, gotestsum and most other runners write it.

The tests themselves are counted: what runners write into the attributes of a suite differs. The reader keeps the text
of the test it is at, and no tree."""

from __future__ import annotations

from typing import TypeAlias
from xml.sax import SAXException, SAXParseException
from xml.sax.handler import ContentHandler
from xml.sax.xmlreader import AttributesImpl

from defusedxml import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

from outlive.parts.reports.tally import Broken, Tally

Attributes: TypeAlias = "AttributesImpl[str] | dict[str, str]"

_MOST_DEEP = 100
_KEPT_CHARS = 65_536  # of the text of one test
_PIECE_BYTES = 512 * 1024  # that are parsed at once
_FAILED = ("failure", "error")
_NOT_RUN = ("notrun", "disabled", "skipped")  # GoogleTest, CTest


def read(data: bytes) -> Tally:
    """Return what a report says. Errors: Broken."""
    handler = _Handler()
    # No report needs a document type; without one there is no entity to expand, and nothing else to load
    parser = DefusedExpatParser(forbid_dtd=True)
    parser.setContentHandler(handler)
    try:
        _feed(parser, data, handler)
        parser.close()
    except DefusedXmlException:
        raise Broken("it has a document type or entities, which are not read.") from None
    except SAXParseException as error:
        where = f"line {error.getLineNumber()}: " if error.getLineNumber() else ""
        raise Broken(f"{where}{error.getMessage()}.") from None
    except LookupError:
        raise Broken("its encoding is not known.") from None
    except (SAXException, ValueError) as error:
        raise Broken(f"{type(error).__name__} while its XML was read.") from None
    return handler.tally


def _feed(parser: DefusedExpatParser, data: bytes, handler: _Handler) -> None:
    """Have the parser read a report. Errors: Broken for a tag or a comment that goes on through a whole piece: with a
    million attributes one takes seconds."""
    silent = 0
    for start in range(0, len(data), _PIECE_BYTES):
        before = handler.events
        parser.feed(data[start : start + _PIECE_BYTES])
        silent = silent + 1 if handler.events == before else 0
        if silent > 1:
            raise Broken(f"a tag or a comment has more than {_PIECE_BYTES // 1024} KiB.")


class _Handler(ContentHandler):
    def __init__(self) -> None:
        super().__init__()
        self.events = 0
        self.tally = Tally()
        self._depth = 0
        self._suites: list[str] = []
        self._test: _Test | None = None
        self._of_suite: _Test | None = None  # what failed outside of a test
        self._kept: list[str] | None = None  # where text goes, and how many characters still do
        self._room = 0

    def startElement(self, name: str, attrs: AttributesImpl[str]) -> None:  # noqa: N802 - as the base class has it
        self.events += 1
        self.tally.count_entry()
        self._depth += 1
        if self._depth > _MOST_DEEP:
            raise Broken(f"its elements are nested deeper than {_MOST_DEEP}.")
        name = name.rpartition(":")[2]
        if self._depth == 1 and name not in ("testsuites", "testsuite"):
            raise Broken("its XML is no JUnit report.")
        if name == "testsuite":
            self._suites.append(attrs.get("name", ""))
        elif name == "testcase":
            self._test = _Test(attrs)
        elif name in _FAILED:
            if self._test is None:
                self._of_suite = _Test({"name": next((suite for suite in reversed(self._suites) if suite), "")})
            self._kept = (self._test or self._of_suite or _Test({})).fails(attrs)
            self._room = _KEPT_CHARS
        elif name == "skipped" and self._test is not None:
            self._test.skipped = True

    def characters(self, content: str) -> None:
        self.events += 1
        if self._kept is not None and self._room > 0:
            self._kept.append(content)
            self._room -= len(content)

    def endElement(self, name: str) -> None:  # noqa: N802
        self.events += 1
        self._depth -= 1
        name = name.rpartition(":")[2]
        if name == "testsuite":
            self._suites.pop()
        elif name == "testcase" and self._test is not None:
            self._test.count(self.tally)
            self._test = None
        elif name in _FAILED:
            self._kept = None
            if self._of_suite is not None:
                self._of_suite.count(self.tally)
                self._of_suite = None


class _Test:
    def __init__(self, attrs: Attributes) -> None:
        group, name = attrs.get("classname", ""), attrs.get("name", "")
        self.name = f"{group}::{name}" if group and name and not name.startswith(group) else name or group
        line = attrs.get("line", "")
        self.place = f"{attrs.get('file')}:{line}" if attrs.get("file") and line.isdecimal() else ""
        self.skipped = attrs.get("status") in _NOT_RUN
        self.failed = False
        self.message = ""
        self._text: list[str] = []

    def fails(self, attrs: Attributes) -> list[str]:
        """Take note of a failure; return where its text goes. Of several the first is shown."""
        if self.failed:
            return []
        self.failed = True
        self.message = attrs.get("message", "") or attrs.get("type", "")
        return self._text

    def count(self, tally: Tally) -> None:
        if self.failed:
            tally.fail(self.name, "".join(self._text), message=self.message, place=self.place)
        elif self.skipped:
            tally.skipped += 1
        else:
            tally.passed += 1
