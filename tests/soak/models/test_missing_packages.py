"""Local models where a package that they need is not installed: one message with the
command that installs it."""

from pathlib import Path

import pytest

from mmeval.installation import install_command
from tests.support.cli import ROOT, environment, mmeval_process
from tests.support.models import tiny_model
from tests.support.questions import write_benchmark

BLOCKER = """
from importlib.machinery import PathFinder

found = PathFinder.find_spec
absent = lambda name, *where: None if name.partition(".")[0] == "{package}" else found(name, *where)
PathFinder.find_spec = staticmethod(absent)
"""


@pytest.mark.parametrize(
    ("model", "folder", "package", "extra"),
    [
        ("hf", "llm", "torch", "hf"),
        ("hf", "llm", "transformers", "hf"),
        ("diffusers", "sd", "diffusers", "diffusers"),
    ],
)
def test_what_is_not_installed_is_named_with_the_command_that_installs_it(
    model: str, folder: str, package: str, extra: str, tmp_path: Path
) -> None:
    (tmp_path / "start").mkdir()
    (tmp_path / "start" / "sitecustomize.py").write_text(
        BLOCKER.format(package=package)
    )
    tasks = write_benchmark(tmp_path / "tasks")
    task = tasks / "tiny.yaml"
    task.write_text(
        task.read_text().replace(
            "[text]", "[image]" if model == "diffusers" else "[text]"
        )
    )

    done = mmeval_process(
        "--tasks",
        task,
        "--model",
        model,
        "--model_args",
        f"pretrained={tiny_model(folder)}",
        "--output_path",
        tmp_path / "runs",
        env=environment(PYTHONPATH=f"{tmp_path / 'start'}:{ROOT}"),
    )

    assert done.code == 4, done.err
    assert done.error == f"{package} is not installed; run: {install_command(extra)}"
