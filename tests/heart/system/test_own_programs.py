"""The programs that outlive runs for itself: where they may lie, and what they are told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from outlive.errors import OutliveError
from outlive.system import own_programs, workspaces
from outlive.system.known import Known


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(own_programs, "_workspaces", {})
    monkeypatch.setattr(own_programs, "_named", {})
    return iter([None])


def program(path: Path, first_line: str = "#!/bin/sh") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(first_line + "\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def usual(place: Path) -> Path:
    """The ssh of the machine, in a directory that no job writes."""
    return program(place / "usr" / "ssh")


UNSAFE = {  # how PATH begins; W: the workspace, P: what holds it
    "the workspace": "W",
    "below it": "W/.venv/bin",
    "a link to it": "P/link/bin",
    "a link in it": "W/out",
    "a link through it": "P/through",
    "a file that is a link to it": "P/linked",
    "a file that is a link through it": "P/linked-through",
    "by way of ..": "P/usr/../work/bin",
    "relative": "bin",
    "empty": "",
    "the current directory": ".",
    "what the configuration lets jobs write": "P/written/bin",
    "what tools cache in sandboxes": "P/home/.cache/outlive/sandbox/1/bin",
    "the environment of another project": "P/other/env/bin",
    "an environment of which a job has taken the mark away": "P/other/.venv/bin",
    "the active environment, likewise": "P/other/active/bin",
    "a clone": "P/clone/tools/bin",
    "a worktree": "P/worktree/bin",
    "packages of npm": "P/js/node_modules/.bin",
    "a script whose interpreter a job can write": "P/scripts",
    "a script whose interpreter is relative": "P/scripts2",
    "a script whose interpreter is in an environment": "P/scripts3",
    "a script whose interpreter is a script, whose interpreter a job can write": "P/scripts4",
    "a script that is its own interpreter": "P/scripts5",
}


@pytest.mark.parametrize("begins", UNSAFE.values(), ids=UNSAFE)
def test_a_program_comes_from_no_directory_that_a_job_can_write(place: Path, usual: Path, begins: str) -> None:
    work = place / "work"
    for folder in ("", "bin", ".venv/bin"):
        program(work / folder / "ssh")
    program(work / "python")
    (place / "link").symlink_to(work)
    (work / "out").symlink_to(program(place / "elsewhere" / "ssh").parent)
    (place / "through").symlink_to(work / "out")
    for name, target in {"linked": work / "ssh", "linked-through": work / "out" / "ssh"}.items():
        (place / name).mkdir()
        (place / name / "ssh").symlink_to(target)
    for folder in (
        "written/bin",
        "home/.cache/outlive/sandbox/1/bin",
        "other/env/bin",
        "other/.venv/bin",
        "other/active/bin",
        "clone/tools/bin",
        "worktree/bin",
    ):
        program(place / folder / "ssh")
    program(place / "js" / "node_modules" / ".bin" / "ssh")
    (place / "other/env/pyvenv.cfg").touch()
    (place / "clone/.git").mkdir()
    (place / "worktree/.git").write_text("gitdir: /x\n")
    program(place / "scripts" / "ssh", f"#!{work}/python -I")
    program(place / "scripts2" / "ssh", "#!python")
    program(place / "scripts4" / "ssh", f"#!{place}/scripts/ssh")
    program(place / "scripts5" / "ssh", f"#!{place}/scripts5/ssh")
    program(place / "other/env/bin/python")
    program(place / "scripts3" / "ssh", f"#! {place}/other/env/bin/python")
    own_programs.know([str(work), str(place / "written")])
    first = begins.replace("W", str(work)).replace("P", str(place))
    env = {"HOME": str(place / "home"), "PATH": f"{first}:{usual.parent}", "VIRTUAL_ENV": f"{place}/other/active"}
    assert own_programs.find("ssh", env) == str(usual)
    if first:  # without any, the usual places are searched
        with pytest.raises(OutliveError) as error:
            own_programs.find("ssh", {**env, "PATH": first})
        assert error.value.code == "launch_failed"
        assert "[programs] ssh =" in str(error.value.hint)
        assert f"passed over: {first}/ssh" in error.value.message
    assert own_programs.environment(env)["PATH"] in (str(usual.parent), env["PATH"])


def test_a_project_that_a_job_has_made_read_only_is_one_all_the_same(
    place: Path, usual: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The job can write again whenever it wants to: it runs as the owner."""
    ssh = program(place / "other/env/bin/ssh")
    (place / "other/env/pyvenv.cfg").touch()
    (place / "other/env").chmod(0o555)
    # What the kernel tells a user who is not root
    monkeypatch.setattr(os, "access", lambda path, mode: bool(os.stat(path).st_mode >> 6 & mode))
    env = {"HOME": str(place / "home"), "PATH": f"{ssh.parent}:{usual.parent}"}
    assert own_programs.find("ssh", env) == str(usual)


