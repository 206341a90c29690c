"""What a sandbox shows: a list, so that what is new or unknown is not shown.

Nothing else of the machine is there: not the rest of the home directory, not the homes of others, not
/srv, /mnt or /var. [sandbox] `write` and `show` add to it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from outlive.core.real_path import followed, real_path
from outlive.core.records import Sandbox
from outlive.system import mounts, paths, workspaces
from outlive.system.fds import listed
from outlive.system.paths import may_change

is_in, reached = paths.is_in, paths.reached

# Of /nix and /gnu the stores: a daemon that builds outside listens on a socket beside them
SYSTEM = tuple(
    "/usr /bin /sbin /lib /lib32 /lib64 /libx32 /opt /nix/store /nix/var/nix/profiles /gnu/store /snap".split()
)
# What programs ask the kernel about processors and memory
OF_KERNEL = ("/sys/devices/system", "/sys/kernel/mm")
OF_RUN = ("/run/current-system", "/run/booted-system", "/run/opengl-driver")
# Below /etc. Whole, it has keys that only root may read, and a job of root would read them
ETC_FOLDERS = tuple(
    "alternatives crypto-policies fonts ssl/certs pki/ca-trust pki/tls/certs pki/java terminfo static maven R php".split()
)
ETC_FILES = tuple(
    "passwd group nsswitch.conf hosts host.conf hostname resolv.conf localtime timezone ld.so.cache protocols services gai.conf "
    "mime.types os-release locale.conf inputrc manpath.config man_db.conf ssl/openssl.cnf pki/tls/cert.pem".split()
)

# Below the home directory: toolchains, which no job changes, because you run them too. Of a directory
# where a tool keeps keys or tokens too, those parts are named that have none
TOOLCHAINS = tuple(
    ".local/bin .local/lib .local/pipx .local/share/uv/python .local/share/uv/tools .local/share/pipx .local/share/mise "
    ".local/share/fnm .local/share/pnpm "
    ".local/share/virtualenvs .local/share/fonts bin .pyenv .rustup .cargo/bin .nvm .fnm .volta .n .asdf .sdkman/candidates .jenv "
    ".rbenv .rvm .gem/ruby .deno/bin .bun/bin .bun/install .ghcup .elan .juliaup "
    ".dotnet/dotnet .dotnet/host .dotnet/sdk .dotnet/shared .dotnet/packs .dotnet/tools miniconda3 anaconda3 miniforge3 "
    "mambaforge .linuxbrew .pixi .opam/config .opam/default .opam/opam-init .opam/repo .stack/programs .rye/shims .rye/py .rye/self .rye/tools .rye/uv .nix-profile".split()
)
# What package managers keep of what they fetched. With an open network a job has stores of its own
# here, which it may write, and later jobs of the workspace have those too; before that they read yours
STORES = tuple(
    ".cargo/registry .cargo/git go/pkg .m2/repository .gradle/caches .gradle/wrapper .nuget/packages .ivy2/cache "
    ".stack/snapshots .stack/pantry .cabal/packages .opam/download-cache .julia/artifacts .julia/compiled "
    ".julia/environments .julia/packages .julia/registries .pub-cache/bin .pub-cache/git .pub-cache/hosted .bundle/cache .yarn/berry".split()
)
# What is rebuilt if it is missing: a job has its own, which no program of yours reads
CACHES = (".cache", ".npm")
CACHES_IN_TOOLCHAINS = (".local/share/pnpm/store", ".bun/install/cache")  # where they are there
OWN_STORES = ".stores"  # in the home of a sandbox: what the stores of its own are in
# Variables of the caller that name a toolchain elsewhere: what is shown of the directory
NAMED_BY = {
    "VIRTUAL_ENV": ("",),
    "CONDA_PREFIX": ("",),
    "JAVA_HOME": ("",),
    "GOROOT": ("",),
    "GOPATH": ("bin", "pkg"),
    "CARGO_HOME": ("bin", "registry", "git"),
    "RUSTUP_HOME": ("",),
    "NVM_DIR": ("versions",),
    "PYENV_ROOT": ("",),
    "OPAM_SWITCH_PREFIX": ("",),
}
ENVIRONMENT = tuple(
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TERM COLORTERM NO_COLOR FORCE_COLOR CLICOLOR COLUMNS LINES EDITOR PAGER "
    "CI VIRTUAL_ENV CONDA_PREFIX JAVA_HOME GOPATH GOROOT CARGO_HOME RUSTUP_HOME NVM_DIR PYENV_ROOT OPAM_SWITCH_PREFIX MAKEFLAGS "
    "PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE REQUESTS_CA_BUNDLE PIP_CERT "
    "NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO".split()
)

# Directories at the top of a writable directory or of a repository in it, from which editors and
# agents run commands by themselves: read-only if they are there. What is new is reported, and elsewhere what changed
SETTINGS = tuple(
    ".vscode .idea .zed .claude .codex .cursor .gemini .opencode .amp .roo .windsurf .kiro .amazonq .continue .junie .qwen "
    ".factory .helix .kilocode .clinerules .pi .trae .github/hooks .devcontainer .husky".split()
)
# Files of that kind. A mount on a file is gone when its owner replaces the file, so a change is reported
SETTING_FILES = tuple(".envrc .mcp.json opencode.json opencode.jsonc crush.json .crush.json .devcontainer.json".split())
OBEYED = (*SETTING_FILES, *SETTINGS)


def filtered(environment: Mapping[str, str], more: Iterable[str]) -> dict[str, str]:
    """Return the variables that a sandboxed job inherits. A name that ends in * is a prefix."""
    return {name: environment[name] for name in _named(environment, {*ENVIRONMENT, *more})}


def named_by_both(some: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return names and prefixes that stand for the variables which both lists name."""
    one, other = {*some}, {*others}
    return sorted({*_named(one, other), *_named(other, one)})


