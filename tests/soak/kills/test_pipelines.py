"""A run of a pipeline that is killed: resumed, it gives the same bytes."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import environment, mmeval_process, wait_for
from tests.support.models import tiny_model
from tests.support.task_folder import task, write_files, write_rows

ROWS = 4
SHORT = {
    "image": "image.size=64x64",
    "video": "video.size=32x32,video.frames=5",
    "audio": "audio.seconds=0.05",
}
"""The options with which tiny pipelines answer fast."""


def command(folder: Path, name: str, model: str, gives: str) -> list[str]:
    """The flags of a run whose answers are in ``folder / name``."""
    rows = (
        {"id": str(i), "input": f"a hare {i}", "reference": f"<<{gives}1>>"}
        for i in range(ROWS)
    )
    write_rows(folder / "tasks" / "data", *rows)
    more = f"dataset_path: data\noutput_modalities: [{gives}]\n"
    text = task("shown", more).replace("exact_match", "strict_structure")
    write_files(folder / "tasks", {"shown.yaml": text})
    return [
        "--tasks",
        str(folder / "tasks" / "shown.yaml"),
        "--model",
        "diffusers",
        "--model_args",
        f"pretrained={tiny_model(model)},num_inference_steps=2",
        "--gen_kwargs",
        SHORT[gives],
        "--output_path",
        str(folder / name),
    ]


def media(folder: Path) -> set[str]:
    """The names of the media, which are the digests of their bytes."""
    return {
        path.name
        for path in folder.rglob("*")
        if path.suffix in (".png", ".mp4", ".wav") and path.is_file()
    }


@pytest.mark.parametrize(
    ("model", "gives"), [("sd", "image"), ("wan", "video"), ("stable_audio", "audio")]
)
def test_a_killed_run_of_a_pipeline_ends_with_the_same_bytes(
    tmp_path: Path, model: str, gives: str
) -> None:
    whole = mmeval_process(*command(tmp_path, "whole", model, gives))
    assert whole.code == 0, whole.err
    arguments = command(tmp_path, "killed", model, gives)
    words = [sys.executable, "-m", "mmeval", *arguments]
    with subprocess.Popen(
        words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_for(lambda: bool(media(tmp_path / "killed")), "the first medium")
        process.kill()
    resumed = mmeval_process(*arguments, "--batch_size", "1")
    assert resumed.code == 0, resumed.err
    assert len(media(tmp_path / "whole")) == ROWS
    assert media(tmp_path / "killed") == media(tmp_path / "whole")
