from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mmeval.report.table_formats.layouts import csv_tables
from mmeval.results import Table
from mmeval.tasks.isg.layout import JUDGED, layout
from mmeval.tasks.isg.subtasks import TASKS
from tests.support.stored_runs import Row, stored, trials

JUDGE = [{"role": "judge", "asked": "j", "served": "judge-1"}]
OFFICIAL = {"isg": {"outputs": list(JUDGED), "switches": {"reading": "official"}}}
Values = tuple[float | str | None, ...]


def score(value: float | str | None, unread: int = 0) -> dict[str, Any]:
    if value is None or isinstance(value, str):
        return {"value": None, "status": value or "inapplicable"}
    return {
        "value": value,
        "status": "scored",
        "evidence": {"asked": [0, 1], **({"unread": unread} if unread else {})},
    }


def rows(*answers: Values | str, unread: int = 0) -> list[Row]:
    return trials(
        one
        if isinstance(one, str)
        else {
            name: score(value, unread) for name, value in zip(JUDGED, one, strict=True)
        }
        for one in answers
    )


def tables(
    folder: Path, tasks: Mapping[str, Sequence[Row]], **ours: Any
) -> list[Table]:
    named = {f"isg_{name}": list(own) for name, own in tasks.items()}
    judges = {"judges": dict.fromkeys(named, JUDGE)}
    return list(
        layout(
            stored(folder, named, layout="isg", numbers=list(JUDGED), **judges | ours)
        )
    )


def test_each_level_has_a_table_of_categories_and_decomposition_without_semantic(
    tmp_path: Path,
) -> None:
    whole = {name.removeprefix("isg_"): rows((1, 5, 0.5, 6)) for name in TASKS}
    whole["semantic_decomposition"] = rows((0, 2, 0.2, 3))
    whole["object_qa"] = whole["historical"] = rows((1, 5, None, 6))
    found = tables(tmp_path, whole)
    assert ["judge-1" in table.title for table in found] == [False, True, True, True]
    structural, _, image, _ = found
    assert structural.headers[:2] == ("Model", "Avg.")
    model, average, *categories, without, lost = structural.rows[0]
    assert model == "m"
    assert categories[3] == 2 / 3
    assert without == 1
    assert lost == "0"
    assert average == (7 + 2 / 3) / 8
    assert (image.rows[0][9], image.headers[1]) == (None, "Avg.")
    assert image.rows[0][1] == (6 * 0.5 + 0.4) / 7


def test_each_number_of_a_level_has_a_name_in_csv(tmp_path: Path) -> None:
    lines = csv_tables(tables(tmp_path, {"howto": rows((1, 5, 0.5, 6))})).splitlines()
    assert any(",m,Avg. (partial)," in line for line in lines)


def test_a_structure_that_was_told_is_noted_below_each_table(tmp_path: Path) -> None:
    found = tables(
        tmp_path, {"howto": rows((1, 5, 0.5, 6))}, uses_reference=["isg_howto"]
    )
    assert ["reference information" in table.notes[0] for table in found] == [True] * 4


def test_what_is_lacking_or_lost_is_in_the_table_and_named(tmp_path: Path) -> None:
    given = {
        "howto": rows((1, "unscored", 1, 4), (1, 4, 0, 8), "failed"),
        "painting": rows((0, 1, 0, 1), unread=1),
    }
    structural, block, image, _ = tables(tmp_path, given)
    assert structural.headers[1] == "Avg. (partial)"
    assert "Style" in structural.notes[0]
    assert [table.rows[0][-1] for table in (structural, block, image)] == [
        "1 (25.0%)",
        "2 (50.0%)",
        "1 (25.0%)",
    ]
    assert block.rows[0][6:8] == (4, 1)
    assert any("1 of 4 block" in note for note in block.notes)
    unscored = {"howto": rows(("unscored", 1, 0, 1), (1, 1, 0, 1))}
    assert tables(tmp_path / "unscored", unscored)[0].rows[0][-1] == "1 (50.0%)"


def test_the_released_table_is_that_of_the_official_profile(tmp_path: Path) -> None:
    given = {"howto": rows((1, 4, 1, 4)), "semantic_decomposition": rows((1, 9, 1, 9))}
    official = {"metrics": {f"isg_{name}": OFFICIAL for name in given}}
    *_, released = tables(tmp_path, given, **official)
    assert (released.headers, len(released.rows), released.digits) == (
        ("Category", "structure", "image", "block", "holistic"),
        9,
        4,
    )
    by_name = {row[0]: row[1:] for row in released.rows}
    assert by_name["Image-Text Complementation"] == (1, 1, 4, 4)
    assert by_name["Image Decomposition"] == (0, 0, 0, 0)
    assert by_name["derived average"] == (1 / 8, 1 / 7, 0.5, 0.5)


def test_the_average_of_the_pictures_is_the_same_in_both_tables_of_the_official_profile(
    tmp_path: Path,
) -> None:
    whole = {name.removeprefix("isg_"): rows((1, 5, 0.5, 6)) for name in TASKS}
    whole["object_qa"] = whole["historical"] = rows((1, 5, 0, 6))
    _, _, image, _, released = tables(
        tmp_path, whole, metrics={f"isg_{name}": OFFICIAL for name in whole}
    )
    assert (image.rows[0][1], image.rows[0][9], released.rows[-1][2]) == (0.5, 0, 0.5)


def test_a_level_whose_scoring_is_suspended_is_blank_in_both_tables(
    tmp_path: Path,
) -> None:
    given = {"howto": rows((1, 4, 1, 4)), "painting": rows((1, 4, 1, 4))}
    metrics = {f"isg_{name}": OFFICIAL for name in given}
    suspended = {
        "task": "isg_howto",
        "metric": "isg_block",
        "value": None,
        "n": 1,
        "scored": 1,
        "suspended": True,
    }
    _, block, _, _, released = tables(
        tmp_path, given, metrics=metrics, results=[suspended]
    )
    assert (block.rows[0][1], [row[3] for row in released.rows]) == (None, [None] * 9)
    assert released.rows[-1][1:3] == (2 / 8, 2 / 7)


def test_a_run_without_such_tasks_has_no_table(tmp_path: Path) -> None:
    assert (
        list(layout(stored(tmp_path, {"other": rows()}, layout="isg", numbers=["x"])))
        == []
    )
