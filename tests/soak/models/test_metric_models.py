"""Metrics that open models, as users run them offline: MMMG's by tiny random models, one of transformers, and a toy
whose process is killed."""

import json
import os
import signal
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.stories.test_model_lane import WHOLE, Runs
from tests.support import cli
from tests.support.cli import DEADLINE, ROOT, Ended, mmeval_process, openai, results, started, wait_for
from tests.support.metric_models import TINY, weights_folder
from tests.support.mmmg_tasks import NEED_WEIGHTS
from tests.support.mock_openai_server import MockServer
from tests.support.questions import write_task
from tests.support.task_folder import write_files
from tests.support.tiny_models import tiny_model
from tests.support.toy_weights import notes


def named(*labels: str) -> tuple[str, ...]:
    """What the bundled rows name under these labels."""
    folder = files("mmeval.tasks.mmmg") / "bundled" / "seed_instruction"
    texts = [file.read_text("utf-8") for file in folder.iterdir() if file.name.startswith("a_")]
    rows: list[dict[str, Any]] = [json.loads(line) for text in texts for line in text.splitlines()]
    return tuple(sorted({row[label] for row in rows for label in labels if isinstance(row.get(label), str)}))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    folder = tmp_path_factory.mktemp("weights")
    sounds = tuple(label.replace(" ", "_") for label in named("start", "end", "target"))
    weights_folder(folder / "models", sounds=sounds, instruments=named("instrument"))
    return cli.environment(MMEVAL_WEIGHTS_DIR=str(folder / "models"), MMEVAL_CACHE_DIR=str(folder / "cache"))


def run(output: Path, environment: Mapping[str, str], *flags: str) -> Ended:
    with MockServer() as server:
        asked = (*openai(server, outputs="text+image+audio"), "--judge", f"openai,model=j,base_url={server.url}")
        return mmeval_process(
            *("--tasks", ",".join(NEED_WEIGHTS), "--data", "bundled", "--output_path", output),
            *("--report", "false", *asked, *flags),
            env=environment,
        )


def values(found: dict[str, Any]) -> dict[tuple[str, str], Any]:
    rows = found["mmeval"]["results"]
    return {(row["task"], row["metric"]): (row["value"], row["scored"], row["n"]) for row in rows if not row["slice"]}


def test_every_task_of_mmmg_is_scored_by_all_of_its_models_and_alike_in_one_process(
    environment: Mapping[str, str], tmp_path: Path
) -> None:
    first, again = run(tmp_path / "a", environment), run(tmp_path / "b", environment, "--score_workers", "0")
    text = json.dumps(results(tmp_path / "a"))
    found = values(results(tmp_path / "a"))
    of_models = {key: value for key, value in found.items() if not key[1].startswith("judge_")}

    assert set(NEED_WEIGHTS) == {task for task, _ in of_models}
    assert all(scored == n for (_, metric), (_, scored, n) in of_models.items() if metric != "overall")
    assert all(name in text for name in TINY if not name.startswith("CPJKU")) and '"fingerprint": ""' not in text
    assert (again.code, values(results(tmp_path / "b"))) == (first.code, found)


TEXTS = ["a hare runs", "two hares run over the field and rest below an oak", "the oak is old", "why?"] * 4


def test_a_real_model_scores_the_same_in_a_run_and_by_cases_and_is_loaded_once_by_each(tmp_path: Path) -> None:
    meta = "Metadata-Version: 2.1\nName: dist-likely\nVersion: 1\n"
    points = "[mmeval.metrics]\nlikely = tests.support.toy_transformer:likely\n"
    write_files(tmp_path / "site/dist_likely-1.dist-info", {"METADATA": meta, "entry_points.txt": points})
    more = {"PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}", "TOY_NOTES": str(tmp_path / "notes")}
    env = cli.environment(**more, HF_HOME=str(tmp_path / "home"))
    env.pop("OMP_NUM_THREADS", None)
    lines = ({"id": str(i), "input": "q", "reference": text} for i, text in enumerate(TEXTS))
    file = write_task(tmp_path / "tasks", "t", lines) / "t.yaml"
    file.write_text(file.read_text().replace("exact_match", f"likely\n    model: {tiny_model('llm')}"))
    cases, params = tmp_path / "cases.jsonl", {"model": str(tiny_model("llm"))}
    cases.write_text("".join(json.dumps({"answer": text, "params": params}) + "\n" for text in TEXTS[:4]))

    done = mmeval_process("-t", file, "-M", "reference", "--output_path", tmp_path / "runs", env=env)
    (scores,) = (tmp_path / "runs").rglob("scores.jsonl")
    in_a_run = [json.loads(line)["scores"]["likely"]["value"] for line in scores.read_text().splitlines()]
    alone = mmeval_process("metric", "likely", "--cases", cases, env=env).out.splitlines()

    assert (done.code, "Loading" in done.err) == (0, False), done.err
    assert in_a_run[:4] == pytest.approx([json.loads(line)["value"] for line in alone], abs=1e-5)
    assert in_a_run == pytest.approx(in_a_run[:4] * 4, abs=1e-5), "whatever they were scored with"
    assert len(set(in_a_run[:4])) > 2
    loads = notes(tmp_path / "notes", "load")
    assert len(loads) == len({load.process for load in loads}) == 2


@pytest.mark.parametrize("victim", ["run", "process with models"])
def test_whatever_is_killed_while_models_score_every_answer_is_scored(victim: str, tmp_path: Path) -> None:
    runs = Runs(tmp_path, answer="yes slow 0.2")
    with started(*runs.words(), env=runs.env) as running:
        wait_for(lambda: len(runs.of("batch")) >= 4, "rows of the first batches")
        first = runs.of("batch")[-1].process
        os.kill(running.process.pid if victim == "run" else first, signal.SIGKILL)
        code = running.process.wait(DEADLINE)
    if victim == "run":
        code = mmeval_process(*runs.words(), env=runs.env).code

    assert (code, runs.rows) == (0, WHOLE)
    later = [int(note.more) for note in runs.of("batch") if note.process != first]
    assert 0 < sum(later) < len(WHOLE), "what was scored is kept"
