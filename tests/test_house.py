"""The house rules that a program can check: who may import whom, how long a module may be, what a call may load."""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

import pytest

import outlive
from outlive import parts
from outlive import verbs as verbs_module
from support.cli import Cli, Text, one_object
from support.pages import CHECKOUT
from support.preloaded import OUTLIVE
from support.tiers import first

SOURCE = Path(outlive.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))
SCRIPTS = sorted((SOURCE / "parts" / "page" / "static").rglob("*.js"))
NAMES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path for path in MODULES
}
MAX_LINES = 450
MAX_SCRIPT_LINES = 500
MAX_FILES = 16  # of a folder; the verbs and the facts of the kernel are lists, each entry a file
MAX_BLOCKS = (
    8  # `if TYPE_CHECKING:`, for what a server would keep before its first call, a supervisor for life, or TAB load
)
MAX_LATE = 24  # imports inside functions, each with its reason behind it; this number only goes down
LISTS = {"verbs", "system"}
# From the ground up. A room imports from itself and from what stands before it; rooms of one line not from each other.
FLOORS = (
    ("",),  # outlive/__init__.py
    ("limits",), ("errors",), ("core",), ("answers",), ("system",),
    ("config",), ("store",), ("render",), ("supervisor",),
    ("launch",), ("jobs",), ("part",), ("verbs",), ("cli", "mcp"), ("parts",), ("__main__",),
)  # fmt: skip
FLOOR = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
# Guardian and supervisor are long-lived and many, and start within milliseconds: the ground floor only.
LEAN_ROOMS = {
    "supervisor": {"limits", "errors", "core", "system", "store"},
    "system": {"limits", "errors", "core"},
}
STDLIB_ONLY = (
    "limits", "errors", "core", "answers", "config", "system", "store", "supervisor", "launch",
)  # fmt: skip
# Never at the top of a module: RE2 is for a job that has a pattern to watch.
LATE_ONLY = {"re2"}
HEAVY = {
    "asyncio", "argparse", "pydantic", "anyio", "mcp", "ulid", "re2", "inspect", "pyte", "urwid",
}  # fmt: skip


class Import(NamedTuple):
    where: str  # "store/root.py:12"
    room: str
    target: str  # "outlive.job", "os"
    late: bool  # inside a function

    def of_ours(self) -> str | None:
        """The room it leads to; None if it leads out of the house."""
        if self.target.split(".")[0] != "outlive":
            return None
        return (self.target.split(".") + [""])[1]

    def __str__(self) -> str:
        return f"{self.where} imports {self.target}"


def room_of(path: Path) -> str:
    first = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    return "" if first == "__init__" else first


@functools.cache
def imports() -> tuple[Import, ...]:
    return tuple(_imports())


def _imports() -> Iterator[Import]:
    for path in MODULES:
        yield from _below(_tree(path), path, late=False)


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_bytes(), str(path))


