"""What is imported when: a command pays for what it uses, and the core knows no
benchmark."""

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from mmeval.errors import EXIT_INCOMPLETE, EXIT_OK
from tests.support.mock_openai_server import MockServer
from tests.support.models import tiny_model
from tests.support.questions import write_benchmark

ROOT = Path(__file__).parents[3]
LOCAL = {
    "torch",
    "ray",
    "transformers",
    "diffusers",
    "accelerate",
    "safetensors",
    "tokenizers",
}
"""What local models need, and takes seconds to import."""
UNNEEDED_BY_TEXT = {
    "mmeval.media.decode.av",
    "mmeval.media.decode.document",
    "mmeval.media.decode.mesh",
    "mmeval.media.decode.picture",
    "mmeval.report.layouts",
    "mmeval.task.layout_file",
}
"""What decodes media and makes the tables of papers."""
HEAVY = {
    "numpy",
    "PIL",
    "datasets",
    "evaluate",
    "scipy",
    "pandas",
    "pyarrow",
    "av",
    "soundfile",
    "trimesh",
} | LOCAL
RUN = (
    "--tasks",
    "unim_hard",
    "--model",
    "reference",
    "--data",
    "bundled",
    "--limit",
    "2",
    "--output_path",
    "runs",
)
MEASURED = ("image_quality", "audio_quality", "quality_3d")
"""Metrics of that task that decode media."""
BENCHMARK = re.compile(
    r"(?<![a-z0-9])(unim|unima|mmmg|isg|mme[-_ ]?unify|ueval)(?![a-z0-9])",
    re.IGNORECASE,
)
EXAMPLE = re.compile(r'^ +"?mmeval run .*$', re.MULTILINE)
"""An example in a help. It can be pasted, so it names a task."""


RECORDER = """
import os, sys

class Recorder:
    def find_spec(self, name, path=None, target=None):
        if "importlib.util" in sys._getframe(2).f_code.co_filename.replace(os.sep, "."):
            return  # a look whether it is there imports nothing
        with open(os.environ["IMPORTS_LOG"], "a") as log:
            log.write(f"{os.getpid()} {name}\\n")

sys.meta_path.insert(0, Recorder())
"""
"""Notes every import, by statement or by importlib, in a command and in its worker
processes."""


class Imported(NamedTuple):
    """The modules that a command imports itself after its start, and those that its
    worker processes import."""

    itself: set[str]
    workers: set[str]


def imported(words: Sequence[str], cwd: Path, code: int = EXIT_OK) -> Imported:
    log, start = cwd / "imports.log", cwd / "start"
    start.mkdir(exist_ok=True)
    (start / "sitecustomize.py").write_text(RECORDER)
    log.write_text("")
    environ = os.environ | {"IMPORTS_LOG": str(log), "PYTHONPATH": str(start)}
    command = [sys.executable, *words]
    with subprocess.Popen(
        command, cwd=cwd, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    ) as process:
        said, _ = process.communicate()
    assert process.returncode == code, said
    found = Imported(set(), set())
    for line in log.read_text().splitlines():
        pid, name = line.split()
        (found.itself if pid == str(process.pid) else found.workers).add(name)
    return found


def third_party(modules: set[str]) -> set[str]:
    """The top-level packages among them that are neither ours nor Python's; what is not
    installed does not count."""
    packages = {name.partition(".")[0] for name in modules} - {
        *sys.stdlib_module_names,
        "mmeval",
    }
    return {name for name in packages if importlib.util.find_spec(name) is not None}


def of_ours(modules: set[str], package: str) -> set[str]:
    return {name for name in modules if name.startswith(f"{package}.")}


LIGHT = {
    "import mmeval": (["-c", "import mmeval"], set()),
    "--version": (["-m", "mmeval", "--version"], set()),
    "--help": (["-m", "mmeval", "--help"], set()),
    "ls tasks": (["-m", "mmeval", "ls", "tasks"], {"yaml", "_yaml", "orjson"}),
    "ls backends": (["-m", "mmeval", "ls", "backends"], {"orjson", "rich"}),
    "ls adapters": (["-m", "mmeval", "ls", "adapters"], {"orjson", "rich"}),
}
"""Commands, and the packages of others that each may import."""


