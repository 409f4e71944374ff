from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from mmeval.metrics.judged.ueval.rows import TASKS
from mmeval.results.layout import Table
from mmeval.results.stored_run import counted_by
from mmeval.tasks.ueval.layout import MIXED, layout
from tests.support.stored_runs import Row, numbers_of, stored, trials

Side = float | str | None
"""A share of met criteria, a status, or inapplicable."""
JUDGE = [{"role": "judge", "asked": "j", "served": "judge-1"}]


def score(value: Side, pictures: int | None = None, **counts: int) -> dict[str, Any]:
    if value is None or isinstance(value, str):
        return {"value": None, "status": value or "inapplicable"}
    verdicts = [{"criterion": "c", "met": True, "raw": True}] * 4
    seen = {} if pictures is None else {"pictures": pictures}
    return {
        "value": value,
        "status": "scored",
        "evidence": {"criteria": verdicts, **counts, **seen},
    }


def rows(*answers: tuple[Side, Side] | str, odd: int = 0) -> list[Row]:
    counts = {"not_sure": 1, "odd_value": odd, "missing_key": 0}
    return trials(
        one
        if isinstance(one, str)
        else {"ueval_text": score(one[0], **counts), "ueval_image": score(one[1], 3)}
        for one in answers
    )


def tables(
    folder: Path,
    tasks: Mapping[str, Sequence[Row]],
    *,
    suspended: Sequence[str] = (),
    **ours: Any,
) -> list[Table]:
    named = {f"ueval_{name}": own for name, own in tasks.items()}
    asked = ours.get("asked", {})
    found: list[Row] = []
    for name, own in named.items():
        is_counted = counted_by(asked.get(name))
        counted = [row for at, row in enumerate(own) if is_counted(at, 0)]
        sides = ("ueval_image", "ueval_text")
        found += numbers_of(
            name, counted, sides, "ueval_score", skip=True, suspended=suspended
        )
    usual = {"judges": dict.fromkeys(named, JUDGE), "results": found}
    return list(
        layout(
            stored(
                folder,
                named,
                layout="ueval",
                numbers=["ueval_text", "ueval_image"],
                **usual | ours,
            )
        )
    )


def test_the_papers_tables_in_percent_with_means_over_questions_beside_those_over_tasks(
    tmp_path: Path,
) -> None:
    whole: dict[str, list[Row]] = {name: rows((0.5, 1.0)) for name in TASKS}
    whole["space"] = rows((1.0, 0.0), (0.5, 0.5), (0.0, 0.25))
    first, second, fourth = tables(tmp_path, whole)
    assert ["judge-1" in table.title for table in (first, second, fourth)] == [True] * 3
    assert first.headers == ("Model", *(name.capitalize() for name in TASKS), "Avg")
    assert first.rows == (("m", 37.5, *[75.0] * 7, (37.5 + 7 * 75) / 8),)
    assert [row[0] for row in second.rows] == [
        "tasks (paper)",
        "questions (released script)",
    ]
    assert second.rows[0][1:] == ((25 + 7 * 100) / 8, 50.0, (37.5 + 7 * 75) / 8)
    assert second.rows[1][1:] == (775 / 10, 50.0, None)
    assert fourth.rows[0] == ("Space", 25.0, 50.0, 37.5, "3", 12.5, 3.0, "")
    names = [row[0] for row in fourth.rows]
    assert (names[4], names[9], len(names)) == ("Closed", "Open", 10)
    assert fourth.rows[4][1:6] == ((25 + 300) / 4, 50.0, (37.5 + 225) / 4, "6", 12.5)


def test_missing_tasks_and_sides_make_a_mean_partial_and_are_named(
    tmp_path: Path,
) -> None:
    given = {
        "space": rows((0.5, None)),
        "art": rows((0.5, 1.0), "failed", ("unscored", 1.0)),
        "life": rows((None, None)),
    }
    first, second, fourth = tables(tmp_path, given)
    assert (first.headers[-1], second.rows[0][0]) == (
        "Avg (partial)",
        "tasks (paper) (partial)",
    )
    assert first.rows[0][1:] == (50.0, None, None, None, 75.0, None, None, None, 62.5)
    missing, one_sided = first.notes
    assert "Life" in missing
    assert "Textbook" in missing
    assert "Art" not in missing
    assert "Space" in one_sided
    found = {row[0]: row for row in fourth.rows}
    assert list(found) == ["Space", "Closed (partial)", "Art", "Life", "Open (partial)"]
    assert found["Space"][1:4] == (None, 50.0, 50.0)
    assert (found["Art"][-1], found["Life"]) == (
        "1 failed, 1 unscored",
        ("Life", None, None, None, "1", None, None, ""),
    )
    assert (found["Open (partial)"][1:4], found["Open (partial)"][-1]) == (
        (100.0, 50.0, 75.0),
        "1 failed, 1 unscored",
    )


def test_a_score_with_a_lost_side_is_none_and_leaves_the_means_unknown(
    tmp_path: Path,
) -> None:
    given = {
        "art": rows(*[(0.8, "unscored")] * 3),
        "life": rows((1.0, 1.0)),
        "tech": rows("failed"),
    }
    first, second, fourth = tables(tmp_path, given)
    assert first.rows[0][5:] == (None, 100.0, None, None, None)
    assert ["Art, Tech" in note for note in first.notes] == [True, False], (
        "lost ones, and those that are not asked"
    )
    assert [row[1:] for row in second.rows] == [(None, None, None)] * 2
    found = {row[0]: row for row in fourth.rows}
    assert found["Art"][1:4] == (None, pytest.approx(80), None)
    assert (found["Art"][-1], found["Open (partial)"][1:5]) == (
        "3 unscored",
        (None, None, None, "5"),
    )


def test_what_is_suspended_has_no_value_and_what_is_not_counted_no_part(
    tmp_path: Path,
) -> None:
    asked = {"ueval_art": {"repeats": 1, "samples": [[0, 0]]}}
    first, *_ = tables(tmp_path, {"art": rows((0.5, 1.0), (0.0, 0.0))}, asked=asked)
    assert first.rows[0][-1] == 75.0
    first, second, fourth = tables(
        tmp_path / "other", {"art": rows((0.5, 1.0))}, suspended=["ueval_image"]
    )
    assert (fourth.rows[0][1:4], first.rows[0][-1]) == ((None, 50.0, None), None)
    assert second.rows[1][1:3] == (None, 50.0)


def test_two_judges_are_remarked_below_every_table(tmp_path: Path) -> None:
    judges = {"ueval_art": [*JUDGE, {"role": "judge", "asked": "k", "served": ""}]}
    found = tables(tmp_path, {"art": rows((0.5, 1.0))}, judges=judges)
    assert [("judge-1 and k" in table.title, table.notes[-1:]) for table in found] == [
        (True, (MIXED,))
    ] * 3


def test_replies_that_say_nothing_and_count_are_remarked(tmp_path: Path) -> None:
    *_, fourth = tables(tmp_path, {"art": rows((0.5, 1.0), (0.5, 1.0), odd=2)})
    assert (len(fourth.notes), fourth.notes[-1].partition(" ")[0]) == (2, "4")


def test_a_run_without_tasks_of_ueval_has_no_table(tmp_path: Path) -> None:
    assert (
        list(
            layout(
                stored(
                    tmp_path,
                    {"art": rows((1.0, 1.0))},
                    layout="ueval",
                    numbers=["ueval_text"],
                )
            )
        )
        == []
    )
