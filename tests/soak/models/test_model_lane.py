"""Runs whose metrics use models, from outside: killed and continued, scored again, many
cases at once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mmeval import plugins
from mmeval.metric.device import metric_device
from tests.support.cli import DEADLINE, ROOT, Ended, environment, mmeval, results
from tests.support.scoring import MODEL, WHOLE, Runs, registered
from tests.support.task_folder import write_files


@pytest.fixture(autouse=True)
def _plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(registered(tmp_path / "site").partition(os.pathsep)[0])
    plugins._registered.cache_clear()
    yield
    plugins._registered.cache_clear()


def test_a_run_loads_its_model_once_and_is_scored_by_another_model_beside_the_first(
    tmp_path: Path,
) -> None:
    runs = Runs(tmp_path)
    write_files(tmp_path / "other", {**MODEL, "config.json": "[]"})
    done = mmeval(*runs.words(), env=runs.env)
    found = results(tmp_path / "runs")
    (folder,) = (path.parent for path in (tmp_path / "runs").rglob("run.json"))

    assert (done.code, found["results"]["modelled"]["batched,none"], runs.rows) == (
        0,
        0.5,
        WHOLE,
    ), done.err
    assert (
        [note.more for note in runs.of("load")]
        == [found["mmeval"]["metric_device"]]
        == [metric_device()]
    )
    assert '"name": "model"' in json.dumps(found)
    assert str(tmp_path / "model") not in json.dumps(found).replace(str(runs.tasks), "")

    same = mmeval("score", folder, "--metric_device", "cpu", env=runs.env)
    again = mmeval(
        "score",
        folder,
        "--metric_args",
        '{"batched": {"model": "./other"}}',
        env=runs.env,
        cwd=tmp_path,
    )
    assert (same.code, again.code) == (0, 0), again.err
    assert len(runs.of("load")) == 2, "the same model scores nothing again"
    assert len(list((folder / "scores/modelled").iterdir())) == 2


def metric(folder: Path, *words: str | Path, **more: str) -> tuple[Ended, Path]:
    """``mmeval try metric batched`` with a model; where it noted what it did."""
    write_files(folder / "model", MODEL)
    file = folder / "notes"
    env = environment(TOY_NOTES=str(file), **more)
    return mmeval("try", "metric", "batched", *words, env=env, cwd=folder), file


def test_one_answer_is_scored_with_a_model_and_one_without_it_is_told(
    tmp_path: Path,
) -> None:
    done, _ = metric(
        tmp_path, "--answer", "yes", "--params", '{"model": "./model"}', "--json"
    )
    without, _ = metric(tmp_path, "--answer", "yes", HF_HOME=str(tmp_path / "home"))
    device, _ = metric(tmp_path, "--answer", "yes", "--metric_device", "cuda:97")
    assert (done.code, json.loads(done.out)["value"]) == (0, 1.0)
    assert (without.code, device.code) == (4, 4)
    assert (
        "me/scorer" in without.error,
        "--metric_device cuda:97" in device.error,
    ) == (True, True)


SCRIPT = """
import os, sys
import mmeval
from tests.support.scoring import batched

mmeval.register_metric("mine")(batched)
mmeval.evaluate(model="reference", tasks="modelled", include_path=sys.argv[1], output_path=sys.argv[2])
print(os.getpid())
"""


def test_a_batched_metric_of_a_script_is_scored_by_the_one_process_that_knows_it(
    tmp_path: Path,
) -> None:
    runs = Runs(tmp_path)
    file = runs.tasks / "modelled.yaml"
    file.write_text(file.read_text().replace("metric: batched", "metric: mine"))

    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(runs.tasks), str(tmp_path / "runs")],
        env={**runs.env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=DEADLINE,
    )

    assert done.returncode == 0, done.stderr
    (load,) = runs.of("load")
    assert (
        {note.process for note in runs.of("batch")}
        == {load.process}
        != {int(done.stdout)}
    )
