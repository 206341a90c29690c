"""Check what a client sent against the declaration of the verb; nothing unchecked reaches an action. Names may be in
snake_case, in camelCase or with hyphens; null counts as absent. Errors: invalid_argument, in words of ours, which name
the argument as the caller wrote it."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from outlive.core.nearest import letters_of
from outlive.errors import OutliveError, invalid
from outlive.mcp.tools import values
from outlive.mcp.tools.offer import accepted, default_of
from outlive.verbs import spelling
from outlive.verbs.spec import MS, SECONDS, Verb, check_texts, is_stood_for
from outlive.verbs.spelling import MCP, spelled


class Reader:
    """Reads the arguments of one verb, which messages call `shown`: `exec`, `process log`. `defaults` by name over MCP,
    in the units of the action, replace the declared ones. `elsewhere` maps the letters of a name to the calls that take
    it."""

    def __init__(
        self,
        verb: Verb,
        shown: str,
        *,
        defaults: Mapping[str, object] | None = None,
        elsewhere: Mapping[str, list[str]] | None = None,
    ) -> None:
        self.verb = verb
        self.shown = shown
        self._defaults = defaults or {}
        self._elsewhere = elsewhere or {}
        self._args = {arg.mcp: arg for arg in accepted(verb)}
        self._names = {letters_of(name): arg for arg in self._args.values() for name in (*arg.aliases, arg.mcp)}
        self._fallbacks: dict[str, object] = {}
        for arg in (*self._args.values(), *self.verb.args):  # two may share a parameter: the one over MCP counts
            self._fallbacks.setdefault(arg.name, self._defaults.get(arg.mcp, default_of(arg)))
        self._mutable = [name for name, value in self._fallbacks.items() if isinstance(value, (list, dict))]

    def read(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return every argument of the action by its parameter, with defaults. Errors: invalid_argument."""
        given_values = self.given(given)
        there = [arg for arg in self._args.values() if arg.name in given_values]
        missing = [
            arg for arg in self._args.values() if arg.required and arg not in there and not is_stood_for(arg, there)
        ]
        if missing:
            raise spelled(self._missing(missing[0].mcp), MCP, self._args.values(), self.written(given))
        return {**self._fallbacks, **{name: copy.copy(self._fallbacks[name]) for name in self._mutable}, **given_values}

    def given(self, given: Mapping[str, object]) -> dict[str, object]:
        """Return the arguments that were sent, by the parameter. Errors: invalid_argument."""
        sent = self._named(given)
        try:
            # Before pydantic, which has words of its own for half a character; and after it what it
            # made: an array or object may have been sent as the text of one
            self._check_texts(sent)
            checked = {name: values.checked(arg, sent[name]) for name, arg in self._args.items() if name in sent}
            self._check_texts({name: value for name, value in checked.items() if value is not sent[name]})
        except OutliveError as error:
            raise spelled(error, MCP, self._args.values(), self.written(given)) from None
        return {self._args[name].name: value for name, value in checked.items()}

    def _check_texts(self, by_name: Mapping[str, object]) -> None:
        args = [self._args[name] for name in by_name]
        check_texts(args, {arg.name: by_name[arg.mcp] for arg in args}, escaped=False)

    def written(self, given: Mapping[str, object]) -> dict[str, str]:
        """Return how the caller spelled the arguments that it sent, by parameter."""
        return {self._names[letters_of(name)].name: name for name in given if letters_of(name) in self._names}

    def _named(self, given: Mapping[str, object]) -> dict[str, object]:
        unknown = [name for name, value in given.items() if value is not None and letters_of(name) not in self._names]
        if unknown:
            raise self._unknown(unknown)
        sent: dict[str, object] = {}
        spelled: dict[str, str] = {}
        for name, value in given.items():
            if value is None:
                continue
            arg = self._names[letters_of(name)]
            if arg.mcp in sent and sent[arg.mcp] != value:
                both = f"{spelled[arg.mcp]} and {name}"
                hint = "Send one: each names the job, which keeps its title." if arg.name == "job" else "Send one."
                raise invalid(name, f"{both} mean the same argument and have different values", hint=hint)
            sent[arg.mcp], spelled[arg.mcp] = value, name
        return sent

    def _missing(self, name: str) -> OutliveError:
        hint = "`process` action=list shows the jobs." if name == "job_id" else values.example(self._args[name])
        hint = " ".join(filter(None, (hint, self._args[name].missing)))
        return invalid(name, f"{self.shown} needs {name}", hint=hint)

    def _unknown(self, names: list[str]) -> OutliveError:
        if len(names) == 1:
            return invalid(names[0], f"{names[0]} is not an argument of {self.shown}", hint=self._advice(names[0]))
        told = names[:_MOST_UNKNOWN]
        listed = ", ".join(told) + (f" and {len(names) - len(told)} more" if len(names) > len(told) else "")
        advice: dict[str, list[str]] = {}
        for name in told:
            advice.setdefault(self._advice(name), []).append(name)
        hint = " ".join(f"{', '.join(alike)}: {_of_several(said, len(alike))}" for said, alike in advice.items())
        return invalid(names[0], f"{listed} are not arguments of {self.shown}", hint=hint)

    def _advice(self, name: str) -> str:
        names = [arg.mcp for arg in self._args.values() if arg.hidden is not True]
        near = spelling.argument(name, names, spelling=False)
        owners = self._elsewhere.get(letters_of(name), [])
        if near is None and owners:  # a correct name, sent to the wrong action
            return f"It belongs to {', '.join(owners)}."
        near = near or spelling.argument(name, names)
        if near is None:
            return f"Leave it out; the schema of the tool lists what {self.shown} takes."
        kind = self._args[near].kind
        return f"Did you mean {near} ({kind})?" if kind in (MS, SECONDS) else f"Did you mean {near}?"


def _of_several(said: str, count: int) -> str:
    return said if count == 1 else said.replace("Leave it out", "Leave them out").replace("It belongs", "They belong")


_MOST_UNKNOWN = 10  # named in an error
