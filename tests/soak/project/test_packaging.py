"""What users install: the wheel holds the tree, and works from any folder in every way
of installing it."""

import configparser
import re
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import metadata, requires
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.utils import canonicalize_name

from mmeval.environment import installation
from mmeval.installation import DISTRIBUTION
from tests.soak.support.fresh_environment import (
    ROOT,
    FreshEnvironment,
    build_wheel,
    closure,
    copy_of_tree,
    metadata_of,
)

PACKAGES = {
    "mmeval": "mmeval",
    "tasks": "mmeval/tasks",
    "metrics": "mmeval/metrics",
} | {"model_backends": "mmeval/model_backends"}
PLUGIN = """from mmeval.metrics.text.choice import choice
from mmeval.model_backends.empty import EmptyBackend
from mmeval.tasks.unim.loader import load
choice.nothing
EmptyBackend.nothing
load.nothing
"""
DEMO = (
    "--tasks",
    "unim_hard,mmmg_audio",
    "--model",
    "reference",
    "--data",
    "bundled",
    "--output_path",
    "runs",
)


class Built(NamedTuple):
    paths: list[str]
    wheel: Path


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    tree, out = tmp_path_factory.mktemp("tree"), tmp_path_factory.mktemp("dist")
    return Built(copy_of_tree(tree), build_wheel(tree, out))


@pytest.fixture(scope="module")
def from_wheel(
    built: Built, tmp_path_factory: pytest.TempPathFactory
) -> FreshEnvironment:
    environment = FreshEnvironment.create(tmp_path_factory.mktemp("wheel") / "venv")
    environment.link(closure(metadata_of(built.wheel).requires or []))
    environment.install(str(built.wheel))
    return environment


