import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCRIPT = """
import datasets
import evaluate


class Overlap(evaluate.Metric):
    def _info(self):
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description="", citation="", features=datasets.Features({"predictions": text, "references": text})
        )

    def _compute(self, predictions, references, scale=1):
        shared = [len(set(p.split()) & set(r.split())) for p, r in zip(predictions, references)]
        return {"shared": scale * sum(shared), "pairs": len(shared), "note": "words"}
"""

# The library takes seconds to import and reads its folders from the environment then:
# it runs in a process of its own.
PROGRAM = """
import json, sys
from tests.support.trials import score_of, trial
from mmeval.metrics.text.hf_evaluate import hf_evaluate
for switches in json.loads(sys.argv[1]):
    print(json.dumps(score_of(hf_evaluate, trial("a b c", "b c d"), **switches).to_json()))
"""


TASK = """
task: words
loader: interleaved
dataset_path: data
breakdown: [level]
metric_list: [{metric: hf_evaluate, name: ./overlap, field: shared, aggregation: hf_evaluate}]
metadata: {version: 1.0}
"""


def in_a_fresh_process(home: Path, *command: str) -> str:
    environment = os.environ | {
        "HF_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "HF_EVALUATE_OFFLINE": "1",
    }
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, *command],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def overlap(folder: Path) -> Path:
    (folder / "overlap").mkdir()
    (folder / "overlap/overlap.py").write_text(SCRIPT)
    return folder / "overlap"


def test_a_metric_of_a_local_folder_is_computed_and_an_unreachable_one_unavailable(
    tmp_path: Path,
) -> None:
    own: dict[str, Any] = {"name": str(overlap(tmp_path)), "trust_remote_code": True}
    switches = [
        {**own, "field": "shared"},
        {**own, "field": "shared", "kwargs": {"scale": 10}},
        own,
        {"name": "rouge"},
    ]
    lines = in_a_fresh_process(
        tmp_path / "home", "-c", PROGRAM, json.dumps(switches)
    ).splitlines()
    plain, scaled, open_field, unreachable = map(json.loads, lines)
    assert (plain["value"], plain["evidence"]) == (
        2.0,
        {"result": {"shared": 2.0, "pairs": 1.0}},
    )
    assert scaled["value"] == 20.0
    assert (open_field["status"], unreachable["status"]) == ("unscored", "unavailable")


# two runs, in processes that import all of datasets and evaluate
@pytest.mark.timeout(900)
def test_all_answers_of_a_run_are_computed_in_one_call_and_again_when_it_is_scored_again(
    tmp_path: Path,
) -> None:
    overlap(tmp_path)
    (tmp_path / "data").mkdir()
    levels = [("one two", "low"), ("one two three", "high"), ("one", "high")]
    rows = [
        {"id": str(i), "input": "?", "reference": words, "level": level}
        for i, (words, level) in enumerate(levels)
    ]
    (tmp_path / "data/test.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "words.yaml").write_text(TASK)
    run = (
        f"-m mmeval --tasks {tmp_path}/words.yaml --model reference --output_path "
        f"{tmp_path}/runs"
    )
    for command in (run, f"-m mmeval score {tmp_path}/runs/reference/default"):
        in_a_fresh_process(
            tmp_path / "home", *shlex.split(command), "--trust_remote_code"
        )
        results = sorted(
            tmp_path.glob("runs/**/results_*.json"),
            key=lambda path: path.stat().st_mtime_ns,
        )
        found = {
            row["slice"]: row
            for row in json.loads(results[-1].read_text())["mmeval"]["results"]
        }
        assert {name: row["value"] for name, row in found.items()} == {
            "": 6,
            "level=high": 4,
            "level=low": 2,
        }
        assert (
            found[""]["scored"],
            found[""]["clusters"],
            found[""]["stderr"] > 0,
        ) == (3, 3, True)