def _below(node: ast.AST, path: Path, *, late: bool) -> Iterator[Import]:
    """The imports at this node and below it. Only statements contain statements."""
    for target in _targets(node, path):
        where = f"{path.relative_to(SOURCE)}:{getattr(node, 'lineno', 0)}"
        yield Import(where, room_of(path), target, late)
    late = late or isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    for below in ast.iter_child_nodes(node):
        if isinstance(below, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield from _below(below, path, late=late)


def _targets(node: ast.AST, path: Path) -> list[str]:
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    assert not node.level, f"{path}:{node.lineno}: relative import; rooms are named in full"
    if node.module == "outlive":  # `from outlive import limits` leads to a room, `import __version__` to none
        return [f"outlive.{name.name}" if name.name in FLOOR else "outlive" for name in node.names]
    wholes = [f"{node.module}.{name.name}" for name in node.names]  # `from outlive.verbs import kill` leads to a module
    return [whole if whole in NAMES else str(node.module) for whole in wholes]


def test_every_module_has_its_place_in_the_house() -> None:
    assert {room_of(path) for path in MODULES} <= FLOOR.keys()


def test_the_page_on_architecture_shows_the_floors() -> None:
    page = (CHECKOUT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("\n|room |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("|`")]
    assert [tuple(re.findall(r"`(\w+)`", row)) for row in rows] == list(FLOORS[1:-1])


def test_the_page_on_architecture_shows_the_parts() -> None:
    page = (CHECKOUT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("\n|part |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1].strip(" `") for line in table.splitlines() if line.startswith("|`")]
    assert rows == [part.name for part in parts.every()]


DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def test_each_function_that_the_pages_on_architecture_name_is_there() -> None:
    pages = [CHECKOUT / "docs" / "explanation" / name for name in ("architecture.md", "steps.md")]
    named = {place for page in pages for place in re.findall(r"`([\w/]+\.py):([\w.]+)`", page.read_text("utf-8"))}
    assert len(named) > 50
    assert [place for place in sorted(named) if not _is_there(*place)] == []


def _is_there(path: str, function: str) -> bool:
    body = ast.parse((SOURCE / path).read_text(encoding="utf-8")).body
    for name in function.split("."):
        named = [node for node in body if isinstance(node, DEFINITIONS) and node.name == name]
        body = named[0].body if named else []
    return bool(body)


def test_each_module_that_a_comment_names_is_there() -> None:
    assert [f"{path.relative_to(SOURCE)} names {name}" for path in MODULES for name in _named_and_missing(path)] == []


def _named_and_missing(path: Path) -> list[str]:
    """A name with a folder is one below the source, a folder above the module, or the checkout."""
    text = path.read_text(encoding="utf-8")
    folders = [CHECKOUT, *(folder for folder in path.parents if folder.is_relative_to(SOURCE))]
    placed = re.findall(r"(?<![\w./])((?:\w+/)+\w+\.py)\b", text)
    alone = re.findall(r"\((\w+\.py)\)", text)
    known = {module.name for module in MODULES}
    missing = [name for name in placed if not any((folder / name).exists() for folder in folders)]
    return [*missing, *(name for name in alone if name not in known)]


THE_LIST = "outlive.parts"
NEEDS = {part.name: part.needs for part in parts.every()}


def part_in(target: str) -> str | None:
    """Return the part that a module belongs to; None for what all parts may use."""
    words = target.split(".")
    return words[2] if len(words) > 2 and words[2] in NEEDS else None


def part_of(one: Import) -> str:
    return one.where.split("/")[1] if one.room == "parts" else ""


VERB_PARTS = ("__init__", "spec", "envelope", "shared_args", "spelling")  # what verbs share
VERBS = {f"outlive.verbs.{path.stem}" for path in (SOURCE / "verbs").glob("*.py") if path.stem not in VERB_PARTS}
FORBIDDEN: dict[str, Callable[[Import, str | None], bool]] = {
    "imports only point down": lambda one, room: (
        room is not None
        and room != one.room
        and FLOOR[room] >= FLOOR[one.room]
        and one.target not in {"outlive.part", THE_LIST}
        and one.room != "part"  # names what it adds to, for the types alone
    ),
    "the heart imports no part, but the one list of them": lambda one, room: (
        room == "parts" and one.room != "parts" and one.target != THE_LIST
    ),
    "a part imports the heart, and the parts that it needs": lambda one, room: (
        room == "parts" and part_in(one.target) not in {None, part_of(one), *NEEDS.get(part_of(one), ())}
    ),
    "what starts fast imports from the ground floor only": lambda one, room: (
        one.room in LEAN_ROOMS and room not in {None, "", one.room, *LEAN_ROOMS[one.room]} and one.target != THE_LIST
    ),
    "the lower rooms need nothing but the standard library": lambda one, room: (
        one.room in STDLIB_ONLY
        and room is None
        and (top := one.target.split(".")[0]) not in sys.stdlib_module_names
        and not (one.late and top in LATE_ONLY)
    ),
    # What two verbs share is in jobs/ or in one of the modules that declare no verb
    "no verb imports a verb": lambda one, room: one.room == "verbs" and one.target in VERBS,
    "jobs and verbs know nothing of the faces": lambda one, room: (
        one.room in ("jobs", "verbs") and room in ("cli", "mcp")
    ),
}


@pytest.mark.parametrize("rule", FORBIDDEN)
def test_no_import_breaks_a_rule(rule: str) -> None:
    assert not [str(one) for one in imports() if FORBIDDEN[rule](one, one.of_ours())]


# What looks at a whole root for no caller: in a supervisor whose job is over, and for doctor
OF_THE_WHOLE_ROOT = {f"parts/cleanup/{name}.py" for name in ("automatic", "check", "leftovers")}


def test_jobs_are_looked_up_and_enumerated_in_one_place_which_keeps_the_wall() -> None:
    around = re.compile(r"JobDir\.open\(|store\.(find|ids|live_ids)\(|JobDir\(")
    broken = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in MODULES
        if room_of(path) in ("jobs", "verbs", "cli", "mcp", "parts")
        and path != SOURCE / "jobs" / "lookup.py"
        and path.parent.name != "doctor"  # doctor looks at the root itself
        and path.relative_to(SOURCE).as_posix() not in OF_THE_WHOLE_ROOT
        and "parts/hosts/" not in path.as_posix()  # other processes, for one job each
        for line in path.read_text(encoding="utf-8").splitlines()
        if around.search(line)
    ]
    assert not broken


def test_a_module_is_short_enough_to_be_read() -> None:
    for paths, most in ((MODULES, MAX_LINES), (SCRIPTS, MAX_SCRIPT_LINES)):
        lines = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in paths}
        assert not {path: count for path, count in lines.items() if count > most}


def test_a_folder_holds_few_enough_files_to_be_seen_at_a_glance() -> None:
    counts = Counter(path.parent for path in MODULES if path.name != "__init__.py")
    assert not {folder for folder, count in counts.items() if count > MAX_FILES and folder.name not in LISTS}


def _is_own_part(one: Import) -> bool:
    """Return whether a package imports one of its own modules inside a function."""
    folder, _, name = one.where.rpartition(":")[0].rpartition("/")
    return one.late and name == "__init__.py" and one.target.startswith(f"outlive.{folder.replace('/', '.')}.")


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Imports inside functions and for types count too: neither of two such modules can be understood,
    tested or moved without the other. Only a package may load its own parts late, which need the package."""
    graph: dict[str, set[str]] = {}
    files = {str(path.relative_to(SOURCE)): name for name, path in NAMES.items()}
    for one in imports():
        if one.target in NAMES and one.target != "outlive" and not _is_own_part(one):
            graph.setdefault(files[one.where.rpartition(":")[0]], set()).add(one.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"a circle: {' → '.join(error.args[1])}")


def docstrings() -> Iterator[tuple[str, str]]:
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
                text = ast.get_docstring(node)
                if text:
                    yield f"{path.relative_to(SOURCE)}: {getattr(node, 'name', 'the module')}", text


def test_a_docstring_begins_with_a_statement() -> None:
    """A question, or "The same …", means nothing where a tooltip shows the docstring alone."""
    broken = [
        f"{where}: {text.splitlines()[0]}"
        for where, text in docstrings()
        if re.match(r"[^.:]*\?(\s|$)|The same\b", text)
    ]
    assert not broken


def loaded(*words: str) -> tuple[set[str], Text]:
    """What a fresh interpreter imports for these words, and what it answered. It tells of each import as it happens,
    so a process that ends itself at once hides nothing."""
    done = subprocess.run(
        [sys.executable, "-v", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    names = set(re.findall(r"^import '?([\w.]+)'? #", done.stderr.decode(errors="replace"), re.MULTILINE))
    return names, Text(done.returncode, done.stdout.decode(), done.stderr.decode())


@functools.cache
def at_start() -> set[str]:
    """Return what an interpreter loads by itself: .pth files of the environment are none of our doing."""
    return loaded("-c", "pass")[0]


def under(*names: str) -> Callable[[str], bool]:
    """Return whether a module is one of these or below one of them."""
    return lambda name: any(name == one or name.startswith(f"{one}.") for one in names)


@pytest.mark.parametrize(
    "verb", first(2, ["status", "run", "poll", "tail", "log", "wait", "kill", "list", "tag", "remove"])
)
def test_a_call_of_the_command_line_loads_nothing_heavy(verb: str, cli: Cli) -> None:
    job = cli.ok("run", "--wait", "--", "true")["job_id"]
    words = {"run": ("run", "true"), "list": ("list",), "tag": ("tag", "set", job, "--tag", "a")}.get(verb, (verb, job))
    names, answer = loaded(*OUTLIVE[1:], *words)
    assert one_object(answer)["ok"], answer
    assert "outlive.cli.main" in names
    assert not set(filter(under(*HEAVY, "outlive.mcp"), names - at_start()))


def importing(*modules: Path) -> str:
    """Return a program that imports these modules."""
    dotted = (".".join(path.relative_to(SOURCE.parent).with_suffix("").parts) for path in modules)
    return "import " + ", ".join(name.removesuffix(".__init__") for name in dotted)


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before Python 3.11.5, which Debian 12 is, such a repeat goes on from where its last, failed round had come to
    (python/cpython#106052). An atomic group does the same, and works."""
    found = [
        f"{path}: {line}"
        for path in MODULES
        for line in path.read_text("utf-8").splitlines()
        if re.search(r"\)(?:[*+?]|\{+[\w,{}]*\}+)\+", line)
    ]
    assert found == []


# Of a program: what it loads, and what it does not
LOADS: dict[str, tuple[list[str], str, Callable[[str], bool]]] = {
    "a supervisor": (
        [
            "-c",
            importing(
                *(
                    path
                    for path in MODULES
                    if room_of(path) == "supervisor" or "in_supervisor" in {*path.parts, path.stem}
                )
            ),
        ],
        "outlive.parts.limits.in_supervisor",
        under(
            *HEAVY,
            *(
                f"outlive.{room}"
                for room in FLOOR.keys() - {"", "part", "parts", "supervisor", *LEAN_ROOMS["supervisor"]}
            ),
        ),
    ),
    # What few jobs need is large_code.py's; `threading` runs code after each fork
    "guardian and supervisor before a job": (
        ["-c", "import outlive.launch.from_cli, outlive.supervisor.guardian"],
        "outlive.supervisor.guardian",
        under("threading", "traceback", "outlive.part", "outlive.parts.sandbox", "outlive.parts.limits"),
    ),
    "a verb": (
        [*OUTLIVE[1:], "list"],
        "outlive.verbs.list",
        under("outlive.verbs.run", "outlive.parts.cleanup.gc"),
    ),
    # Loading the SDK takes a second or more, and whoever starts a server connects at once
    "a server before it listens": (
        ["-c", "import outlive.parts.http.serve, outlive.parts.page.program, outlive.mcp.job_environment"],
        "outlive.parts.http.serve",
        under("mcp", "anyio", "pydantic", "starlette", "uvicorn"),
    ),
    "completion of a verb": (
        [*OUTLIVE[1:], "completion", "bash", "--", ""],
        "outlive.parts.completion.candidates",
        under(*HEAVY, "outlive.jobs.lookup"),  # names of jobs are for a place that takes one
    ),
    # The view in a chat is for a client that shows it
    "a server": (
        ["-c", "import outlive.mcp.stdio.serving, outlive.parts.http.serve, outlive.parts.http.app"],
        "outlive.mcp.server",
        lambda name: name.startswith("outlive.parts.page."),  # besides its declaration
    ),
}


@pytest.mark.parametrize("what", LOADS)
def test_what_is_not_needed_is_not_loaded(what: str) -> None:
    words, needed, unwanted = LOADS[what]
    names, answer = loaded(*words)
    assert answer.status == 0, answer
    assert needed in names
    assert not set(filter(unwanted, names - at_start()))


def test_type_checkers_are_told_apart_in_few_places() -> None:
    """An import for types alone is one more kind of import to know: few are needed."""
    blocks = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    assert len(blocks) <= MAX_BLOCKS, blocks


def test_there_is_one_kind_of_record() -> None:
    """A NamedTuple takes ten times as long to declare, a dataclass a hundred times (docs/explanation/dependencies.md)."""
    others = [
        f"{path.relative_to(SOURCE)}: {name}"
        for path in MODULES
        for name in ("NamedTuple", "namedtuple", "dataclasses")
        if re.search(rf"^(from|import)\b.*\b{name}\b", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    assert not others


def test_an_import_inside_a_function_is_rare_and_says_why() -> None:
    """It is for what a caller would wait for or a server would keep, and few calls need."""
    late = [
        (f"{path.relative_to(SOURCE)}:{node.lineno}", line)
        for path in MODULES
        for lines in (path.read_text(encoding="utf-8").splitlines(),)
        for function in ast.walk(_tree(path))
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for line in ("".join(lines[node.lineno - 1 : node.end_lineno]),)
    ]
    assert not [where for where, line in late if "#" not in line]
    assert len(dict(late)) <= MAX_LATE, len(dict(late))


def test_the_list_of_tools_loads_no_function_of_a_verb() -> None:
    """A server keeps what it has loaded for as long as it waits for its first call."""
    listing = "from outlive.mcp.tools import offer; import outlive.mcp.stdio.main; print(*offer.process_verbs())"
    names, answer = loaded("-c", listing)
    assert {"outlive.verbs.declarations.listing", "outlive.verbs.declarations.reading"} <= names, answer
    assert not VERBS & names
    assert not {name for name in names if name.startswith("outlive.jobs.starting")}


def test_each_verb_is_declared_with_a_function_that_takes_its_arguments() -> None:
    for verb in map(verbs_module.load, verbs_module.names()):
        taken = {} if not verb.function else inspect.signature(verb.run).parameters
        if taken and not any(one.kind is one.VAR_KEYWORD for one in taken.values()):
            assert {arg.name for arg in verb.args} - {"detail", "follow"} <= taken.keys(), verb.name


@pytest.mark.parametrize("verb", ["list", "run", "serve", "mcp", "ui"])
def test_a_call_loads_the_page_only_if_it_serves_it(verb: str, cli: Cli) -> None:
    words = {"run": ("run", "true"), "serve": ("serve", "--help"), "mcp": ("mcp", "--help"), "ui": ("ui", "--help")}
    names, answer = loaded(*OUTLIVE[1:], *words.get(verb, (verb,)))
    assert answer.status == 0, answer
    code = {f"outlive.parts.page.{path.stem}" for path in (SOURCE / "parts" / "page").glob("*.py")}
    code -= {"outlive.parts.page.verbs", "outlive.parts.page.__init__"}
    assert len(code) > 9
    assert not set(filter(under(*code, "starlette", "uvicorn"), names))


def test_the_page_is_small_and_nothing_in_it_was_changed_after_its_release() -> None:
    static = SOURCE / "parts" / "page" / "static"
    files = [path for path in static.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= 700_000
    assert sum(path.stat().st_size for path in static.glob("*.js")) <= 123_000, "written by us"
    vendored = {path.name for path in (static / "vendor").iterdir()} - {"vendor.json"}
    pinned: dict[str, str] = {}
    for package in json.loads((static / "vendor" / "vendor.json").read_text(encoding="utf-8")):
        pinned |= {name: about["sha256"] for name, about in package["files"].items()}
    assert vendored == pinned.keys()
    for name, digest in pinned.items():
        assert hashlib.sha256((static / "vendor" / name).read_bytes()).hexdigest() == digest, name


def test_no_text_becomes_markup_in_the_page() -> None:
    """The browser refuses it too (trusted types), and where it does not know these, this holds."""
    sinks = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|srcdoc|DOMParser")
    ours = [
        *(SOURCE / "parts" / "page" / "static").glob("*.js"),
        *(SOURCE / "parts" / "page" / "static" / "chat").glob("*.js"),
    ]
    assert ours and not [path.name for path in ours if sinks.search(path.read_text(encoding="utf-8"))]


def _looks_into_words(node: ast.AST) -> bool:
    """Return whether this searches in the hint of an answer or in the text of an advice, or takes it apart."""
    if isinstance(node, ast.Compare) and type(node.ops[0]).__name__.endswith("In"):
        searched = node.comparators[0]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SEARCHES:
        searched = node.func.value
    else:
        return False
    return bool(re.search(r"(?<!error\.)\bhint\b|\bone\['text'\]", ast.unparse(searched)))


_SEARCHES = {"startswith", "endswith", "partition", "rpartition", "split", "replace", "removeprefix", "find", "index"}


@pytest.mark.parametrize(
    ("code", "looks"),
    [
        ("'Silent for ' in text_of(answer, 'hint')", True),
        ("str(answer.get('hint') or '').partition('It still runs.')", True),
        ("hint.replace('; kill ends it,', ',')", True),
        ("one['text'].startswith('1 process')", True),
        ("'hint' in answer", False),
        ("'silent_ms' in advice.of_kind(answer, advice.SILENCE)", False),
    ],
)
def test_what_looks_into_a_sentence_is_seen(code: str, looks: bool) -> None:
    assert any(map(_looks_into_words, ast.walk(ast.parse(code)))) is looks


def test_no_face_looks_into_a_sentence() -> None:
    """An advice has a kind and facts (answers/advice.py): a sentence that is reworded changes no behaviour."""
    rooms = ("answers", "verbs", "cli", "mcp", "parts")
    assert not [
        f"{path.relative_to(SOURCE)}:{node.lineno}: {ast.unparse(node)}"
        for path in MODULES
        if path.relative_to(SOURCE).parts[0] in rooms
        for node in ast.walk(_tree(path))
        if _looks_into_words(node) and isinstance(node, ast.expr)
    ]


# Where a name is looked up for what is not run by outlive itself: the wrapper of a job, what a client
# would find, the shell of a job on another machine
LOOKED_UP = {"parts/clients/discover.py", "parts/hosts/far/starting.py"}
STARTERS = {
    *(f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output", "getoutput")),
    *(
        f"os.{name}"
        for name in ("posix_spawn", "posix_spawnp", "execv", "execvp", "execve", "execvpe", "system", "popen")
    ),
    "spawn.spawn",
}


def test_one_function_follows_links_to_their_end() -> None:
    """core/real_path.py: os.path.realpath(3) and Path.resolve call themselves for each link, of which a job may make any number."""
    found = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        for node in ast.walk(_tree(path))
        if (isinstance(node, ast.Attribute) and node.attr in ("realpath", "resolve"))
        or (isinstance(node, ast.ImportFrom) and any(name.name == "realpath" for name in node.names))
    }
    assert not found


def test_one_function_looks_up_the_programs_that_outlive_runs() -> None:
    """system/own_programs.py: none of them lies where a job in a sandbox writes."""
    found = {
        str(path.relative_to(SOURCE))
        for path in MODULES
        for node in ast.walk(_tree(path))
        if (isinstance(node, ast.Attribute) and node.attr in ("which", "posix_spawnp", "execvp", "execvpe"))
        or (isinstance(node, ast.ImportFrom) and any(name.name == "which" for name in node.names))
    }
    assert found == LOOKED_UP
    assert not [
        path for path in MODULES if "import webbrowser" in re.sub(r'"import sys, webbrowser.*', "", path.read_text())
    ]


def test_no_program_is_started_by_a_bare_name() -> None:
    """Only what stands in the call itself can be judged here: a list of words, or a string."""
    bare = []
    for path in MODULES:
        for node in ast.walk(_tree(path)):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in STARTERS and node.args:
                first_ = node.args[0]
                words = first_.elts[:1] if isinstance(first_, (ast.List, ast.Tuple)) else [first_]
                bare += [
                    f"{path.relative_to(SOURCE)}:{node.lineno}: {word.value}"
                    for word in words
                    if isinstance(word, ast.Constant) and isinstance(word.value, str) and not word.value.startswith("/")
                ]
    assert not bare


# How what begins a process of ours, or acts as a caller, is told where jobs in sandboxes work; "": it runs no program
TOLD = {
    "__main__": "",  # cli.main
    "cli.main": "context.Context(",
    "mcp.stdio.main": "note_workspaces(configuration, os.environ, job_directory(os.environ), current_directory())",
    "mcp.stdio.session": "",  # a list of jobs, in the process of mcp.stdio.main
    "mcp.tools.call": "Context(",
    "parts.http.serve": "note_workspaces(configuration, os.environ, settings.workdir, current_directory())",
    "parts.page.program": "note_workspaces(configuration, os.environ, current_directory())",
    "parts.clients.hook": "note_workspaces(settings, env, *here)",
    "parts.completion.main": "",
    "parts.completion.jobs": "",
    "parts.demo.main": "",  # but outlive itself
    "launch.fork_server": "",
    "parts.after.own_process": "own_programs.take(known)",
    "parts.after.turn": "known=request.known",
    "parts.after.waiter": "known=asked.known",
    "parts.hosts.ssh.mirror_process": "own_programs.take(request.known)",
    "parts.hosts.slurm.pump": "own_programs.take(",
    "parts.hosts.slurm.look": "own_programs.take(",
    "parts.hosts.slurm.inside_allocation": "own_programs.take(",
    "parts.hosts.far.step": "",
    "parts.hosts.far.main": "own_programs.know(map(os.path.expanduser, word.workspaces))",
    "parts.hosts.far.starting": "own_programs.know(sandbox.roots)",
}


def _begins(path: Path, named: set[str]) -> bool:
    """Return whether a module has the first function of a process, or makes a caller."""
    nodes = [*ast.walk(_tree(path))]
    module = next(name for name, one in NAMES.items() if one == path)
    return (
        (module in named and any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in nodes))
        or any(isinstance(node, ast.If) and ast.unparse(node.test) == "__name__ == '__main__'" for node in nodes)
        or any(isinstance(node, ast.Call) and ast.unparse(node.func).endswith("Principal") for node in nodes)
    )


def test_each_process_of_ours_is_told_where_jobs_work() -> None:
    """Else it would run what a job in a sandbox has put there (system/own_programs.py)."""
    texts = {
        node.value
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    named = {text.removesuffix(":main") for text in texts} & NAMES.keys()
    named |= {
        target
        for text in texts
        for target in re.findall(r"^\s*from (outlive\.[\w.]+) import main$", text, re.MULTILINE)
    }
    named -= {"outlive.parts.top.main", "outlive.parts.terminal.attach"}  # functions of the command line
    begin = {path for path in MODULES if _begins(path, named) and path != SOURCE / "jobs/context.py"}
    assert {".".join(path.relative_to(SOURCE).with_suffix("").parts) for path in begin} == TOLD.keys()
    for name, call in TOLD.items():
        assert call in NAMES[f"outlive.{name}"].read_text(encoding="utf-8"), name


def test_processes_of_ours_start_isolated() -> None:
    """system/interpreter.py, or `-I`: a workspace may have a `sitecustomize.py`, and PYTHONPATH name it."""
    loose = [
        f"{path.relative_to(SOURCE)}:{node.lineno}"
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.List)
        and [_name(one) for one in node.elts[:1]] in (["executable"], ["python"])
        and [one.value for one in node.elts[1:2] if isinstance(one, ast.Constant)] not in (["-I"], ["-EP"])
        and len(node.elts) > 1
    ]
    assert not [place for place in loose if not place.startswith("system/interpreter.py")]


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