@pytest.fixture(scope="module")
def editable(
    built: Built, tmp_path_factory: pytest.TempPathFactory
) -> FreshEnvironment:
    checkout = tmp_path_factory.mktemp("checkout")
    copy_of_tree(checkout)
    environment = FreshEnvironment.create(tmp_path_factory.mktemp("editable") / "venv")
    environment.link({*closure(metadata_of(built.wheel).requires or []), "setuptools"})
    environment.install("--editable", str(checkout))
    return environment


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder whose own modules carry the names of ours, and cannot be imported."""
    for name in (
        "tasks.py",
        "model_backends.py",
        "metrics/__init__.py",
        "mmeval_something.py",
        "report.py",
    ):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(
            f"raise RuntimeError('{name} of the current folder was imported')\n"
        )
    return tmp_path


def mapped(path: str) -> str | None:
    """Where a file of the tree stands in the wheel; None for one that is not
    shipped."""
    folder, _, rest = path.partition("/")
    return f"{PACKAGES[folder]}/{rest}" if rest and folder in PACKAGES else None


def succeeded(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_installed_metadata_are_those_of_setup_cfg() -> None:
    assert list(installation.metadata()) == []


def test_torch_and_ray_come_with_their_extras_alone_and_none_brings_another_heavy_package() -> (
    None
):
    extras = metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    needed = {
        extra: closure(requires(DISTRIBUTION) or [], [extra], installed_only=True)
        for extra in extras
    }
    assert {extra for extra in extras if "torch" in needed[extra]} == {
        "hf",
        "diffusers",
        "all",
        "dev",
    }
    assert {extra for extra in extras if "ray" in needed[extra]} == {
        "ray",
        "dev",
    }
    assert (
        set()
        .union(*needed.values())
        .isdisjoint({"torchvision", "torchaudio", "torchcodec", "gradio"})
    )


def test_the_constraints_name_each_requirement_once() -> None:
    lines = (ROOT / "constraints-ci.txt").read_text().splitlines()
    pinned = [
        canonicalize_name(line.partition("==")[0])
        for line in lines
        if line and line[0] != "#"
    ]
    extras = metadata(DISTRIBUTION).get_all("Provides-Extra") or []
    assert len(pinned) == len(set(pinned))
    assert closure(requires(DISTRIBUTION) or [], extras, installed_only=True) <= {
        DISTRIBUTION,
        *pinned,
    }


def test_the_wheel_holds_the_tree_and_nothing_else(built: Built) -> None:
    expected = {name for path in built.paths if (name := mapped(path))}
    with zipfile.ZipFile(built.wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert sorted(expected - names) == []
    assert sorted(names - expected) == []


def test_the_source_distribution_holds_the_tree(built: Built) -> None:
    (archive,) = built.wheel.parent.glob("*.tar.gz")
    with tarfile.open(archive) as files:
        names = {name.partition("/")[2] for name in files.getnames()}
    assert (
        sorted(
            {
                path
                for path in built.paths
                if path not in (".gitignore", ".pre-commit-config.yaml")
            }
            - names
        )
        == []
    )


def test_the_name_is_one() -> None:
    parser = configparser.ConfigParser(interpolation=None)
    parser.read(ROOT / "setup.cfg")
    extras = parser["options.extras_require"]
    named = {
        line.partition("[")[0]
        for text in extras.values()
        for line in text.split()
        if "[" in line
    }
    assert {parser["metadata"]["name"], *named} == {DISTRIBUTION}


def test_the_wheel_says_all_that_it_needs(
    built: Built, from_wheel: FreshEnvironment
) -> None:
    assert "No broken requirements" in from_wheel.pip("check")
    files = map(str, built.wheel.parent.iterdir())
    for command in (
        ["twine", "check", "--strict", *files],
        ["check_wheel_contents", str(built.wheel)],
    ):
        checked = subprocess.run(
            [sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True
        )
        assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize(
    ("checker", "option"),
    [("mypy", "--python-executable"), ("pyright", "--pythonpath")],
)
@pytest.mark.parametrize("environment", ["from_wheel", "editable"])
def test_a_checker_of_types_sees_the_whole_package_from_a_plugin(
    environment: str,
    checker: str,
    option: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    # pyright's own program comes from another index when it is first asked
    command = [sys.executable, "-m", checker]
    if (
        checker == "pyright"
        and subprocess.run([*command, "--version"], capture_output=True).returncode
    ):
        pytest.skip("no network")
    fresh: FreshEnvironment = request.getfixturevalue(environment)
    (tmp_path / "plugin.py").write_text(PLUGIN)
    done = subprocess.run(
        [*command, option, fresh.python, "plugin.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert re.findall(r"plugin\.py:(\d+):.*error", done.stdout) == ["4", "5", "6"], (
        done.stdout
    )


@pytest.mark.parametrize(
    "command",
    [("mmeval",), ("python", "-m", "mmeval")],
    ids=["mmeval", "python -m mmeval"],
)
@pytest.mark.parametrize("environment", ["from_wheel", "editable"])
def test_no_module_of_the_current_folder_interferes(
    environment: str,
    command: tuple[str, ...],
    hostile: Path,
    request: pytest.FixtureRequest,
) -> None:
    fresh: FreshEnvironment = request.getfixturevalue(environment)
    version = succeeded(fresh.run(*command, "--version", cwd=hostile))
    tasks = succeeded(fresh.run(*command, "ls", "tasks", cwd=hostile))
    tables = succeeded(fresh.run(*command, *DEMO, cwd=hostile))
    assert version.startswith("mmeval ")
    assert "|unim " in tasks
    assert "UniM (hard)" in tables
    assert "MMMG (sound and music)" in tables
    assert list((hostile / "runs").rglob("results_*.json"))


def test_a_plain_checkout_says_how_to_become_complete(
    built: Built, tmp_path: Path
) -> None:
    checkout = tmp_path / "checkout"
    copy_of_tree(checkout)
    bare = FreshEnvironment.create(tmp_path / "venv")
    bare.link(closure(metadata_of(built.wheel).requires or []))
    version = bare.run(
        "python", "-m", "mmeval", "--version", cwd=tmp_path, PYTHONPATH=str(checkout)
    )
    demo = bare.run(
        "python", "-m", "mmeval", *DEMO, cwd=tmp_path, PYTHONPATH=str(checkout)
    )
    assert succeeded(version).startswith("mmeval ")
    assert demo.returncode == 2
    assert "pip install -e ." in demo.stderr
