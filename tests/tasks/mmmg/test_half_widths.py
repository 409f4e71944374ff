import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from mmeval.records.score import Score
from mmeval.tasks.mmmg.categories import CATEGORIES
from mmeval.tasks.mmmg.half_widths import half_widths
from tests.support.stored_runs import Row, stored

Answer = float | str | Score
Rows = Sequence[Sequence[Answer]]
"""The score of each repeat of each sample."""
FIRST, SECOND = CATEGORIES[0].tasks[:2]
LOST = Score.lost("the judge is gone")


def rows_of(given: Rows, files: Sequence[str] = ()) -> Iterator[Row]:
    """Rows of scores; ``files`` are the labels of the samples, in a task of several
    instruction files."""
    for place, repeats in enumerate(given):
        for repeat, answer in enumerate(repeats):
            row: Row = {"n": repeat, "s": f"s{place}", "d": "d", "status": "ok"}
            row["scores"] = {}
            if isinstance(answer, str):
                row["status"] = answer
            else:
                own = answer if isinstance(answer, Score) else Score(answer)
                row["scores"] = {"overall": own.to_json()}
            if files:
                row["labels"] = {"file": files[place]}
            yield row


def found(
    folder: Path, tasks: Mapping[str, Rows], files: Sequence[str] = ()
) -> list[tuple[str, float | None]]:
    rows = {name: list(rows_of(given, files)) for name, given in tasks.items()}
    run = stored(folder, rows, layout="mmmg", numbers=["overall"])
    return [(number.key.task, number.value) for number in half_widths(run)]


def test_each_pass_is_averaged_over_the_tasks_first(tmp_path: Path) -> None:
    tasks: dict[str, Rows] = {
        FIRST: [[0.0, 1.0, 0.0, 1.0]],
        SECOND: [[1.0, 0.0, 1.0, 1.0]],
    }
    averages = [0.5, 0.5, 0.5, 1.0]
    mean = sum(averages) / 4
    deviation = math.sqrt(sum((value - mean) ** 2 for value in averages) / 3)
    ((category, half),) = found(tmp_path, tasks)
    assert category == "mmmg_image"
    assert half == pytest.approx(1.96 * deviation / 2)


def test_tasks_with_other_numbers_of_passes_have_no_interval(tmp_path: Path) -> None:
    assert found(tmp_path, {FIRST: [[0.5, 1.0]], SECOND: [[1.0]]}) == []


def test_a_task_that_cannot_be_done_is_left_out(tmp_path: Path) -> None:
    tasks: dict[str, Rows] = {
        FIRST: [[0.0, 1.0]],
        SECOND: [["unsupported", "unsupported"]],
    }
    ((_, half),) = found(tmp_path, tasks)
    assert half == pytest.approx(1.96 * 0.5)


def test_the_files_of_a_task_count_the_same(tmp_path: Path) -> None:
    task = "mmmg_multilingual_text_rendering"
    given: Rows = [[1.0, 1.0], [0.0, 0.5], [0.0, LOST], [0.0, 0.5]]
    ((_, half),) = found(tmp_path, {task: given}, files=["zh", "de", "de", "de"])
    # by pass: (1 + 0) / 2 and (1 + 0.5) / 2
    assert half == pytest.approx(1.96 * 0.125)


def test_a_pass_without_one_of_the_files_has_no_interval(tmp_path: Path) -> None:
    task = "mmmg_multilingual_text_rendering"
    given: Rows = [[1.0, 1.0], [0.0, LOST]]
    assert found(tmp_path, {task: given}, files=["zh", "de"]) == []
