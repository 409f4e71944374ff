"""The embedded model through the command line, as ``make demo`` runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.content.media import Media
from mmeval.decode import image
from tests.support.cli import Ended, environment, mmeval_process, results, run_folder
from tests.support.embedded import embedded_cache

TINY = ("--model", "hf", "--model_args", "pretrained=tiny", "--data", "bundled")


def run(tasks: str, output: Path, *more: str) -> Ended:
    env = environment(MMEVAL_CACHE_DIR=str(embedded_cache()))
    return mmeval_process("--tasks", tasks, *TINY, "--output_path", output, *more, env=env)


def samples(output: Path, task: str) -> list[dict[str, Any]]:
    (file,) = run_folder(output, "tiny").glob(f"samples_{task}_*.jsonl")
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Ended, Path]:
    output = tmp_path_factory.mktemp("runs")
    return run("unim_hard,mmmg_audio", output, "--log_samples"), output


def test_the_demo_ends_with_0_although_a_task_cannot_be_asked(ended: tuple[Ended, Path]) -> None:
    done, output = ended
    found = results(output)["results"]

    assert done.code == 0, done.err
    assert (found["mmmg_audio"]["overall,none"], found["unim_hard"]["strict_structure,none"]) == (None, 0.0)
    assert any("its scores mean nothing" in warning for warning in done.warnings)
    assert any(warning.startswith("48 trials") for warning in done.warnings)


def test_the_samples_file_shows_pictures_as_parts_in_the_order_of_the_answer(ended: tuple[Ended, Path]) -> None:
    answers = [parts for row in samples(ended[1], "unim_hard") for parts in row["parts"] if parts is not None]

    assert [[part["type"] for part in parts] for parts in answers] == [["text", "image", "text"]] * 3
    pictures = [Path(parts[1]["media"]["path"]) for parts in answers]
    assert {image(Media.from_path(picture)).size for picture in pictures} == {(64, 48)}


def test_the_same_command_asks_nothing_again(ended: tuple[Ended, Path]) -> None:
    again = run("unim_hard,mmmg_audio", ended[1])

    assert again.code == 0
    assert any(line.startswith("kept 3 answers") for line in again.lines)
    assert not any("loading tiny" in line for line in again.lines)


def test_a_task_of_which_nothing_can_be_asked_ends_with_3(tmp_path: Path) -> None:
    done = run("mmmg_audio", tmp_path)

    assert done.code == 3
    assert "|   N/A|" in done.out or "|  N/A|" in done.out
