"""The problem matchers that are built in: what common tools print for a failure alone, and words that may mean one.

Each is in the form of problem_matchers.py without its owner, which stands before. They are in a module, not in a file of
data: a server that runs for weeks holds its code, and its package may be replaced meanwhile.

The order counts: the first that names a line says what kind of line it is, and the first of all is what a list shows of a
failed job. So those of one tool come before those of any program, and a line that says more before a line that says less.
"""

from __future__ import annotations

from typing import Any


def _error(*regexps: str, file: int | None = None) -> dict[str, Any]:
    """Return a matcher of one line, or of as many lines as there are regular expressions. `file`: the group of the last
    that names a place or a test."""
    pattern: list[dict[str, Any]] = [{"regexp": one} for one in regexps]
    if file is not None:
        pattern[-1]["file"] = file
    return {"severity": "error", "pattern": pattern}


def _warning(regexp: str) -> dict[str, Any]:
    return {"severity": "warning", "pattern": [{"regexp": regexp}]}


MATCHERS: dict[str, list[dict[str, Any]]] = {
    "gcc": [
        _error(r"^(\S[^:]*):\d+(?::\d+)?: (?:fatal )?(?:internal compiler )?error:", file=1),
        _error(r"^(\S[^:]*):\d+: undefined reference to", file=1),
        _error(r"""undefined reference to [`'"]"""),
        _error(r"^(?:\S*/)?(?:ld|collect2|lld|gold)(?:\.\w+)?: .*(?:error|cannot|undefined|duplicate|not found)"),
        _error(r"^ld: symbol\(s\) not found|^Undefined symbols for architecture"),
    ],
    "msvc": [
        _error(r"^\s*(\S.*)\(\d+(?:,\d+)*\)\s*: (?:fatal )?error\s", file=1),
        _error(r"\berror (?:CS|MSB|NU|LNK|C|FS|BC|NETSDK)\d{3,5}:"),
    ],
    "typescript": [
        _error(r"^(\S.*)\(\d+,\d+\): error TS\d+:", file=1),
        _error(r"^(\S+):\d+:\d+ - error TS\d+:", file=1),
        _error(r"^\s*error TS\d+:"),
        _error(r"^Found [1-9]\d* errors?"),
    ],
    "rust": [
        _error(r"^\s*error(?:\[E\d+\])?:", r"^\s*--> (\S+):\d+:\d+", file=1),
        _error(r"^\s*error(?:\[E\d+\])?: "),
        _error(r"^test (\S.*) \.\.\. FAILED", file=1),
        _error(r"^---- (\S.*) (?:stdout|stderr) ----", file=1),
        _error(r"^thread '.*'.* panicked at (\S+?):\d+", file=1),
        _error(r"^thread '.*'.* panicked at"),
        _error(r"^test result: FAILED"),
        _error(r"^\s*(?:left|right): .*"),
    ],
    "go": [
        _error(r"^\s*--- FAIL: (\S+)", file=1),
        _error(r"^FAIL\s+(\S+)", file=1),
        _error(r"^(?:vet: )?(\S+\.go):\d+(?::\d+)?: ", file=1),
        _error(r"^\s+(\S+_test\.go):\d+: ", file=1),
        _error(r"^panic: |^fatal error: |^\[signal SIG"),
        _error(r"^WARNING: DATA RACE"),
        _error(r"^\s+Error Trace:|^\s+Error:\s|^\s+Messages:"),
    ],
    "pytest": [
        _error(r"^(?:FAILED|ERROR) (\S+::\S+|\S+\.py)", file=1),
        _error(r"^E   +\S"),
        _error(r"^_{3,} (?:ERROR (?:collecting|at (?:setup|teardown) of) )?(\S.*) _{3,}$", file=1),
        _error(
            r"^(\S+\.(?:py|rst|md|txt)):\d+: (?:\w+(?:Error|Exception|Failure|Warning|Exit|Interrupt|Timeout)"
            r"|[Ff]ailed?\b)",
            file=1,
        ),
        _error(r"^(\S+::\S+) (?:FAILED|ERROR)\b", file=1),
        _error(r"^=+ .*\b[1-9]\d* (?:failed|errors?)\b"),
        _error(r"^(?:\S+ )?INTERNALERROR>"),
    ],
    "unittest": [
        _error(r"^(?:FAIL|ERROR): (\w\S* \(\S.*)", file=1),
        _error(r"^FAILED \((?:failures|errors|unexpected)"),
        _error(r"^(\S.*) \.\.\. (?:FAIL|ERROR)$", file=1),
    ],
    "python": [
        _error(
            r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Failure|Interrupt|Exit|Timeout|Expired|NotFound"
            r"|Exists|Fault)(?:: |:?$)"
        ),
        _error(
            r"^(?:ERROR: )?(?:No matching distribution found for|Could not find a version that satisfies"
            r"|Cannot install |ResolutionImpossible)"
        ),
        _error(r"^(\S+\.pyi?):\d+(?::\d+)?: (?:error|note: .*revealed)", file=1),
        _error(r"^(\S+\.pyi?):\d+:\d+: [A-Z]+\d+ ", file=1),
        _error(r"^\s*--> (\S+\.pyi?):\d+:\d+", file=1),
    ],
    "javascript": [
        _error(r"^\s*● (\S.*)", file=1),
        _error(r"^\s*[✕✗✘×] (\S.*)", file=1),
        _error(r"^\s*❌"),
        _error(r"^\s*(?:❯ )?FAIL\s+(\S+)", file=1),
        _error(r"^\s*not ok \d+"),
        _error(r"^\s*✖ (?:[1-9]\d* (?:problem|fail|error)|\D)"),
        _error(r"^\s*Tests?:?\s+.*[1-9]\d* failed"),
        _error(r"^\s*[1-9]\d* (?:failing|failed)\b"),
        _error(r"^\s*(?:\[\w+\] ?)?(?:Uncaught )?(?:[A-Z]\w*)?(?:Error|Exception)(?: \[\w+\])?: "),
        _error(r"^\s*(?:Error:|error) (?:Command failed|Cannot find|Failed)"),
        _error(r"^\s*Snapshot .* mismatched|^\s*› [1-9]\d* snapshots? failed"),
        _error(r"^\s*(\S+\.\w+):\d+(?::\d+)?(?:: | - |\s+)(?:[Ee]rror|✖)", file=1),
    ],
    "eslint": [
        _error(r"^\s+\d+:\d+\s+error\s"),
        _error(r"^\[error\] (\S+)", file=1),
        _error(r"^\[error\] "),
    ],
    "npm": [
        _error(
            r"^npm (?:ERR!|error) (?:code|errno|syscall|path|network|notarget|peer|Could not|Missing|4\d\d"
            r"|5\d\d|E[A-Z]+)"
        ),
        _error(r"^npm (?:ERR!|error) \S"),
        _error(r"^\s*(?:ERR_PNPM_\w+|ELIFECYCLE)|^\W*ERR_PNPM"),
        _error(r"^error (?:Command failed|An unexpected|Couldn't|Package )"),
        _error(r"^(?:➤ )?YN\d{4}: .*(?:failed|couldn't|can't|exited|not found)"),
    ],
    "java": [
        _error(r"^\s*\[(?:ERROR|FATAL)\] \S"),
        _error(r"^(\S+\.(?:java|kt|scala|groovy)):\d+(?::\d+)?: (?:error|warning: \[removal)", file=1),
        _error(r"^e: (\S+)", file=1),
        _error(r"^\[error\] (\S+\.(?:scala|java)):\d+", file=1),
        _error(r"^\s*Caused by: "),
        _error(r"^Exception in thread "),
        _error(r"^(?:[a-z]\w*\.)+[A-Z]\w*(?:Exception|Error)\b"),
        _error(r"^Tests run:.*(?:Failures: [1-9]|Errors: [1-9])"),
        _error(r"^(?:\[\w+\] )?BUILD FAIL"),
        _error(r"^> Task (\S+) FAILED", file=1),
        _error(
            r"^FAILURE: Build|^\* What went wrong|^Execution failed for task|^> (?:A failure|Could not"
            r"|Compilation|There were failing|Process ')"
        ),
        _error(r"^(\S.*) > .* FAILED$", file=1),
    ],
    "dotnet": [
        _error(r"^\s+Failed (\S+) \[", file=1),
        _error(r"^\s+Error Message:"),
    ],
    "ruby": [
        _error(r"^rspec (\S+)", file=1),
        _error(r"^\s+Failure/Error: "),
        _error(r"^\s+\d+\) (?:Failure|Error):"),
        _error(r"Bundler could not find|Gem::\w*Error|^Could not find gem"),
        _error(r"^[1-9]\d* (?:examples|runs|tests),.* [1-9]\d* (?:failures?|errors?)"),
        _error(r"^(\S+\.rb):\d+:in .*(?:Error|Exception|\()", file=1),
    ],
    "php": [
        _error(r"^(?:PHP )?(?:Fatal|Parse|Uncaught) (?:error|Exception)\b"),
        _error(r"^(?:FAILURES|ERRORS)!"),
        _error(r"^\d+\) (\S+::\S+)", file=1),
        _error(r"^\s*Problem \d+$|Your requirements could not be resolved"),
    ],
    "perl": [
        _error(r"^#\s+Failed (?:test|\().*"),
        _error(r"^#\s+(?:got|expected|at \S+ line \d+)\b"),
        _error(r"^Result: FAIL|^Failed \d+/\d+"),
        _error(r"at \S+ line \d+\.$"),
        _error(r"^(\S+\.t) .*(?:Failed|Dubious|Wstat)", file=1),
    ],
    "make": [
        _error(r"^(?:\S*/)?(?:g?make|mingw32-make)(?:\[\d+\])?: \*\*\* "),
        _error(r"^FAILED: (\S+)", file=1),
        _error(r"^ninja: (?:error|build stopped)|^ninja: fatal"),
        _error(r"^CMake Error at (\S+):\d+", file=1),
        _error(r"^CMake Error|^-- Configuring incomplete"),
        _error(r"^configure: error:|^(?:\S+/)?configure: line \d+:"),
        _error(r"^meson\.build:\d+:\d+: ERROR|^ERROR: \S"),
        _error(r"^\d+/\d+ Test +#\d+: (\S+) .*(?:\*\*\*|Failed|Timeout)", file=1),
        _error(r"^The following tests FAILED|^[0-9]+% tests passed, [1-9]"),
    ],
    "bazel": [
        _error(r"^(?:ERROR|FAILED): "),
        _error(r"^(//\S+)\s+(?:FAILED|TIMEOUT|NO STATUS)", file=1),
    ],
    "docker": [
        _error(r"^ERROR: (?:failed to|process|executor)|^#\d+ (?:[\d.]+ )?(?:ERROR|error)\b|^failed to solve"),
        _error(r"^\s*>>> "),
        _error(r"^(\S*Dockerfile\S*):\d+", file=1),
        _error(r"did not complete successfully: exit code"),
        _error(r"^Error response from daemon"),
    ],
    "infrastructure": [
        _error(r"^(?:[│╷╵|] ?)?Error: \S"),
        _error(r"^fatal: \[|^failed: \["),
        _error(r"^\S+\s+: ok=\d+.*(?:unreachable=[1-9]|failed=[1-9])"),
        _error(r"^Error from server|^error: (?:the server|You must|unable)"),
        _error(r"^(?:Error|Warning)\s+(?:BackOff|Failed|FailedMount|Unhealthy)"),
        _error(r"\b(?:CrashLoopBackOff|ImagePullBackOff|ErrImagePull|OOMKilled)\b"),
    ],
    "sanitizer": [
        _error(r"^==\d+==\s?(?:ERROR|WARNING: \w+Sanitizer|Invalid |Process terminating|Conditional jump)"),
        _error(r"\bruntime error: |^SUMMARY: \w+Sanitizer"),
    ],
    "network": [
        _error(r"^curl: \(\d+\) |^wget: (?:unable|bad address|can't|error|server returned)"),
    ],
    "system": [
        _error(
            r"\b(?:Segmentation fault|segfault|core dumped|Bus error|Illegal instruction"
            r"|Floating point exception|stack smashing|double free|Aborted)\b"
        ),
        _error(
            r"^(?:.*\s)?Killed(?:\s.*)?$|\bsignal: \d|\b(?:SIGSEGV|SIGABRT|SIGKILL|SIGBUS|SIGILL)\b"
            r"|\bterminated by signal"
        ),
        _error(
            r"\b(?:[Oo]ut of memory|OutOfMemory\w*|Cannot allocate memory|MemoryError|std::bad_alloc|oom-kill"
            r"|heap out of memory)\b"
        ),
        _error(r"\b[Nn]o space left on device|\bDisk quota exceeded|\bRead-only file system|\bToo many open files"),
        _error(
            r": (?:command )?not found$|: No such file or directory|: Permission denied|: Is a directory$"
            r"|: Operation not permitted|: Not a directory"
        ),
        _error(
            r"\b(?:[Tt]imed out|Timeout(?:Error|Exception|Expired)|[Dd]eadline exceeded|TIMEOUT"
            r"|timeout exceeded|exceeded (?:the )?timeout)\b"
        ),
        _error(
            r"\b(?:[Cc]onnection (?:refused|reset|timed out)|Could not resolve host|Name or service not known"
            r"|Temporary failure in name resolution|certificate verify failed|ECONNREFUSED|ECONNRESET|ENOTFOUND"
            r"|ETIMEDOUT|EAI_AGAIN|EADDRINUSE|ENOSPC|EACCES|ENOENT|EPERM)\b"
        ),
        _error(r"\b(?:HTTP(?:/[\d.]+)? (?:error:? )?|status(?: code)?:? ?|returned error: )[45]\d\d\b"),
        _error(
            r"(?:^|[\s(,:])[1-9]\d* (?:[a-z]+ ){0,2}(?:failed|failures?|failing|errors?|errored|broken"
            r"|mismatch(?:es)?)\b"
        ),
        _error(r"^(?:\S+: )?[Aa]ssertion\b.*\bfailed|\bAssertion(?:Error|Failed\w*)\b|assert(?:ion)? failed"),
    ],
    "git": [
        _error(r"^(?:fatal|error|remote: error|remote: fatal): "),
        _error(r"^CONFLICT \(|^Automatic merge failed|^ ! \[(?:remote )?rejected\]"),
    ],
    "package": [
        _error(r"^E: |^(?:error|ERROR|Error): "),
        _error(r"^(?:nothing provides|Conflict:|Unable to locate package|dpkg: error)"),
        _error(
            r"\b(?:dependency conflict|unmet dependencies|[Ii]ncompatible (?:peer|version)|ERESOLVE|ETARGET"
            r"|E404)\b"
        ),
    ],
    "actions": [
        _error(r"##\[error\]|^::error"),
    ],
    "log": [
        _error(r"^(?:\S+ ){0,4}\W?(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|EMERG|ALERT)\b[\]:|\s)]"),
        _error(r"^\s*(?:\S+: )?(?:FAIL|FAILED|FAILURE|Failure|Failed)\b[: !]"),
        _error(r'"level": ?"(?:error|fatal|critical|panic)"|\blevel=(?:error|fatal|critical|panic)\b'),
        _error(r"^(?:\S*/)?(?:ba|da|z|k)?sh: (?:line \d+: |\d+: |-c: )?.*: "),
        _error(r"^sqlite3?\S*: |^(?:psql\S*: )?ERROR:\s"),
    ],
    "end": [
        _error(r"^\s*(?:[\w|+-]* )?Traceback \(most recent call last\)"),
        _error(
            r"\b(?:exit(?:ed|ing)?(?: with)? (?:code|status|value)|exited(?: with)?|(?:exit|status"
            r"|return) ?code|exit status|error code|returned|rc)(?: was|:|=| of)? ?-?[1-9]\d*\b"
        ),
    ],
    "words": [
        _warning(
            r"(?i)\b(?:errors?|err|fail(?:ed|ures?|s|ing)?|exceptions?|fatal|panic(?:ked)?|abort(?:ed|ing)?"
            r"|denied|refused|rejected|cannot|can't|can not|couldn't|could not|unable|unexpected(?:ly)?"
            r"|undefined|not found|no such|missing|invalid|illegal|crash(?:ed)?|mismatch(?:ed)?|unresolved"
            r"|conflict(?:s|ing)?|traceback|unsatisf\w+|unsupported|unknown|violat\w+|corrupt\w*|forbidden"
            r"|unauthorized|expired|broken|incompatible|not installed|does not exist|doesn't exist|not allowed"
            r"|not permitted|must be|terminated|killed|did not|expected|received|actual)\b"
        ),
    ],
}
