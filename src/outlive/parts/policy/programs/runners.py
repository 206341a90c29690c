"""Which commands may run another program, that stands in their arguments, their input or a file.

Three kinds: programs that always do (lists.py), programs of harmless.py with any word that is not known to run
nothing, and all others, which are taken to do what they are called for, unless their words hold what a
rule is about. The list is never complete:
an allowed program can start any other. What may run another is unknown to the rules, so no `allow`
rule for another program decides it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from fnmatch import fnmatchcase

from outlive.core.quoted import cut
from outlive.core.record import Value
from outlive.parts.policy.programs import scripts
from outlive.parts.policy.programs.harmless import use_of
from outlive.parts.policy.programs.lists import MAY_RUN_ANYTHING, MODULES, RUN_NOTHING
from outlive.parts.policy.programs.use import Use

_SHOWN_CHARS = 60
_WITHIN = re.compile(r"[^\w.+-]+")
_QUOTES = r"['\"\\]"
_TARGET = r"(?:[\w.]+-)+(?=(?:gcc|g\+\+|cc|c\+\+|clang|clang\+\+|gfortran|cpp|ld)(?:-[0-9.]+)?$)"  # of a compiler
_VARIANT = r"(?:[-._]?[0-9].*|\.(?:basic|tiny|gtk|nox|athena|openbsd|traditional|static)|-(?:static|nox|sysv|tcp|multiarch|rs))$"
_HARMLESS_VARIABLE = r"(V|VERBOSE|DEBUG|J|JOBS)=[0-9]*|(PREFIX|prefix|DESTDIR)=[\w./:@,+-]*"  # of make
_HARMLESS_DEFINITION = (  # of cmake
    r"CMAKE_(BUILD_TYPE|INSTALL_PREFIX|C_STANDARD|CXX_STANDARD)(:\w+)?=[\w./+-]*|\w+(:BOOL)?=(ON|OFF|YES|NO|TRUE|FALSE|0|1)"
)
# At the beginning of a word: a URL that git or svn reaches by a program, and OpenSSL by a library, which its name names
_TUNNEL = r"(?s:(?:.*[=+])?(?:ext::|org\.openssl\.engine:|svn\+(?!ssh:)[\w.-]{1,64}:))"
_HARMLESS_X = (
    r"(dev|utf8|importtime|faulthandler|tracemalloc|showrefcount|no_debug_ranges|int_max_str_digits|perf|gil|cpu_count"
    r"|frozen_modules|warn_default_encoding|safe_path)(=\w*)?"
)  # of python -X
_DRAWS = r"\||^(?i:msl|mvg):|^batch$|^-script$|^ladspa$"
# An option: no number (`-mtime -7`), no rights (`-perm -u+x`), no text (`-m '- x'`)
_OPTION = r"-(?=[\w-])(?!\d*\s|\d+[cwbkMG]?$|[ugoa]+[-+=][rwxXst]+$)"
_RUN = frozenset({"run", "run-script", "r", "start"})
_READS = frozenset("--get --get-all --get-regexp --get-urlmatch --list -l --get-color --get-colorbool".split())
# Flags of all programs with subcommands: none of them takes the next word
_FLAGS = frozenset(
    "-q -v -h -y -r -g --quiet --silent --verbose --yes --json --offline --frozen --locked --recursive --global".split()
)


class _Names(str):
    """A word that stands for names of files: the shell puts in its place as many words as it finds."""

    __slots__ = ()


class _Words(Value):
    """The words behind a program: its options with their values, its operands, and what an operand ended. `taken`: so many
    of its first operands may be values of the options before them."""

    name: str
    options: list[tuple[str, str]]
    operands: list[str]
    rest: list[str]
    taken: int = 0

    def values(self, *options: str) -> list[str]:
        return [value for option, value in self.options if option in options]


def runs_another(argv: Sequence[str], globs: Collection[int] = ()) -> str | None:
    """Return why it cannot be known from its words what a command runs; None if it can. `globs`: the places of words that
    stand for names of files."""
    name = os.path.basename(argv[0])
    tunnel = None if name in RUN_NOTHING else next((word for word in argv[1:] if re.match(_TUNNEL, word)), None)
    if tunnel is not None:
        return f"`{name}` may run another command with `{cut(tunnel, _SHOWN_CHARS)}`"
    if name in MAY_RUN_ANYTHING or _is_loader(name) or (use_of(name) is None and plain(name) in MAY_RUN_ANYTHING):
        return f"`{name}` runs another command"
    word = _unknown_word(*_known(name, [_Names(one) if at in globs else one for at, one in enumerate(argv[1:], 1)]))
    if word is None:
        return None
    if isinstance(word, _Names):
        return f"`{word}` may stand for words for which `{name}` runs another command: write `./{word}`, or quote it"
    return f"`{name}` may run another command" + (f" with `{cut(word, _SHOWN_CHARS)}`" if word else "")


def named(argv: Sequence[str], prefix: Sequence[Sequence[str]], globs: Collection[int] = ()) -> str | None:
    """Return a word of a command that a rule is about, where the program, which nothing is known of, may run it: the
    words of its arguments, those within a word, with and without its quotes, and the names of files that one may stand
    for, hold each of the rule's prefix. None if they do not. `globs`: as in `runs_another`."""
    name = plain(os.path.basename(argv[0]))
    if not prefix or name in RUN_NOTHING or not _hands_on(name, argv[1:]):
        return None
    text = "\0".join(argv[1:])
    within = {*_WITHIN.split(text), *_WITHIN.split(re.sub(_QUOTES, "", text))}
    patterns = [file for file in (os.path.basename(argv[at]) for at in globs if at) if re.search(r"\w", file)]
    within |= {one for several in prefix for one in several if any(fnmatchcase(one, pattern) for pattern in patterns)}
    return next(iter(sorted(within.intersection(prefix[0]))), None) if all(map(within.intersection, prefix)) else None


