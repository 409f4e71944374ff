"""The embedded model through the command line, as ``make demo`` runs it."""

import json
from pathlib import Path

from mmeval.content.media import Media
from mmeval.decode import image
from tests.support.cli import Ended, environment, mmeval_process, results, run_folder
from tests.support.embedded import embedded_cache

TINY = ("--model", "hf", "--model_args", "pretrained=tiny", "--data", "bundled")


def run(tasks: str, output: Path, *more: str) -> Ended:
    env = environment(MMEVAL_CACHE_DIR=str(embedded_cache()))
    return mmeval_process("--tasks", tasks, *TINY, "--output_path", output, *more, env=env)


def test_the_demo_ends_with_0_although_a_task_cannot_be_asked_and_asks_nothing_again(tmp_path: Path) -> None:
    done = run("unim_hard,mmmg_audio", tmp_path, "--log_samples")
    found = results(tmp_path)["results"]
    (file,) = run_folder(tmp_path, "tiny").glob("samples_unim_hard_*.jsonl")
    rows = map(json.loads, file.read_text().splitlines())
    answers = [parts for row in rows for parts in row["parts"] if parts is not None]
    again = run("unim_hard,mmmg_audio", tmp_path)

    assert (done.code, again.code) == (0, 0), done.err
    assert (found["mmmg_audio"]["overall,none"], found["unim_hard"]["strict_structure,none"]) == (None, 0.0)
    assert any(warning.startswith("48 trials") for warning in done.warnings)
    assert [[part["type"] for part in parts] for parts in answers] == [["text", "image", "text"]] * 3
    pictures = [Path(parts[1]["media"]["path"]) for parts in answers]
    assert {image(Media.from_path(picture)).size for picture in pictures} == {(64, 48)}
    assert any(line.startswith("kept 3 answers") for line in again.lines)
    assert not any("loading tiny" in line for line in again.lines)


def test_a_task_of_which_nothing_can_be_asked_ends_with_3(tmp_path: Path) -> None:
    done = run("mmmg_audio", tmp_path)

    assert (done.code, "N/A|" in done.out) == (3, True)