@pytest.mark.parametrize(("words", "allowed"), LIGHT.values(), ids=LIGHT)
def test_a_light_command_imports_only_what_is_allowed(
    words: list[str], allowed: set[str], tmp_path: Path
) -> None:
    itself, workers = imported(words, tmp_path)
    assert third_party(itself) <= allowed
    assert (of_ours(itself, "mmeval.metrics"), workers) == (set(), set())


UNNEEDED = {
    "--help": {"argparse", "asyncio", "dataclasses", "difflib", "shutil", "textwrap"},
    "run --help": {"asyncio", "ssl", "mmeval.broker.cluster", "mmeval.store"},
}
"""Helps, and slow imports that each can do without."""


@pytest.mark.parametrize(("words", "unneeded"), UNNEEDED.items(), ids=UNNEEDED)
def test_a_help_imports_nothing_slow_that_it_does_not_need(
    words: str, unneeded: set[str], tmp_path: Path
) -> None:
    itself, _ = imported(["-m", "mmeval", *words.split()], tmp_path)
    assert itself & unneeded == set()


def test_a_run_of_the_reference_imports_what_it_names_and_of_heavy_packages_pillow_alone(
    tmp_path: Path,
) -> None:
    itself, workers = imported(
        ["-m", "mmeval", *RUN, "--skip_metric", ",".join(MEASURED)], tmp_path
    )
    assert third_party(itself) & HEAVY == {"PIL"}, (
        "the page reads the headers of pictures"
    )
    assert third_party(workers) & HEAVY == set()
    assert of_ours(itself | workers, "mmeval.model_backends") == {
        "mmeval.model_backends.reference"
    }
    assert "mmeval.metrics.structure.strict_structure" in itself | workers
    assert (
        of_ours(itself | workers, "mmeval.metrics.text")
        | of_ours(itself | workers, "mmeval.tasks.mmmg")
        == set()
    )


def test_a_run_of_plain_questions_imports_no_package_for_tables_or_statistics(
    tmp_path: Path,
) -> None:
    write_benchmark(tmp_path)
    itself, workers = imported(
        ["-m", "mmeval", "--tasks", "tiny.yaml", *RUN[2:4], *RUN[8:]], tmp_path
    )
    slow = {"rich", "numpy", "scipy", "aiohttp", "attr"}
    assert third_party(itself | workers) & slow == set()


def test_a_run_of_a_server_imports_nothing_that_local_models_need(
    tmp_path: Path,
) -> None:
    write_benchmark(tmp_path)
    with MockServer() as server:
        served = ("--model", "openai", "--model_args", f"base_url={server.url},model=m")
        itself, workers = imported(
            ["-m", "mmeval", "--tasks", "tiny.yaml", *served, *RUN[8:]], tmp_path
        )
    assert third_party(itself | workers) & LOCAL == set()
    assert {
        "mmeval.broker.worker",
        "mmeval.broker.worker_pool",
        "mmeval.broker.worker_service",
    } & itself == set()
    assert UNNEEDED_BY_TEXT & (itself | workers) == set()


@pytest.mark.parametrize(("model", "folder"), [("hf", "llm"), ("diffusers", "sd")])
def test_a_local_model_is_described_without_what_runs_it(
    model: str, folder: str, tmp_path: Path
) -> None:
    named = ("--model", model, "--model_args", f"pretrained={tiny_model(folder)}")
    itself, _ = imported(
        ["-m", "mmeval", *RUN[:2], *named, *RUN[4:], "--dry_run"],
        tmp_path,
        EXIT_INCOMPLETE,  # it cannot be asked all samples
    )
    assert third_party(itself) & LOCAL == set()


def test_the_core_names_no_benchmark() -> None:
    files = [
        path
        for path in (ROOT / "mmeval").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]
    naming: list[str] = []
    for file in files:
        text = EXAMPLE.sub("", file.read_text(errors="replace"))
        if BENCHMARK.search(f"{file.name}\n{text}"):
            naming.append(str(file))
    assert naming == []