def _hands_on(name: str, words: Sequence[str]) -> bool:
    """Return whether nothing is known of what gets a program's words: of itself, or of a script or a program of the project
    that it runs with them."""
    use = use_of(name)
    if use is None or use.check == "script" or name == "java":
        return True
    return any(word in use.first or use_of(f"{name} {word}") is not None for word in _RUN.intersection(words))


def places(argv: Sequence[str], starts: Collection[int] = (1,)) -> list[int]:
    """Return where a subcommand may stand that may stand at `starts`: also behind options, which may have values or none."""
    reached = {*starts}
    for at in range(min(starts), len(argv)):
        if at in reached and argv[at][:1] == "-":
            reached |= {at + 1, at + 2}
    return sorted(at for at in reached if at < len(argv))


def _is_loader(name: str) -> bool:
    """Return whether it is the dynamic loader, or an emulator: each runs the program in its arguments."""
    return (name.startswith("ld") and ".so" in name) or name.startswith(("qemu-", "box64", "box86", "wine", "s6-"))


def plain(name: str) -> str:
    """Return a name without a version, variant or target: python3.11, vim.basic, aarch64-linux-gnu-gcc-12."""
    return re.sub(_VARIANT, "", re.sub(_TARGET, "", name)) if any(char in "-._0123456789" for char in name) else name


def _known(name: str, words: list[str]) -> tuple[str, list[str]]:
    """Return a program's name in harmless.py, and its words as they are read there."""
    if name.startswith("git-"):
        return "git", [name[len("git-") :], *words]
    use = use_of(name)
    if use is None:
        name = plain(name)
    elif use.check == "archive" and words and words[0][:1] != "-":  # letters, whose values follow later
        words = [f"-{letter}" + "." * bool(use.letters.get(letter)) for letter in words[0]] + words[1:]
    return name, words


def _unknown_word(name: str, words: list[str]) -> str | None:
    """Return the word for which a program may run another one, "" if it is none of them; None if it runs nothing."""
    use = use_of(name)
    if use is None or use.anything:
        return None
    read = _read(name, words, use)
    if isinstance(read, str):
        return read
    if read.operands and use.has_subcommands:
        below = f"{name} {read.operands[0]}"
        word = read.operands[0] if use_of(below) is None else _unknown_word(below, read.rest)
        return _CHECKS[use.check](read) if word is None else word
    firsts = read.operands[: 1 + read.taken] if use.first else []
    other = next((one for one in firsts if one not in use.first), None)
    return _CHECKS[use.check](read) if other is None else other


def _read(name: str, words: list[str], use: Use) -> _Words | str:
    """Return the words by what they are, or the first one that is not known to run nothing."""
    options: list[tuple[str, str]] = []
    operands: list[str] = []
    taken, may_take = 0, False  # whether the option before may take the next word
    left = iter(words)
    for word in left:
        if _may_be_option(word):
            return word
        if word == "--" and not use.has_subcommands and not use.wordy:  # `find -- . -exec x` runs x
            options.append((word, ""))
            operands += left
        elif word[:1] != "-" or word == "-":
            taken += may_take and taken == len(operands)
            may_take = False
            operands.append(word)
            if use.stops:
                break
        else:
            given = _options(word, left, use)
            if isinstance(given, str):
                return given
            options += [(one.option, one.value) for one in given]
            if given[-1].kind == ".":
                break
            may_take = given[-1].may_take
    return _Words(name, options, operands, list(left), taken)