def _named(candidates: Iterable[str], names: set[str]) -> list[str]:
    prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
    return [name for name in candidates if name in names or name.startswith(prefixes)]


def written(sandbox: Sandbox) -> list[str]:
    """Return the directories of the machine that jobs in this sandbox can change names in."""
    return [*sandbox.roots, *([sandbox.cache] if sandbox.cache else [])]


def chosen(sandbox: Sandbox) -> list[str]:
    """Return the directories that the configuration names, and those of the caller's environment, without links; as far
    as no job decides where they lead."""
    places = [fixed(path, sandbox.home, written=written(sandbox), states=sandbox.hide) for path in sandbox.show]
    places += [fixed(path, sandbox.home, states=sandbox.hide) for path in sandbox.toolchains]
    return [path for path in places if path is not None]


def at_home(sandbox: Sandbox, name: str) -> str | None:
    """Return where an entry of the home leads; None if it is not there, or if a link on the way may be
    a job's. A link may lie in the home, and in the directories that the name itself passes."""
    home, path = sandbox.home, f"{sandbox.home}/{name}"
    if not os.path.lexists(path):  # most of them are not there
        return None
    steps = name.split("/")
    passed = [os.path.join(home, *steps[:number]) for number in range(1, len(steps))]
    trusted = [one for one in passed if not is_in(one, written(sandbox))]
    return fixed(path, home, trusted, written=written(sandbox), states=sandbox.hide)


def entries(sandbox: Sandbox) -> dict[str, str]:
    """Return the toolchains and stores of the home that are shown, each with where it leads."""
    there = set(listed(sandbox.home))
    names = (name for name in (*TOOLCHAINS, *STORES) if name.split("/")[0] in there)
    return {name: path for name in names if (path := at_home(sandbox, name)) is not None}


def visible(sandbox: Sandbox, known: Mapping[str, str] | None = None) -> list[str]:
    """Return the directories that a job sees with all that is in them, without links. `known`: the entries of the home,
    if they were looked up before."""
    names = entries(sandbox) if known is None else known
    at_home = [os.path.join(sandbox.home, name) for name in names]
    of_run = filter(os.path.exists, OF_RUN)  # `hide` may name /run, which is a job's own
    system = [
        *map(real_path, (*SYSTEM, *OF_KERNEL, *of_run)),
        *(path for both in of_etc().items() for path in both),
    ]
    return [*at_home, *names.values(), *system, *chosen(sandbox), *sandbox.roots]


def of_etc() -> dict[str, str]:
    """Return the directories of /etc that are shown, each with where it leads."""
    there = set(listed("/etc"))
    names = (*ETC_FOLDERS, *sorted(one for one in there if one.startswith("java-")))
    paths = (f"/etc/{name}" for name in names if name.split("/")[0] in there)
    return {path: real_path(path) for path in paths if os.path.isdir(path)}


def toolchains(environment: Mapping[str, str], home: str) -> list[str]:
    """Return the directories that the caller's environment names: those of PATH, the virtual
    environment that one of them belongs to, and toolchains."""
    folders = []
    for folder in environment.get("PATH", "").split(os.pathsep):
        if os.path.isabs(folder) and not is_in(home, [folder.rstrip("/") or "/"]):
            above = os.path.dirname(folder.rstrip("/"))
            folders.append(above if _is_environment(above, environment, home) else folder)
    for name, parts in NAMED_BY.items():
        top = environment.get(name, "").rstrip("/")
        if os.path.isabs(top) and not is_in(home, [top]):
            folders += [os.path.join(top, part) if part else top for part in parts]
    system = [*map(real_path, SYSTEM)]  # shown in any case; a link elsewhere that leads there is not
    named = (path for path in dict.fromkeys(folders) if not (is_in(path, SYSTEM) and is_in(real_path(path), system)))
    return [path for path in named if fixed(path, home) is not None]


def _is_environment(path: str, environment: Mapping[str, str], home: str) -> bool:
    """Return whether a virtual environment is here: no home, and nothing in which a job can have written `pyvenv.cfg`."""
    if not os.path.exists(f"{path}/pyvenv.cfg") or is_in(home, [path]):
        return False
    noted = workspaces.noted(environment)
    return not is_in(real_path(path), [*noted, *mounts.other_names(noted)])


def fixed(
    path: str, home: str, trusted: Iterable[str] = (), *, written: Iterable[str] = (), states: Iterable[str] = ()
) -> str | None:
    """Return where a path leads; None if a job can have decided that: each link on the way lies in the home itself, above
    it, in a `trusted` directory, or where this user writes nothing, and none in `written` or where a job could ever write:
    what was noted in `states`, our state directories. In a workspace `.venv` may be a link to your keys, made by a job so
    that the next one sees them. It is one look: at a second one there may be another link."""
    place, links = followed(path)
    if not links:
        return place
    is_known = all(
        is_in(home, [folder]) or is_in(folder, SYSTEM) or folder in trusted or not may_change(folder)
        for folder in map(os.path.dirname, links)
    )
    noted = workspaces.noted_in(states) if is_known else []  # also below /opt, or ~/go
    made = [*written, *noted, *mounts.other_names(noted)]
    return place if is_known and not any(is_in(link, made) for link in links) else None
