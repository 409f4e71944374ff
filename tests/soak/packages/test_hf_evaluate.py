import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

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

# The library takes seconds to import and reads its folders from the environment then: it runs in a process of its own.
PROGRAM = """
import json, sys
from tests.support.trials import score_of, trial
from mmeval.metrics.text.hf_evaluate import hf_evaluate
for switches in json.loads(sys.argv[1]):
    print(json.dumps(score_of(hf_evaluate, trial("a b c", "b c d"), **switches).to_json()))
"""


def scores_in_a_fresh_process(home: Path, *switches: dict[str, Any]) -> list[dict[str, Any]]:
    environment = os.environ | {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "HF_EVALUATE_OFFLINE": "1"}
    command = [sys.executable, "-c", PROGRAM, json.dumps(switches)]
    root = Path(__file__).parents[3]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_metric_of_a_local_folder_is_computed_and_an_unreachable_one_unavailable(tmp_path: Path) -> None:
    folder = tmp_path / "overlap"
    folder.mkdir()
    (folder / "overlap.py").write_text(SCRIPT)
    plain, scaled, open_field, unreachable = scores_in_a_fresh_process(
        tmp_path / "home",
        {"name": str(folder), "field": "shared", "trust_remote_code": True},
        {"name": str(folder), "field": "shared", "kwargs": {"scale": 10}, "trust_remote_code": True},
        {"name": str(folder), "trust_remote_code": True},
        {"name": "rouge"},
    )
    assert (plain["value"], plain["evidence"]) == (2.0, {"result": {"shared": 2.0, "pairs": 1.0}})
    assert scaled["value"] == 20.0
    assert (open_field["status"], unreachable["status"]) == ("unscored", "unavailable")