class _Option(Value):
    """An option with its value. `kind`: the sign behind it in harmless.py, ":" of one whose value was given."""

    option: str
    value: str
    kind: str

    @property
    def may_take(self) -> bool:
        """Whether it may take the next word, for all that is known of it."""
        is_flag = self.option in _FLAGS or self.option.startswith("--no-")
        return self.kind != ":" and not self.value and not is_flag


def _options(word: str, left: Iterator[str], use: Use) -> list[_Option] | str:
    """Return the options of a word, with what they take of those `left`; or the word that is not known to run nothing. An
    option that stands where a value should is none: were the one before it read wrongly, this one would count."""
    if word[:2] == "--" or use.wordy or use.matches(word):
        option, equals, value = word.partition("=")
        takes_next = use.takes_next(option)
        if takes_next is None:
            return word
        if takes_next and not equals and _is_option(value := next(left, "")):
            return value
        return [_Option(option, value, ":" if takes_next or equals else "")]
    found: list[_Option] = []
    for at, letter in enumerate(word[1:], 2):
        kind = use.letters.get(letter)
        if kind is None:
            return word
        value = word[at:] if kind else ""
        if kind in (":", ".") and not value and _is_option(value := next(left, "")):
            return value
        found.append(_Option(f"-{letter}", value, kind))
        if kind:
            break
    return found


def _may_be_option(word: str) -> bool:
    return isinstance(word, _Names) and word[0] in "*?["


def _is_option(word: str) -> bool:
    return _may_be_option(word) or re.match(_OPTION, word) is not None


# --- what else is looked at: each returns the word for which a program may run another one ------------------------


def _names(words: Sequence[str]) -> str | None:
    return next((one for one in words if isinstance(one, _Names)), None)


def _operands(words: _Words) -> str | None:
    return next((one for one in words.operands if one[:1] in ("!", "|") and len(one) > 1), None)


def _pages(words: _Words) -> str | None:
    return next((one for one in words.operands if one[:1] in ("!", "|", "+", "@", "\\")), None)


def _image(words: _Words) -> str | None:
    """A pipe may stand behind a format, within what is drawn, or in a script: `png:|CMD`, `msl:-`, `gm batch`."""
    given = (*words.operands, *(one for option in words.options for one in option))
    return _pages(words) or next((one for one in given if re.search(_DRAWS, one)), None)


def _input(words: _Words) -> str | None:
    """What is to be built or run is not in a file."""
    given = (*words.values("-f", "--file", "--justfile"), *(one for one in words.operands if one[:1] in "-/."))
    return next((one for one in given if _is_input(one)), None)


def _is_input(path: str) -> bool:
    """Return whether a script is not in a file, but is what the program reads, or in its words."""
    name = os.path.basename(path)
    if path in ("", "-") or ":" in path or name == "stdin" or name.isdigit():
        return True
    return os.path.normpath(path).startswith(("/dev/", "//dev/", "/proc/", "//proc/"))


def _script(words: _Words) -> str | None:
    if "py" in words.name:
        filters = _filters(words)
        if filters is not None:
            return filters
        for value in words.values("-X"):  # `-X presite=MODULE` imports the module
            if not re.fullmatch(_HARMLESS_X, value):
                return value
    for module in words.values("-m"):
        return _unknown_word(*_known(module, words.rest)) if module in MODULES else module
    given = {option for option, _ in words.options}
    if not words.operands:
        shows = {"-V", "--version", "-h", "--help", "--test", *(() if "py" in words.name else ("-v", "-m", "-i", "-S"))}
        return None if given & shows else ""
    script = words.operands[0]
    return script if script[:1] in ("+", "!", "|") or _is_input(script) else None


def _filters(words: _Words) -> str | None:
    """`-W error::MODULE.CLASS` imports the module, `pytest -p MODULE` too."""
    warned = (value for value in words.values("-W") if "." in "".join(value.split(":")[2:3]))
    return next(warned, None) or next((value for value in words.values("-p") if value[:3] != "no:"), None)


def _pytest(words: _Words) -> str | None:
    """`@FILE` holds options."""
    return _dashes(words) or _filters(words) or next((one for one in words.operands if one[:1] == "@"), None)


