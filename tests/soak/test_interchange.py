"""Answers made elsewhere, tried from outside: exported, replayed, killed, changed, missing, hostile."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.answered import outcomes
from tests.support.cli import ROOT, Ended, environment, mmeval_process, openai, run_folder
from tests.support.mock_openai_server import MockServer

TASKS = ("mmmg_audio_text_order", "mmmg_instrument_inclusion", "mmmg_music_tempo")
REPLY = "<think>hm {number}</think>Hear {key}: <audio_start><audio_0><audio_end> and <<audio2>> {letter}"
BUNDLED = ("--tasks", ",".join(TASKS), "--data", "bundled", "--predict_only", "--report", "false")
MODEL = "my-model"


def told(run: Path) -> dict[str, Any]:
    return {task: outcomes(run, task) for task in TASKS}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three tasks, two of which share a file."""
    folder = tmp_path_factory.mktemp("made")
    with MockServer(reply=REPLY) as server:
        model = openai(server, model=MODEL, outputs="text+image+audio")
        done = mmeval_process(*BUNDLED, *model, "--output_path", folder / "runs", "--log_samples")
    assert done.code == 0, done.err
    return folder / "runs" / MODEL / "default"


@pytest.fixture(scope="module")
def exported(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported")
    done = mmeval_process("export", made, "--format", "mmmg", "-o", folder)
    assert done.code == 0, done.err
    assert done.out == f"{folder / MODEL}\n"
    return folder / MODEL


@pytest.fixture
def copy(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "copy"))


def replay(path: Path, into: Path, *flags: str, tasks: tuple[str, ...] = BUNDLED, **arguments: str) -> Ended:
    given = {"path": str(path), "name": "again", **arguments}
    model = ("--model", "replay", "--model_args", ",".join(f"{name}={value}" for name, value in given.items()))
    return mmeval_process(*tasks, *model, "--output_path", into, *flags)


# --- nothing is spent, nothing is asked twice -------------------------------------------------------------------------


@pytest.mark.parametrize("point", ["receipt", "media", "line"])
def test_a_replay_that_is_killed_goes_on_where_it_was(point: str, made: Path, exported: Path, tmp_path: Path) -> None:
    model = ["--model", "replay", "--model_args", f"path={exported},format=mmmg,name=again"]
    child = [sys.executable, "-m", "tests.support.dying", point, "7", *BUNDLED, *model, "--output_path", str(tmp_path)]
    killed = subprocess.run(child, env={**environment(), "PYTHONPATH": str(ROOT)}, cwd=ROOT, capture_output=True)
    done = replay(exported, tmp_path, format="mmmg")

    assert killed.returncode == -9
    assert done.code == 0, done.err
    assert told(run_folder(tmp_path, "again")) == told(made)


# --- export -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def dying(tmp_path: Path) -> Iterator[list[str]]:
    """A process that is killed after the third medium of an export."""
    script = (
        "import sys; from mmeval.__main__ import main; from mmeval.tasks.mmmg.output_writing import _FileWriter;"
        "from tests.support.dying import after, die; after(_FileWriter, '_put', 3, die); sys.exit(main(sys.argv[1:]))"
    )
    yield [sys.executable, "-c", script]


def test_an_export_that_is_killed_leaves_nothing_half_done(made: Path, dying: list[str], tmp_path: Path) -> None:
    words = ["export", str(made), "--format", "mmmg", "-o", str(tmp_path)]
    killed = subprocess.run([*dying, *words], env={**environment(), "PYTHONPATH": str(ROOT)}, capture_output=True)
    assert killed.returncode == -9
    assert not (tmp_path / MODEL).exists()

    done = mmeval_process(*words)

    assert done.code == 0, done.err
    assert [path.name for path in tmp_path.iterdir()] == [MODEL]


# --- UniM -------------------------------------------------------------------------------------------------------------

UNIM = ("--tasks", "unim", "--data", "bundled", "--report", "false")
WOVEN = "<think>{number}</think>Look: <<image2>> {letter} <<3d1>> and <Audio 2>, ```}}{{``` for {key}"


@pytest.fixture(scope="module")
def woven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of UniM by a model that thinks, takes no 3D, and forgets media that it announces."""
    folder = tmp_path_factory.mktemp("woven")
    with MockServer(reply=WOVEN) as server:
        model = openai(server, model=MODEL, inputs="text+image+audio+document+video", outputs="text+image+audio")
        done = mmeval_process(*UNIM, *model, "--output_path", folder / "runs")
    assert done.code == 0, done.err
    return folder / "runs" / MODEL / "default"


@pytest.fixture(scope="module")
def released(woven: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("released")
    done = mmeval_process("export", woven, "--format", "unim", "-o", folder)
    assert done.code == 3
    assert [said.partition(":")[0] for said in done.warnings] == ["2 answers"]
    return folder / MODEL


def test_an_export_of_unim_that_is_killed_leaves_nothing_half_done(woven: Path, tmp_path: Path) -> None:
    script = (
        "import sys; from mmeval.__main__ import main; from mmeval.tasks.unim.output.writing import _Files;"
        "from tests.support.dying import after, die; after(_Files, 'put', 5, die); sys.exit(main(sys.argv[1:]))"
    )
    words = ["export", str(woven), "--format", "unim", "-o", str(tmp_path)]
    child = [sys.executable, "-c", script, *words]
    killed = subprocess.run(child, env={**environment(), "PYTHONPATH": str(ROOT)}, capture_output=True)

    assert killed.returncode == -9
    assert not (tmp_path / MODEL).exists()
    assert mmeval_process(*words).code == 3
    assert [path.name for path in tmp_path.iterdir()] == [MODEL]
