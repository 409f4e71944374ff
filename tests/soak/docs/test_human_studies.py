"""The commands of the page on studies of people, over ratings that are made so that
they give the printed figures."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.soak.support.doc_examples import blocks_run_by, commands
from tests.support.cli import mmeval
from tests.support.human_studies import (
    accuracies_by_task,
    correlations_by_task,
    met_criteria,
    three_raters,
    write_table,
)

HERE = "tests/soak/docs/test_human_studies.py"
SHOWN = [
    command.text
    for block in blocks_run_by(f"{HERE}::test_a_study_gives_its_printed_figure")
    for command in commands(block.text)
]
MMMG = {"object_count": 0.975, "attribution": 0.95, "spatial": 0.925}
ISG = {"style": 0.482, "3d": 0.581, "story": 0.873}
ACCEPTED = {"style": 0.72, "3d": 0.66, "story": 0.64}
FIGURES = (
    ("--metric sqcs", "statistics/pearson/value", 0.974),
    ("--metric ics", "statistics/pearson/value", 0.960),
    ("mmmg.csv", "macro/accuracy/value", sum(MMMG.values()) / 3),
    ("isg_block.csv", "macro/pearson/value", sum(ISG.values()) / 3),
    ("isg_holistic.csv", "macro/accuracy/value", sum(ACCEPTED.values()) / 3),
    ("--metric share", "statistics/pearson/value", 0.88),
    ("--metric criteria", "statistics/accuracy/value", 0.9),
)
"""A part of each command of the page, where its figure is, and the figure."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    unim = {"semantic_quality": ("sqcs", 0.974), "coherence": ("ics", 0.960)}
    studies = {
        "unim": three_raters(unim, trials=120),
        "mmmg": accuracies_by_task(MMMG, "judge"),
        "isg_block": correlations_by_task(ISG, "block"),
        "isg_holistic": accuracies_by_task(ACCEPTED, "accepted", is_one_rater=True),
        "ueval": met_criteria(share=0.9, r=0.88),
    }
    for name, (ratings, scores) in studies.items():
        write_table(folder / f"{name}.csv", ratings)
        write_table(folder / f"{name}_scores.csv", scores)
    return folder


@pytest.mark.parametrize("command", SHOWN)
def test_a_study_gives_its_printed_figure(command: str, folder: Path) -> None:
    ((key, figure),) = [
        (key, figure) for part, key, figure in FIGURES if part in command
    ]
    _, *words = shlex.split(command)

    ended = mmeval(*words, "--format", "json", cwd=folder)

    assert ended.code == 0, ended.err
    assert value_at(json.loads(ended.out), key) == pytest.approx(figure, abs=1e-6)


def value_at(document: Any, path: str) -> Any:
    for key in path.split("/"):
        document = document[key]
    return document
