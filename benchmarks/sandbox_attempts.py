"""What benchmarks.sandboxes attempts in the sandboxes of several tools: the rows of the table of docs/explanation/security.md."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

OUT = "GOT-OUT"
_CONNECT = "import socket,sys; s=socket.socket(int(sys.argv[1])); s.settimeout(5); s.connect(eval(sys.argv[2]))"
# A program that git runs at its next status, as a setting. It leaves the file `ran` beside the workspace
_ARMED = "printf '[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = \"touch %s/ran; false\"\\n' $TOP"
_STATUS = (
    "for d in . new layout; do ( cd $W/$d && git -c safe.directory='*' status ); done >/dev/null 2>&1; test -e $TOP/ran"
)
_LEASE = 'import fcntl; fcntl.fcntl(open(".git/config"), fcntl.F_SETLEASE, fcntl.F_WRLCK)'
_SHARED = "mkdir .venv; echo > $TOP/home/other/m.py; ln $TOP/home/other/m.py .venv/m.py"
_ENVIRON = "import os,sys; sys.exit(b'MARK=outside' not in open(f'/proc/{sys.argv[1]}/environ','rb').read())"


# What a job leaves where a search along PATH begins, and where Python looks for modules
_PLANTED = (
    "mkdir -p .venv/bin src; touch .venv/pyvenv.cfg; for p in outlive bwrap rg socat ssh systemd-run id uname git bash; do "
    "printf '#!/bin/sh\\ntouch %s/ran\\nexit 1\\n' $TOP > .venv/bin/$p; chmod 755 .venv/bin/$p; done"
)
_MODULE = """mkdir -p src; echo "open('$TOP/ran', 'w')" > src/sitecustomize.py"""
EXCHANGED = "mv below/here below/was; ln -s $TOP/home/other below/here"
_HOOKS = (
    "mkdir -p $TOP/home/.config/git; printf '[core]\\n\\thooksPath = .githooks\\n' > $TOP/home/.config/git/config; "
    "mkdir .githooks; echo '#!/bin/sh' > .githooks/post-checkout; chmod 755 .githooks/post-checkout"
)


@dataclass(frozen=True)
class Attempt:
    """`inside` runs in the sandbox; it got out if that printed OUT, or if `outside` ends with 0. `word`: what it did then.

    `before` runs outside at first. `variables` are those of the caller, with what a Ground knows in them. `later`:
    which method of a tool says what is run outside before `outside`; "" for nothing. `is_stated`: outlive does not hold it
    either, and security.md says so."""

    name: str
    word: str
    inside: str
    outside: str = ""
    before: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    later: str = ""
    is_stated: bool = False


def either(*scripts: str) -> str:
    return "\n".join(f"( {script} ) >/dev/null 2>&1 && echo {OUT}" for script in scripts) + "\n:"


_RUNS_ITSELF = Attempt(
    "have the tool itself run a program of `.venv/bin`, which is first on PATH",
    "**ran**",
    _PLANTED,
    "test -e $TOP/ran",
    variables={"PATH": "$W/.venv/bin:$PATH", "VIRTUAL_ENV": "$W/.venv"},
    later="again",
)
_HOOK = Attempt(
    "write a hook of git that the settings in GIT_CONFIG_GLOBAL name",
    "**ran**",
    "echo touch $TOP/ran >> .githooks/post-checkout",
    "git checkout -q -b other; test -e $TOP/ran",
    before=_HOOKS,
    variables={"GIT_CONFIG_GLOBAL": "$TOP/home/.config/git/config"},
)
_COUNTED = {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": ".githooks"}
ATTEMPTS = (
    Attempt("read `~/.ssh/id_ed25519`", "read", either("grep -q secret ~/.ssh/id_ed25519")),
    Attempt("read `~/.netrc`", "read", either("grep -q secret ~/.netrc")),
    Attempt("read another project", "read", either("grep -q secret $TOP/home/other/file")),
    Attempt("read a variable of the caller with a token in it", "read", either('test "$SOME_TOKEN" = secret')),
    Attempt("write outside the workspace", "**written**", either("echo x > $TOP/home/other/new")),
    Attempt(
        "write through a link in the workspace", "**written**", either("ln -s $TOP/home/other link; echo x > link/new")
    ),
    Attempt("write `.git/config`", "**written**", either("git config some.thing x")),
    Attempt("put another `.git` in place", "**put**", either("mv .git old && mkdir .git")),
    Attempt("write `.git/config` of a repository below", "**written**", either("git -C below config some.thing x")),
    Attempt("add `.git/commondir`", "**written**", either("echo ../evil > .git/commondir")),
    Attempt(
        "make a repository in which the user's next `git status` runs a program",
        "**ran**",
        f"git init -q new; {_ARMED} > new/.git/config",
        _STATUS,
    ),
    Attempt(
        "the same without a directory `.git`",
        "**ran**",
        f"git init -q --bare layout; {_ARMED} > layout/config; printf '\\tworktree = .\\n' >> layout/config",
        _STATUS,
    ),
    Attempt(
        "the same by the settings in `.git`, in which the tool is started",
        "**ran**",
        ":",
        _STATUS,
        later="in_git",
    ),
    Attempt("keep others from reading `.git/config`, by a lease of it", "**kept**", either(f"$PY -c '{_LEASE}'")),
    Attempt("write into `.vscode`", "**written**", either("echo x > .vscode/tasks.json")),
    Attempt(
        "set the bit set-user-id on a copy of a program", "**set**", either("cp /bin/true s; chmod 4755 s && test -u s")
    ),
    Attempt("connect to 127.0.0.1", "**connected**", either(f"$PY -c '{_CONNECT}' 2 \"('127.0.0.1',$PORT)\"")),
    Attempt("connect to a socket in `/tmp`", "**connected**", either(f"$PY -c '{_CONNECT}' 1 \"'$IN_TMP'\"")),
    Attempt("connect to an abstract socket", "**connected**", either(f"$PY -c '{_CONNECT}' 1 \"'\\\\0$ABSTRACT'\"")),
    Attempt(
        "signal a process outside",
        "**signalled**",
        either("kill -0 $OUTSIDER && test $(cat /proc/$OUTSIDER/comm) = sleep"),
    ),
    Attempt("read the environment of a process outside", "**read**", either(f'$PY -c "{_ENVIRON}" $OUTSIDER')),
    Attempt(
        "leave a file in the `/tmp` of the machine", "**left**", "echo x > /tmp/$ABSTRACT", "test -e /tmp/$ABSTRACT"
    ),
    _RUNS_ITSELF,
    replace(_RUNS_ITSELF, name="the same with the hook of its plugin", later="hook"),
    Attempt(
        "have the tool itself import a module below a PYTHONPATH in the workspace",
        "**ran**",
        _MODULE,
        "test -e $TOP/ran",
        variables={"PYTHONPATH": "$W/src"},
        later="again",
    ),
    Attempt(
        "have the tool itself load a module that NODE_OPTIONS names in the workspace",
        "**ran**",
        """echo "require('fs').writeFileSync('$TOP/ran', '')" >> src/early.js""",
        "test -e $TOP/ran",
        before="mkdir src; touch src/early.js",
        variables={"NODE_OPTIONS": "--require=$W/src/early.js"},
        later="again",
    ),
    Attempt(
        "have a shell that the tool itself starts read a file of the workspace (BASH_ENV)",
        "**ran**",
        "echo touch $TOP/ran >> src/early.sh",
        "test -e $TOP/ran",
        before="mkdir src; touch src/early.sh",
        variables={"BASH_ENV": "$W/src/early.sh"},
        later="again",
    ),
    Attempt(
        "write a file that a store of packages shares (a hard link)",
        "**written**",
        "echo evil >> .venv/m.py",
        "grep -q evil $TOP/home/other/m.py",
        before=_SHARED,
    ),
    Attempt(
        "the same in a directory that an earlier job shut (`chmod 400`)",
        "**written**",
        "chmod 400 .venv",
        "grep -q evil $TOP/home/other/m.py",
        before=_SHARED,
        later="opened",
    ),
    Attempt(
        "write a file that the user moved out of the workspace, by a second name that an earlier job gave it",
        "**written**",
        "echo > tool; ln tool .kept",
        "grep -q evil $TOP/home/other/tool",
        later="moved",
    ),
    _HOOK,
    *(
        replace(_HOOK, name=f"the same, named {how}", variables=variables, before=f"{_HOOKS}; {more}")
        for how, variables, more in (
            ("by settings below XDG_CONFIG_HOME", {"XDG_CONFIG_HOME": "$TOP/home/.config"}, ":"),
            ("by variables (GIT_CONFIG_COUNT)", _COUNTED, ":"),
            ("by the repository itself", {}, "git config core.hooksPath .githooks"),
        )
    ),
    Attempt(
        "write what the tool keeps for itself, below the workspace",
        "**written**",
        "echo evil >> own/$KEPT",
        "grep -q evil own/$KEPT",
        before="mkdir -p own/state/outlive own/codex; touch own/$KEPT",
        variables={"XDG_STATE_HOME": "$W/own/state", "CODEX_HOME": "$W/own/codex"},
        later="kept",
    ),
    Attempt(
        "write `.vscode/tasks.json` by another name in the workspace",
        "**written**",
        "echo evil >> cfg",
        "grep -q evil .vscode/tasks.json",
        before="echo '{}' > .vscode/tasks.json; ln .vscode/tasks.json cfg",
    ),
    Attempt(
        "have a command that a person approves start in another directory, exchanged since the question",
        "**started**",
        ":",
        "test -e $TOP/home/other/made",
        before="mkdir below/here",
        later="exchanged",
    ),
    Attempt(
        "have the tool itself import a module of a project that is installed beside it",
        "**ran**",
        _MODULE,
        "test -e $TOP/ran",
        later="beside",
    ),
    Attempt(
        "have the next job write elsewhere: the user starts it where a link leads that this one made",
        "**written**",
        "mv plain was; ln -s $TOP/home/other plain",
        "test -e $TOP/home/other/new",
        before="mkdir plain",
        later="elsewhere",
        is_stated=True,
    ),
)
