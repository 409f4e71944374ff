"""UniM: right answers of every task, and damaged records."""

import base64
import shutil
from pathlib import Path

import pytest

from mmeval.findings.finding import Finding
from tests.stories.test_unim import JUDGED, STRUCTURE, run
from tests.support.cli import ROOT
from tests.support.judges import ANSWER, honest_server, judged, model
from tests.support.mock_openai_server import png

HUB = ROOT / "tests" / "fixtures" / "unim_hub"


def test_the_right_answers_have_the_best_values_and_none_the_worst(
    tmp_path: Path,
) -> None:
    with honest_server() as server:
        right = run(
            tmp_path / "right", "--model", "reference", *judged(server), tasks="unim"
        )
        none = run(tmp_path / "none", "--model", "empty", *judged(server), tasks="unim")
    assert (right.done.code, none.done.code) == (0, 0), right.done.err + none.done.err
    for task in ("unim_easy", "unim_medium", "unim_hard"):
        assert right.values(*STRUCTURE, *JUDGED, task=task) == [
            1.0,
            1.0,
            1.0,
            0.75,
            1.0,
            pytest.approx(0.8),
        ]
        assert none.values(*STRUCTURE, *JUDGED, task=task) == [0.0] * 6


LEVELS = ("unim_easy", "unim_medium", "unim_hard")


DAMAGED = {
    2: "image_image.jsonl:",
    4: "gone.png",
    5: "gone_too.png",
    6: "int",
    7: "'x'",
    9: "text/html",
}
"""The records of general_area/food that cannot be asked, and what is named of each."""


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the data set of the tests, which holds every form and every fault that
    records may have."""
    return Path(shutil.copytree(HUB, tmp_path_factory.mktemp("hub") / "data"))


def test_damaged_records_fail_by_name_and_a_mended_one_is_all_that_is_asked(
    hub: Path, tmp_path: Path
) -> None:
    with honest_server(reply=ANSWER) as server:
        command: list[str | Path] = ["--data_dir", hub, *model(server), *judged(server)]
        first = run(tmp_path, *command, tasks="unim")
        asked = server.asked()
        (hub / "data/general_area/food/image/gone.png").write_bytes(
            base64.b64decode(png("abcdef", None, 8))
        )
        mended = run(tmp_path, *command, tasks="unim")

        assert server.stats()["repeated_after_answer"] == 0
        assert server.asked()["answer"] == asked["answer"] + 1
    found = map(Finding.from_json, first.found["mmeval"]["findings"])
    causes = {one.subject.sample: one.cause for one in found if one.subject.sample}
    for number, word in DAMAGED.items():
        assert word in causes[f"general_area/food/{number}"]
    rows, after = (
        [one.row("semantic_correctness", level) for level in LEVELS]
        for one in (first, mended)
    )
    assert (first.done.code, mended.done.code) == (3, 3)
    assert (
        asked["answer"]
        <= sum(row["scored"] for row in rows)
        == sum(row["scored"] for row in after) - 1
    )
    assert all(
        row["scored"] + row["failed"] + row["unsupported"] == row["n"]
        for row in (*rows, *after)
    )
