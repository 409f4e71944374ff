"""A metric that uses a real, tiny, random model of transformers: scored by the model lane of a run, and by cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import ROOT, environment, mmeval_process
from tests.support.questions import write_task
from tests.support.task_folder import write_files
from tests.support.tiny_models import tiny_model
from tests.support.toy_weights import notes

TEXTS = [
    "a hare runs",
    "two hares run over the field and rest below an oak",
    "the oak is old",
    "why?",
    "an old oak",
] * 4


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    meta = "Metadata-Version: 2.1\nName: dist-likely\nVersion: 1\n"
    points = "[mmeval.metrics]\nlikely = tests.support.toy_transformer:likely\n"
    write_files(tmp_path / "site/dist_likely-1.dist-info", {"METADATA": meta, "entry_points.txt": points})
    more = {"PYTHONPATH": f"{tmp_path / 'site'}:{ROOT}", "TOY_NOTES": str(tmp_path / "notes")}
    found = environment(**more, HF_HOME=str(tmp_path / "home"))
    found.pop("OMP_NUM_THREADS", None)
    return found


def in_a_run(folder: Path, env: dict[str, str]) -> list[dict[str, Any]]:
    lines = ({"id": str(i), "input": "q", "reference": text} for i, text in enumerate(TEXTS))
    tasks = write_task(folder / "tasks", "likely_task", lines)
    file = tasks / "likely_task.yaml"
    file.write_text(file.read_text().replace("exact_match", f"likely\n    model: {tiny_model('llm')}"))
    where = ["--include_path", str(tasks), "--output_path", str(folder / "runs")]
    done = mmeval_process("-t", "likely_task", "-M", "reference", *where, env=env)
    assert done.code == 0, done.err
    assert "Loading" not in done.err, "libraries show no bars of their own"
    (found,) = (folder / "runs").rglob("scores.jsonl")
    return [json.loads(line)["scores"]["likely"] for line in found.read_text().splitlines()]


def test_a_real_model_scores_the_same_in_a_run_and_by_cases_and_is_loaded_once_by_each(
    tmp_path: Path, env: dict[str, str]
) -> None:
    file = tmp_path / "cases.jsonl"
    params = {"model": str(tiny_model("llm"))}
    file.write_text("".join(json.dumps({"answer": text, "params": params}) + "\n" for text in TEXTS[:5]))

    values = [score["value"] for score in in_a_run(tmp_path, env)]
    cases = [json.loads(line) for line in mmeval_process("metric", "likely", "--cases", file, env=env).out.splitlines()]

    assert values[:5] == pytest.approx([row["value"] for row in cases], abs=1e-5)
    assert values == pytest.approx(values[:5] * 4, abs=1e-5), "whatever they were scored with"
    assert len(set(values[:5])) > 2
    loads = notes(tmp_path / "notes", "load")
    assert len(loads) == len({load.process for load in loads}) == 2