def test_a_home_is_no_workspace_and_a_toolchain_that_is_a_clone_no_project(place: Path) -> None:
    home = place / "home"
    own_programs.know([str(home), str(place), "/"])
    for folder in (".pyenv", ".dotfiles", ".config/tools"):
        (home / folder / ".git").mkdir(parents=True)
    (home / ".git").mkdir()
    for folder in (".local/bin", ".pyenv/bin"):
        path = program(home / folder / "ssh")
        assert own_programs.find("ssh", {"HOME": str(home), "PATH": str(path.parent)}) == str(path)
    for folder in (".dotfiles/bin", ".config/tools"):  # jobs may have worked there
        path = program(home / folder / "ssh")
        with pytest.raises(OutliveError, match="passed over"):
            own_programs.find("ssh", {"HOME": str(home), "PATH": str(path.parent)})
    own_programs.know([str(home / ".pyenv")])
    with pytest.raises(OutliveError, match="passed over"):
        own_programs.find("ssh", {"HOME": str(home), "PATH": f"{home}/.pyenv/bin"})


@pytest.mark.parametrize("home", ["", "below"])
def test_where_a_job_could_write_is_no_home_of_which_programs_are_taken(place: Path, usual: Path, home: str) -> None:
    """A job was started there by a caller whose HOME was another directory."""
    work, state = place / "work", str(place / "state")
    ssh = program(work / "bin" / "ssh")
    workspaces.note([str(work)], {"XDG_STATE_HOME": state})
    env = {"HOME": str(work / home), "XDG_STATE_HOME": state, "PATH": f"{ssh.parent}:{usual.parent}"}
    assert own_programs.find("ssh", env) == str(usual)


def test_the_configuration_names_a_program_which_no_job_may_write_either(place: Path, usual: Path) -> None:
    env = {"HOME": str(place / "home"), "PATH": "/nowhere"}
    own_programs.know([str(place / "work")], {"ssh": str(usual)})
    assert own_programs.find("ssh", env) == str(usual)
    for named, said in {
        str(program(place / "work" / "ssh")): "passed over",
        "/nowhere/ssh": "is not what [programs]",
    }.items():
        own_programs.know([], {"ssh": named})
        with pytest.raises(OutliveError, match=said.replace("[", r"\[")):
            own_programs.find("ssh", env)


def test_what_a_job_wrote_is_loaded_by_no_such_program(place: Path) -> None:
    work = place / "work"
    own_programs.know([str(work)])
    home = {"HOME": str(place / "home")}
    gone = {
        "LD_PRELOAD": f"{work}/x.so",
        "LD_AUDIT": "./x.so",
        "LD_LIBRARY_PATH": f"{work}/lib",
        "LOCPATH": "locales",
        "GCONV_PATH": f"{work}/gconv",
        "FPATH": "functions:./more",
        "PYTHONPATH": f"{work}/src:src",
        "PYTHONHOME": f"{work}/python",
        "PYTHONSTARTUP": "start.py",
        "PYTHONUSERBASE": f"{work}",
        "PYTHONPYCACHEPREFIX": f"{work}/pyc",
        "PERL5LIB": "lib",
        "PERL5OPT": "-Ilib -Mx",
        "RUBYOPT": "-r./x",
        "NODE_OPTIONS": f"--require={work}/x.js",
        "BASH_ENV": "rc.sh",
        "ENV": f"{work}/rc",
        "ZDOTDIR": f"{work}/zsh",
        "BROWSER": "./browser %s",
        "SSH_ASKPASS": "tools/ask",
        "GIT_SSH_COMMAND": f"{work}/ssh -v",
        "GIT_CONFIG_GLOBAL": f"{work}/gitconfig",
        "SLURM_CONF": f"{work}/slurm.conf",
        "XDG_CONFIG_HOME": f"{work}/config",
        "JAVA_TOOL_OPTIONS": f"-javaagent:{work}/x.jar",
        # Settings name libraries
        "OPENSSL_CONF": "openssl.cnf",
        "OPENSSL_MODULES": f"{work}/modules",
        "KRB5_CONFIG": "krb5.conf",
        "GIT_EXEC_PATH": "git-core",
    }
    kept = {
        "LANG": "C.UTF-8",
        "DISPLAY": ":0",
        "TZ": "Europe/Berlin",
        "BROWSER": "firefox",
        "SSH_AUTH_SOCK": f"{work}/agent",
        "LD_PRELOAD": "libfaketime.so.1",
        "LD_LIBRARY_PATH": "/opt/slurm/lib",
    }
    assert own_programs.environment({**home, **gone}) == home
    assert own_programs.environment({**home, **kept}) == {**home, **kept}
    mixed = {"PATH": f"{work}/bin:/usr/bin::.:/bin", "LD_LIBRARY_PATH": f"/opt/lib:{work}/lib:"}
    assert own_programs.environment(mixed) == {"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/opt/lib"}
    for libraries in (f"/opt/lib;{work}/lib", f"{work}/lib;/opt/lib;lib", f"/opt/lib:;{work}"):  # ld.so(8) knows both
        assert own_programs.environment({"LD_LIBRARY_PATH": libraries}) == {"LD_LIBRARY_PATH": "/opt/lib"}
        assert own_programs.of_ours({"LD_LIBRARY_PATH": libraries}) == {}
    separated = {  # by other signs
        "LUA_PATH": f"/usr/share/lua/?.lua;{work}/?.lua",
        "LUA_PATH_5_4": f"/usr/share/lua/?.lua;{work}/?.lua",
        "TCLLIBPATH": f"/usr/share/tcltk {work}/lib",
        "BROWSER": f"/usr/bin/x;{work}/x",
        "LESSOPEN": f"/usr/bin/x|{work}/x",
    }
    assert own_programs.environment(separated) == {}
    assert own_programs.environment({"PATH": str(work)}) == {"PATH": os.defpath}
    assert own_programs.of_ours({**home, **gone, **mixed}).keys() == {*home, *gone, "PATH"} - {
        "LD_PRELOAD",
        "LD_AUDIT",
        "LD_LIBRARY_PATH",
        "GCONV_PATH",
    }


