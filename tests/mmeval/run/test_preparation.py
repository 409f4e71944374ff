from dataclasses import replace
from pathlib import Path
from typing import Any

from mmeval.run.options import BackendSpec, RunOptions
from mmeval.run.preparation import model_name, run_path


def test_a_run_lies_under_its_model_and_its_id() -> None:
    options = RunOptions(
        model=BackendSpec("hf", {"pretrained": "org/m"}), output_path=Path("runs")
    )
    changes: list[dict[str, Any]] = [{}, {"model_tag": "my tag"}, {"run_id": "night/7"}]
    paths = [str(run_path(replace(options, **change))) for change in changes]
    assert paths == [
        "runs/org__m/default",
        "runs/my__tag/default",
        "runs/org__m/night__7",
    ]
    assert (
        model_name(RunOptions(model=BackendSpec("empty"), output_path=Path()))
        == "empty"
    )
