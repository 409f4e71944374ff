"""A metric that opens weights, as an installed distribution that other processes see: its number is their length."""

from __future__ import annotations

from pathlib import Path

from mmeval.metric import metric
from mmeval.records import Trial
from mmeval.weights import Weights
from tests.support.cli import ROOT
from tests.support.task_folder import write_files

COMMIT = "c" * 40
WEIGHTS = Weights("me/scorer", COMMIT, ("config.json", "model.safetensors"))


@metric(range=(0, 100), version="1", source="test", weights=(WEIGHTS,))
def weighed(trial: Trial) -> float:
    return float((WEIGHTS.folder / "model.safetensors").stat().st_size)


def registered(folder: Path) -> str:
    """Register the metric by a distribution in a folder; the value of PYTHONPATH under which it is found."""
    lines = "[mmeval.metrics]\nweighed = tests.support.toy_weights:weighed\n"
    meta = "Metadata-Version: 2.1\nName: dist-weighed\nVersion: 1\n"
    write_files(folder / "dist_weighed-1.dist-info", {"METADATA": meta, "entry_points.txt": lines})
    return f"{folder}:{ROOT}"