def test_no_variable_leads_such_a_program_into_another_project(place: Path) -> None:
    """In each a job may have worked. The variables of a job stay as they are."""
    own_programs.know([str(place / "work")])
    (place / "clone/.git").mkdir(parents=True)
    (place / "js/node_modules").mkdir(parents=True)
    (place / "env").mkdir()
    (place / "env/pyvenv.cfg").touch()
    gone = {
        "SLURM_CONF": f"{place}/clone/slurm.conf",
        "OPENSSL_CONF": f"{place}/clone/openssl.cnf",
        "KRB5_CONFIG": f"{place}/env/krb5.conf",
        "GIT_SSH": f"{place}/clone/ssh",
        "GIT_CONFIG_GLOBAL": f"{place}/clone/gitconfig",
        "SSH_ASKPASS": f"{place}/js/node_modules/.bin/ask",
        "BROWSER": f"{place}/clone/browser %s",
        "XDG_CONFIG_HOME": f"{place}/clone/config",
        "AWS_CONFIG_FILE": f"{place}/clone/aws",  # it may name a command that prints credentials
        "VIRTUAL_ENV": f"{place}/env",  # a profile may read the file that activates it
    }
    kept = {"HOME": str(place / "home"), "PWD": f"{place}/clone", "TMPDIR": f"{place}/clone/tmp"}
    kept |= {"SSH_AUTH_SOCK": f"{place}/clone/agent", "HTTP_PROXY": "http://proxy.example:3128/x"}
    assert own_programs.environment({**gone, **kept}) == kept


def test_an_address_in_the_options_of_a_host_is_no_path(place: Path) -> None:
    own_programs.know([str(place / "work")])
    words = ["-oProxyCommand=tunnel https://proxy.example/x?y=$TOKEN //elsewhere"]
    own_programs.require_unwritten(words, {"HOME": str(place / "home")}, "the options of this host")


def test_a_path_that_a_shell_would_make_into_one_of_a_job_is_in_no_option_of_a_host(place: Path) -> None:
    own_programs.know([str(place / "work")])
    home = {"HOME": str(place / "home")}
    for path in (
        "{place}/'work'/proxy", '"{place}"/work/proxy', "{place}/w\\ork/proxy", "{place}/wor?/proxy", "{place}/w*",
        "{place}/[vw]ork/proxy", "{place}/{{work,v}}/proxy", "{place}/$W/proxy", "{place}/`echo work`/proxy",
    ):  # fmt: skip
        command = f"-oProxyCommand=exec {path.format(place=place)} %h %p"
        with pytest.raises(OutliveError, match="may have written"):
            own_programs.require_unwritten([command], home, "the options of this host")
    plain = [
        "-oSendEnv=LC_* $X",
        "-oControlPath=~/.ssh/%C",
        "-oIdentityFile=${HOME}/.ssh/id",
        "-oProxyCommand=sh -c '\"/usr/bin/nc\" $1 %p 2>/dev/null'",
    ]
    own_programs.require_unwritten(plain, home, "the options of this host")


def test_what_one_process_knows_is_told_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PATH")
    for path in ("/opt/bin", "/other"):  # a process that has one keeps it
        own_programs.take(Known(workspaces=["/w"], named={"ssh": "/opt/ssh"}, path=path))
    told = Known(workspaces=["/w", "/v"], named={"ssh": "/opt/ssh"}, path="/opt/bin")
    assert own_programs.known("/v", "/w") == told


def test_slurm_passes_on_nothing_that_its_own_programs_would_take_from_a_job(place: Path) -> None:
    own_programs.know([str(place / "work")])
    given = {"SLURM_CONF": f"{place}/work/slurm.conf", "OPENSSL_CONF": "openssl.cnf", "BASH_ENV": "rc"}
    env = {"PATH": f"{place}/work/bin:/usr/bin", "LANG": "C.UTF-8", **given}
    assert own_programs.unsafe(env) == given
