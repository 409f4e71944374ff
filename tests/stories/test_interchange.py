"""Answers made elsewhere, tried from outside: exported, replayed, killed, changed,
missing, hostile."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import QUIET, Ended, mmeval, openai, results, run_folder
from tests.support.interchange import outcomes
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_story_tasks

TASKS = ("mmmg_audio_text_order", "mmmg_instrument_inclusion", "mmmg_music_tempo")
REPLY = (
    "<think>hm {number}</think>Hear {key}: <audio_start><audio_0><audio_end> and "
    "<<audio2>> {letter}"
)
BUNDLED = ("--tasks", ",".join(TASKS), "--data", "bundled", "--predict_only", *QUIET)
MODEL = "my-model"


def told(run: Path, tasks: tuple[str, ...] = TASKS) -> dict[str, Any]:
    return {task: outcomes(run, task) for task in tasks}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three tasks, two of which share a file."""
    folder = tmp_path_factory.mktemp("made")
    with MockServer(reply=REPLY) as server:
        model = openai(server, model=MODEL, outputs="text+image+audio")
        done = mmeval(
            *BUNDLED, *model, "--output_path", folder / "runs", "--log_samples"
        )
    assert done.code == 0, done.err
    return folder / "runs" / MODEL / "default"


@pytest.fixture(scope="module")
def exported(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    done = mmeval("export", made, "--format", "mmmg", "-o", folder)
    assert done.code == 0, done.err
    assert done.out == f"{folder / MODEL}\n"
    return folder / MODEL


def replay(
    path: Path,
    into: Path,
    *flags: str,
    tasks: tuple[str, ...] = BUNDLED,
    **arguments: str,
) -> Ended:
    given = {"path": str(path), "name": "again", **arguments}
    model = (
        "--model",
        "replay",
        "--model_args",
        ",".join(f"{name}={value}" for name, value in given.items()),
    )
    return mmeval(*tasks, *model, "--output_path", into, *flags)


def test_a_replay_of_an_export_has_the_same_answers(
    made: Path, exported: Path, tmp_path: Path
) -> None:
    done = replay(exported, tmp_path, format="mmmg")
    assert done.code == 0, done.err
    assert told(run_folder(tmp_path, "again")) == told(made)
    assert any(
        MODEL in line and f"{exported} (format mmmg)" in line for line in done.lines
    )
    again = replay(exported, tmp_path, format="mmmg")
    assert again.code == 0
    assert "answers kept: 40 from" in again.err
    assert results(tmp_path)["mmeval"]["spent"]["calls"] == 0


def test_samples_files_are_enough_with_their_media(made: Path, tmp_path: Path) -> None:
    (sent := tmp_path / "sent").mkdir()
    for file in made.glob("samples_*.jsonl"):
        text = file.read_text().replace(str(made), "/gone")
        (sent / file.name).write_text(text)
    alone = replay(sent, tmp_path / "alone")
    shutil.copytree(made / "media", sent / "media")
    done = replay(sent, tmp_path / "whole")
    assert alone.code == 3
    assert any("media/" in warning for warning in alone.warnings)
    assert done.code == 0, done.err
    assert told(run_folder(tmp_path / "whole", "again")) == told(made)


def test_answers_of_several_turns_are_replayed_whole(tmp_path: Path) -> None:
    folder = write_story_tasks(tmp_path / "tasks", 2)
    tasks = ("--tasks", "tale_turns,tale_first", "--include_path", str(folder), *QUIET)
    with MockServer() as server:
        first = mmeval(
            *tasks,
            *openai(server, outputs="text+image"),
            "--output_path",
            tmp_path / "runs",
        )
    done = replay(run_folder(tmp_path / "runs"), tmp_path / "runs", tasks=tasks)
    assert (first.code, done.code) == (0, 0), done.err
    assert "protocol episode" in done.err
    for task in ("tale_turns", "tale_first"):
        again = outcomes(run_folder(tmp_path / "runs", "again"), task)
        assert len(again) == 4
        assert again == outcomes(run_folder(tmp_path / "runs"), task)


def test_an_export_is_replaced_with_force(made: Path, tmp_path: Path) -> None:
    words = ("export", made, "--format", "mmmg", "-o", tmp_path)
    mmeval(*words)
    (tmp_path / MODEL / "a_old.jsonl").write_text("")
    forced = mmeval(*words, "--force")
    assert forced.code == 0, forced.err
    assert not (tmp_path / MODEL / "a_old.jsonl").exists()


UNIM = ("--tasks", "unim", "--data", "bundled", *QUIET)
WOVEN = (
    "<think>{number}</think>Look: <<image2>> {letter} <<3d1>> and <Audio 2>, "
    "```}}{{``` for {key}"
)
