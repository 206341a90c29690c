"""What is built from a clone: a release is refused where it would not be one, and what is built can be installed and run."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from urllib.parse import parse_qs, unquote, urlsplit

import jsonschema
import pytest

from conformance import npm
from support.package_index import for_uv, is_in_trouble

CHECKOUT = Path(__file__).resolve().parent.parent.parent
URL = "https://github.com/someone/outlive"
BOUND_S = 300


@pytest.fixture(scope="module")
def scripts() -> ModuleType:
    """scripts/release.py, with scripts/plugins.py in it."""
    sys.path.insert(0, str(CHECKOUT / "scripts"))
    try:
        spec = importlib.util.spec_from_file_location("release", CHECKOUT / "scripts" / "release.py")
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(CHECKOUT / "scripts"))
    return module


# --- what a release is refused for ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_no_release_is_made_while_the_repository_is_not_known(scripts: ModuleType) -> None:
    about = scripts.plugins.project("")
    assert any("Repository" in one for one in scripts.obstacles(about))
    assert not any("Repository" in one for one in scripts.obstacles(scripts.plugins.project(URL)))


def test_a_release_wants_in_the_readme_what_registries_and_editors_look_for(scripts: ModuleType) -> None:
    (told,) = (one for one in scripts.obstacles(scripts.plugins.project(URL)) if one.startswith("README.md"))
    assert "<!-- mcp-name: io.github.someone/outlive -->" in told
    assert "cursor://" in told
    assert "insiders.vscode.dev" in told


def test_no_release_is_made_of_a_version_without_a_dated_entry(scripts: ModuleType) -> None:
    about = scripts.plugins.project(URL)._replace(version="99.0.0")
    assert any("CHANGELOG.md has no entry `## 99.0.0 - " in one for one in scripts.obstacles(about))


def test_no_release_is_made_of_a_tree_with_changes(scripts: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripts, "_run", lambda *_, **__: " M README.md\n")
    assert any("changes" in one for one in scripts.obstacles(scripts.plugins.project(URL)))


@pytest.mark.parametrize("name", ["outlive/.env", "tests/test_x.py", "outlive/notes.txt"])
def test_a_wheel_with_what_does_not_belong_there_is_refused(
    name: str, scripts: ModuleType, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripts, "_run", lambda *_, **__: "")
    wheel = place / "outlive-1-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(name, "")
    with pytest.raises(scripts.Refused, match=name):
        scripts.check([wheel])


def test_the_version_stands_in_one_place() -> None:
    text = (CHECKOUT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in text
    assert "\nversion =" not in text


# --- forms for registries ------------------------------------------------------------------------------------------------


def test_the_links_of_editors_hold_the_published_command(scripts: ModuleType) -> None:
    links = scripts.plugins.links(scripts.plugins.project(URL))
    config = parse_qs(urlsplit(links["Cursor"]).query)["config"][0]
    assert json.loads(base64.b64decode(config)) == {"command": "uvx", "args": ["outlive", "mcp"]}
    inner = unquote(links["VS Code"].partition("?url=")[2])
    assert inner.startswith("vscode:mcp/install?")
    assert json.loads(unquote(inner.partition("?")[2]))["name"] == "outlive"


def test_the_entry_of_the_registry_names_the_package_as_the_owner(scripts: ModuleType) -> None:
    entry = scripts.plugins.server_json(scripts.plugins.project(URL))
    assert entry["name"] == "io.github.someone/outlive"
    assert len(entry["description"]) <= 100  # the registry's limit
    (package,) = entry["packages"]
    assert (package["registryType"], package["version"]) == ("pypi", entry["version"])


@pytest.mark.slow
def test_the_entry_of_the_registry_keeps_the_schema_of_the_registry(scripts: ModuleType, place: Path) -> None:
    needs("skillsaw")
    path = scripts.entry(scripts.plugins.project(URL), place)
    path.write_text(path.read_text(encoding="utf-8").replace('"transport"', '"transport_"'), encoding="utf-8")
    with pytest.raises(scripts.Refused, match="'transport' is a required property"):
        scripts.lint(place)


@pytest.mark.slow
def test_the_plugin_and_its_skill_keep_the_published_schemas(scripts: ModuleType) -> None:
    needs("skillsaw")
    try:
        scripts.lint(CHECKOUT / "plugins")
    except scripts.Refused as refused:
        pytest.fail(str(refused))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ci", "release"])
def test_a_workflow_is_one_that_github_would_read(name: str) -> None:
    needs("check_jsonschema")
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    words.append(str(CHECKOUT / ".github" / "workflows" / f"{name}.yml"))
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=BOUND_S)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_the_manifest_of_the_bundle_keeps_the_schema_of_its_vendor(scripts: ModuleType, place: Path) -> None:
    at = npm.CACHE / "mcpb-2.1.2"
    try:
        npm.keep(at, ["install", "--no-save", "@anthropic-ai/mcpb@2.1.2"])
    except npm.Unavailable as error:
        pytest.skip(str(error))
    about = scripts.plugins.project(URL)
    schema = at / "node_modules/@anthropic-ai/mcpb/dist/mcpb-manifest-v0.4.schema.json"
    jsonschema.validate(scripts.plugins.mcpb(about), json.loads(schema.read_text(encoding="utf-8")))
    bundle = scripts.bundle(about, place)
    out = place / "out"
    program = str(at / "node_modules/.bin/mcpb")
    for words in ([program, "unpack", str(bundle), str(out)], [program, "validate", str(out / "manifest.json")]):
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=BOUND_S)
        assert done.returncode == 0, done.stdout + done.stderr
    assert (out / "src" / "outlive" / "__main__.py").is_file()


# --- the wheel itself ----------------------------------------------------------------------------------------------------


def needs(*modules: str) -> None:
    for name in modules:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed: pip install -e '.[release]'")


@pytest.fixture(scope="module")
def built(scripts: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    needs("build", "twine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", "1795000000")  # a copy of the tree has no commits
        try:
            made: list[Path] = scripts.build(tmp_path_factory.mktemp("dist"))
        except scripts.Refused as refused:  # each build asks the index for its backend
            if is_in_trouble(str(refused)):
                pytest.skip("the package index cannot be reached")
            raise
    return made


@pytest.mark.slow
def test_two_builds_are_equal_and_the_wheel_holds_the_package_alone(scripts: ModuleType, built: list[Path]) -> None:
    assert [path.suffix for path in built] == [".whl", ".gz"]
    scripts.check(built)


@pytest.mark.slow
def test_the_wheel_runs_by_uvx(built: list[Path], place: Path) -> None:
    needs("uv")
    wheel = next(path for path in built if path.suffix == ".whl")
    env = {
        "HOME": str(place / "empty"),
        "PATH": os.environ["PATH"],
        "UV_CACHE_DIR": str(place / "uv"),
        "LANG": "C.UTF-8",
    }
    env |= for_uv()
    Path(env["HOME"]).mkdir()
    words = [
        sys.executable,
        "-m",
        "uv",
        "tool",
        "run",
        "--python",
        sys.executable,
        "--from",
        str(wheel),
        "outlive",
        "demo",
    ]
    for _ in range(8):
        done = subprocess.run(words, env=env, cwd=place, capture_output=True, text=True, check=False, timeout=BOUND_S)
        if done.returncode and is_in_trouble(done.stderr):
            pytest.skip("the package index cannot be reached")
        if "too busy to show it" not in done.stdout:  # the demo has a job of three seconds
            break
    assert done.returncode == 0, done.stdout + done.stderr
    assert "None is missing" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_every_dependency_has_a_wheel_for_each_python(version: str, place: Path) -> None:
    needs("uv")
    words = [
        sys.executable,
        "-m",
        "uv",
        "pip",
        "compile",
        str(CHECKOUT / "pyproject.toml"),
        "--python-version",
        version,
    ]
    words += ["--only-binary", ":all:", "--python-platform", "x86_64-manylinux_2_28", "--no-header", "-q"]
    env = {**os.environ, **for_uv()}
    done = subprocess.run(words, env=env, cwd=place, capture_output=True, text=True, check=False, timeout=BOUND_S)
    if done.returncode and is_in_trouble(done.stderr):
        pytest.skip("the package index cannot be reached")
    assert done.returncode == 0, done.stderr
    assert "google-re2==" in done.stdout
