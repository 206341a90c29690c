"""No process of ours imports what a workspace has: not by its place, and not by a variable that names it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from outlive.system import interpreter
from support import pair
from support.cli import Jobs, environment
from support.pages import CHECKOUT

CODE = "import sys\nopen({ran!r}, 'a').write(' '.join(sys.argv) + '\\n')\n"
# What an interpreter imports by itself, and what ours imports early
MODULES = "sitecustomize usercustomize json gc __future__ runpy encodings mcp outlive tomllib fcntl".split()


@pytest.fixture
def hostile(work: Path, place: Path) -> dict[str, str]:
    """The environment of a caller that works on something of its own, where a job has written."""
    source = work / "src"
    for folder in (work, source, *(work / "base" / "lib" / f"python3.{n}" / "site-packages" for n in range(11, 16))):
        folder.mkdir(parents=True, exist_ok=True)
        for name in MODULES:
            path = folder / name / "__init__.py" if name in ("outlive", "encodings", "mcp") else folder / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(CODE.format(ran=str(place / "ran")))
        (folder / "outlive" / "__main__.py").write_text(CODE.format(ran=str(place / "ran")))
    return {
        "PYTHONPATH": f"{source}:.:",
        "PYTHONUSERBASE": str(work / "base"),
        "PYTHONSTARTUP": str(source / "json.py"),
        "PYTHONPYCACHEPREFIX": str(work / "pyc"),
        "PYTHONBREAKPOINT": "sitecustomize.x",
        "PYTHONWARNINGS": "error::sitecustomize.X",
        "PYTHONINSPECT": "1",
    }


@pytest.fixture
def installed(place: Path) -> Path:
    """The command in an environment with the packages of this one, as installers put it there."""
    at = place / "env"
    (at / "bin").mkdir(parents=True)
    (at / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", at)
    (at / "lib").symlink_to(Path(sys.prefix) / "lib")
    return Path(shutil.copy(CHECKOUT / "packaging" / "outlive", at / "bin"))


def end(jobs: Jobs, root: Path) -> None:
    """End every job. The command that would remove one that is not over is not the installed one."""
    for path in root.glob("[0-9]*"):
        pair.until_free(root, path.name)
    jobs.end()


def typed(command: Path, *words: str, env: dict[str, str]) -> str:
    """What the installed command prints."""
    done = subprocess.run([command, *words], env=environment(env), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.real_start
def test_the_installed_command_imports_nothing_of_a_workspace(
    installed: Path, place: Path, hostile: dict[str, str], jobs: Jobs, root: Path
) -> None:
    (place / "bin").mkdir()
    (place / "bin" / "outlive").symlink_to("../link")  # as pipx and uv put it into ~/.local/bin
    (place / "link").symlink_to(installed)
    for command in (installed, place / "bin" / "outlive"):
        assert "outlive" in typed(command, "--version", env=hostile)
        typed(command, "list", env=hostile)
    said = typed(installed, "run", "--wait", "echo $PYTHONPATH $PYTHONSTARTUP", env=hostile)
    assert f"{hostile['PYTHONPATH']} {hostile['PYTHONSTARTUP']}" in said, "the job has its variables"
    end(jobs, root)
    assert not (place / "ran").exists(), (place / "ran").read_text()


@pytest.mark.real_start
def test_the_command_outside_of_an_environment_finds_the_python_of_its_packages(installed: Path, place: Path) -> None:
    (place / "env" / "pyvenv.cfg").unlink()
    (place / "env" / "lib").unlink()
    version = f"python3.{sys.version_info.minor}"
    packages = place / "env" / "lib" / version / "site-packages"
    (packages / "outlive-1.dist-info").mkdir(parents=True)
    python = place / "env" / "bin" / version
    python.write_text('#!/bin/sh\necho "$@"\n')
    python.chmod(0o755)
    assert typed(installed, "list", "a b", env={}) == f"-I -S {installed} list a b\n"
    python.unlink()
    packages.parent.rename(place / "env" / "lib" / "python3.99")
    done = subprocess.run([installed, "list"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (127, "")
    assert "python3 -m outlive" in done.stderr


@pytest.fixture(
    params=[
        ("__editable__.project.pth", "{src}"),
        ("__editable__.outlive_tools-0.1.pth", "{src}"),
        ("_editable_impl_outlive_tools.pth", "import sys; sys.path.insert(0, {src!r})"),
    ]
)
def beside(request: pytest.FixtureRequest, place: Path, work: Path, hostile: dict[str, str]) -> Path:
    """The command in an environment with a project: its editable install puts a `.pth` beside the packages of outlive,
    which leads to a workspace."""
    packages = place / "own" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (place / "own" / "bin").mkdir(parents=True)
    packages.mkdir(parents=True)
    (packages / "outlive").symlink_to(CHECKOUT / "src" / "outlive")
    name, way = request.param
    (packages / name).write_text(way.format(src=str(work / "src")) + "\n")
    (place / "own" / "bin" / "python").symlink_to(os.path.realpath(sys.executable))
    shutil.copy(Path(sys.prefix) / "pyvenv.cfg", place / "own")
    return Path(shutil.copy(CHECKOUT / "packaging" / "outlive", place / "own" / "bin"))


@pytest.mark.real_start
def test_a_project_beside_outlive_in_one_environment_is_not_imported(
    beside: Path, place: Path, jobs: Jobs, root: Path
) -> None:
    typed(beside, "list", env={})
    assert "there" in typed(beside, "run", "--wait", "echo there", env={})
    end(jobs, root)
    assert not (place / "ran").exists(), (place / "ran").read_text()


def test_a_project_beside_an_outlive_in_development_is_not_imported(tmp_path: Path) -> None:
    """The `.pth` of outlive leads to its code; that of another project is not read there either."""
    above = tmp_path / "lib" / f"python3.{sys.version_info.minor}"
    for packages in (above / "site-packages", above / "dist-packages"):  # as Debian has it
        packages.mkdir(parents=True)
        for name, folder in (("_editable_impl_outlive.pth", "ours"), ("__editable__.outlive_tools-0.1.pth", "theirs")):
            (tmp_path / folder).mkdir(exist_ok=True)
            (packages / name).write_text(f"{tmp_path / folder}\n")
    before, _, last = interpreter.SITE.rpartition("site.main()")
    code = f"{before}site.addsitepackages(set(), [{str(tmp_path)!r}])\n{last}print(*sys.path, sep='\\n')"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert str(tmp_path / "ours") in done.stdout.splitlines()
    assert str(tmp_path / "theirs") not in done.stdout.splitlines()


def test_a_command_of_a_user_finds_its_packages_by_any_name_of_the_home(tmp_path: Path) -> None:
    """As `pip install --user` puts it there. The launcher of a plugin starts it by its path without links."""
    version = f"python3.{sys.version_info.minor}"
    local, home = tmp_path / "disk" / ".local", tmp_path / "link"
    package = local / "lib" / version / "site-packages" / "outlive"
    for folder in (local / "bin", package, package.with_name("outlive-0.1.0.dist-info")):
        folder.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text("def main():\n    print('it runs')\n")
    (local / "bin" / version).symlink_to(os.path.realpath(sys.executable))
    shutil.copy(CHECKOUT / "packaging" / "outlive", local / "bin")
    home.symlink_to("disk")
    for command in (home / ".local/bin/outlive", local / "bin/outlive"):
        done = subprocess.run([command], env={"HOME": str(home)}, capture_output=True, text=True, check=False)
        assert done.stdout == "it runs\n", done.stderr


def test_openssl_reads_no_configuration_that_a_variable_names(work: Path) -> None:
    """It names libraries to be loaded, and that of a workspace is a job's. What is seen here: an algorithm is gone."""
    settings = work / "openssl.cnf"
    settings.write_text("openssl_conf = a\n[a]\nalg_section = b\n[b]\ndefault_properties = fips=yes\n")
    asked = "import _hashlib; _hashlib.openssl_sha256()"
    env = environment({"OPENSSL_CONF": str(settings)})
    for code, status in ((asked, 1), (interpreter.SITE + asked, 0)):
        done = subprocess.run([sys.executable, "-I", "-S", "-c", code], env=env, capture_output=True, check=False)
        assert done.returncode == status, done.stderr


def test_what_python_does_first_is_the_same_everywhere() -> None:
    command = (CHECKOUT / "packaging" / "outlive").read_text()
    assert interpreter.SITE in command and " -S " in command
