"""Build a release and check it: everything but the upload.

    python scripts/release.py            # into dist/
    python scripts/release.py --check    # only say what stands in the way

It refuses a tree with changes, a project whose repository is not known, a version without a dated entry in CHANGELOG.md,
and files that are out of date. It builds twice and compares, checks what is in the wheel, and signs where the host can:
with the identity that GitHub Actions gives to a job. Uploading is left to the host: docs/reference/versions.md.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import plugins

CHECKOUT = plugins.CHECKOUT
COMMAND = "packaging/outlive"  # what is installed as `outlive`
WHEEL_BYTES = 1_500_000
_ABOUT = re.compile(r"outlive-[\w.]+\.(dist-info/|data/scripts/outlive$)")  # what a wheel holds besides the package
_IDENTITY = "ACTIONS_ID_TOKEN_REQUEST_URL"


class Refused(Exception):
    """What stands in the way of a release."""


def obstacles(about: plugins.Project) -> list[str]:
    """Return what stands in the way, each as a sentence that says what to do."""
    found = []
    try:
        if _run("git", "status", "--porcelain"):
            found.append("The tree has changes: commit or remove them.")
    except Refused:
        found.append("This is no clone with git, so it cannot be told whether it was changed: release from one.")
    try:
        wanted = plugins.published(about)
    except ValueError as error:
        found.append(f"{error}.")
    else:
        readme = (CHECKOUT / "README.md").read_text(encoding="utf-8")
        if "Not published yet" in readme or any(line not in readme for line in wanted):
            lines = "\n".join(f"    {line}" for line in wanted)
            found.append(f"README.md says that nothing is published; put these lines in that place:\n{lines}")
    log = (CHECKOUT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## {re.escape(about.version)} - \d{{4}}-\d\d-\d\d$", log, re.MULTILINE):
        found.append(f"CHANGELOG.md has no entry `## {about.version} - YYYY-MM-DD`: date the unreleased one.")
    for script in ("plugins.py", "reference.py"):
        words = [sys.executable, str(CHECKOUT / "scripts" / script), "--check"]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        found += [] if done.returncode == 0 else [done.stderr.strip()]
    return found


def build(to: Path) -> list[Path]:
    """Build the sdist and the wheel twice, the wheel from the sdist. Errors: Refused if the two differ."""
    date = os.environ.get("SOURCE_DATE_EPOCH") or _run("git", "log", "-1", "--format=%ct").strip()
    env = {**os.environ, "SOURCE_DATE_EPOCH": date}
    with tempfile.TemporaryDirectory() as second:
        for place in (to, Path(second)):
            _run(sys.executable, "-m", "build", "--outdir", str(place), str(CHECKOUT), env=env)
        made = sorted(path for path in to.iterdir() if path.name.endswith((".whl", ".tar.gz")))
        differ = [path.name for path in made if _digest(path) != _digest(Path(second) / path.name)]
    if differ:
        raise Refused(f"two builds differ: {', '.join(differ)}")
    return made


def check(made: list[Path]) -> None:
    """Errors: Refused for metadata that PyPI would refuse, and for a wheel with the wrong content."""
    _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, made))
    (wheel,) = (path for path in made if path.suffix == ".whl")
    if wheel.stat().st_size > WHEEL_BYTES:
        raise Refused(f"{wheel.name} has {wheel.stat().st_size} bytes, more than {WHEEL_BYTES}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    source = {f"outlive/{path.relative_to(CHECKOUT / 'src' / 'outlive')}" for path in _source()}
    strange = [name for name in names if name not in source and not _ABOUT.match(name)]
    if strange or source - set(names):
        raise Refused(f"{wheel.name}: not wanted {strange}, missing {sorted(source - set(names))}")


def _source() -> list[Path]:
    """Return the files of the package: its modules, and what they read."""
    found = (CHECKOUT / "src" / "outlive").rglob("*")
    return [path for path in found if path.is_file() and "__pycache__" not in path.parts]


def bundle(about: plugins.Project, to: Path) -> Path:
    """Write the MCPB bundle: the source, run by the host's uv."""
    path = to / f"{about.name}-{about.version}.mcpb"
    files = [CHECKOUT / name for name in ("pyproject.toml", "README.md", "LICENSE", COMMAND)] + _source()
    members = {str(file.relative_to(CHECKOUT)): file.read_bytes() for file in files}
    members["manifest.json"] = json.dumps(plugins.mcpb(about), indent=2).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(members):
            member = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            member.external_attr = (0o100755 if name == COMMAND else 0o100644) << 16
            archive.writestr(member, members[name], zipfile.ZIP_DEFLATED)
    return path


def entry(about: plugins.Project, to: Path) -> Path:
    """Write server.json, for the MCP registry. Errors: Refused if the registry's schema refuses it."""
    path = to / "server.json"
    path.write_text(json.dumps(plugins.server_json(about), indent=2) + "\n", encoding="utf-8")
    lint(to)
    return path


def lint(tree: Path) -> None:
    """Check the forms below a directory: entry of the registry, plugin, skill. Errors: Refused.

    skillsaw holds the published schemas of them all, the registry's of 2025-12-11 included.
    """
    _run(sys.executable, "-m", "skillsaw", "lint", str(tree))


def sign(made: list[Path]) -> str:
    """Make attestations beside the files, where the host has an identity to sign with; say what was done."""
    if _IDENTITY not in os.environ:
        return "not signed: this host has no identity; GitHub Actions gives one to a job with `id-token: write`"
    _run(sys.executable, "-m", "pypi_attestations", "sign", *map(str, made))
    return "signed"


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(*words: str, env: dict[str, str] | None = None) -> str:
    """Return what a command prints. Errors: Refused, with its output, if it fails."""
    done = subprocess.run(words, cwd=CHECKOUT, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Refused(f"{' '.join(words[:4])} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def main(words: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="build nothing")
    asked = parser.parse_args(words)
    about = plugins.project()
    try:
        if found := obstacles(about):
            raise Refused("\n".join(f"- {one}" for one in found))
        if asked.check:
            return 0
        to = CHECKOUT / "dist"
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        made = build(to)
        check(made)
        signed = sign(made)
        made += [bundle(about, to), entry(about, to)]
    except Refused as refused:
        print(f"no release:\n{refused}", file=sys.stderr)
        return 1
    for path in made:
        print(f"{_digest(path)}  {path.relative_to(CHECKOUT)}")
    print(signed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