def _tests(words: _Words) -> str | None:
    """What is no test is called all the same: `unittest code.interact`."""
    return next((one for one in words.operands if one != "discover" and not scripts.is_test(one)), None)


def _app(words: _Words) -> str | None:
    """The name of an application may be a call of any function: `gunicorn 'os:system("CMD")'`. The others call what it names."""
    apps = words.values("-A", "--app")
    workers = (
        one for one in words.values("-k", "--worker-class") if not re.fullmatch(r"(uvicorn\.workers\.)?\w+", one)
    )
    name = r"\w*(app|create|make)\w*" if words.name != "gunicorn" else r"[\w.]+"
    other = next((one for one in (*words.operands, *apps) if not re.fullmatch(rf"[\w./]+(:{name})?", one)), None)
    return next(workers, None) if other is None else other


def _remote(words: _Words) -> str | None:
    """`ext::CMD` runs a command, and `NAME::…` the program git-remote-NAME."""
    return next((one for one in (*words.operands, *words.values("--repo", "--remote")) if "::" in one), None)


def _config(words: _Words) -> str | None:
    if any(option in _READS for option, _ in words.options):
        return None
    if len(words.operands) < 2 or _names(words.operands):
        return _names(words.operands)
    key = words.operands[0]
    return None if key in ("list", "get") or scripts.is_harmless_setting(key) else key


def _sed(words: _Words) -> str | None:
    given = words.values("-e", "--expression") or words.operands[:1]
    return _names(given) or next((one for one in given if not scripts.is_harmless_sed(one)), None)


def _awk(words: _Words) -> str | None:
    given = words.operands[:1]
    return _names(given) or next((one for one in given if not scripts.is_harmless_awk(one)), None)


def _sql(words: _Words) -> str | None:
    if len(words.operands) < 2:  # it reads commands
        return None if words.options and words.options[-1][0].lstrip("-") in ("version", "help") else ""
    return _names(words.operands) or next((one for one in words.operands[1:] if not scripts.is_harmless_sql(one)), None)


def _archive(words: _Words) -> str | None:
    """`HOST:FILE` is reached by a program."""
    return next((one for one in (*words.operands, *words.values("-f", "--file")) if ":" in one or one[:1] == "|"), None)


def _make(words: _Words) -> str | None:
    for word in (*words.operands, *(value for _, value in words.options)):
        if isinstance(word, _Names) or "$" in word or ("=" in word and not re.fullmatch(_HARMLESS_VARIABLE, word)):
            return word
    return next((one for one in words.values("-f", "--file", "--makefile") if _is_input(one)), None)


def _just(words: _Words) -> str | None:
    """What a recipe takes becomes a part of the lines that a shell reads."""
    return _make(words) or next((one for one in words.operands if not re.fullmatch(r"[\w./:@%+,-]*", one)), None)


def _cmake(words: _Words) -> str | None:
    other = next((one for one in words.values("-D") if not re.fullmatch(_HARMLESS_DEFINITION, one)), None)
    return _dashes(words) or other


def _package(words: _Words) -> str | None:
    """A package of another module than the one here."""
    first = next(iter(words.operands), ".")
    return None if first[:1] in (".", "/") or first.endswith(".go") else first


def _scripts(words: _Words) -> str | None:
    """The script `env`, which a project has without defining it, runs what follows."""
    script = words.operands[1] if words.operands[1:] and words.operands[0] in _RUN else ""
    return script if script == "env" or isinstance(script, _Names) else None


def _goals(words: _Words) -> str | None:
    return next((one for one in words.operands if ":" in one or one[:1] == "@"), None) or _input(words)


def _dashes(words: _Words) -> str | None:
    return "--" if words.values("--") else None  # what follows is for git or make, or holds options all the same


_CHECKS: dict[str, Callable[[_Words], str | None]] = {
    "": _operands, "pages": _pages, "compiler": _pages, "script": _script, "remote": _remote, "config": _config, "sed": _sed,
    "awk": _awk, "sql": _sql, "archive": _archive, "make": _make, "just": _just, "cmake": _cmake, "goals": _goals, "dashes": _dashes,
    "package": _package, "scripts": _scripts, "image": _image, "input": _input, "pytest": _pytest, "tests": _tests, "app": _app,
    "java": lambda words: _pages(words) or next(filter(scripts.is_of_jdk, [] if words.values("-jar") else words.operands[:1]), None),
}  # fmt: skip
