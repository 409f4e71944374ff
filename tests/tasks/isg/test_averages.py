import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UnknownNameError
from mmeval.tasks.isg.averages import average_of, roll_up
from mmeval.tasks.isg.subtasks import CATEGORIES, LEVELS

PUBLISHED: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("published.json").read_text("utf-8")
)
"""The printed cells of tables 3 to 7: a row of a level, its average and its columns."""
PARITY: dict[str, Any] = json.loads(
    Path(__file__).with_name("parity.json").read_text("utf-8")
)
ROUNDING = 0.001
MISPRINTED = [
    ("table3", "holistic", "without golden"),
    ("table5", "structural", "Anole"),
]
"""The printed averages that do not follow from their columns: 0.537, whose columns give
0.5725, and 0.000 for 0.001."""


def row(
    category: str,
    structural: float = 1,
    block: Any = 5,
    image: Any = 0.5,
    holistic: Any = 5,
) -> dict[str, Any]:
    return {
        "category": category,
        "structural": structural,
        "block": block,
        "image": image,
        "holistic": holistic,
    }


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("of", ["samples", "judge_files"])
def test_the_averages_of_whole_samples_and_of_judge_files(
    of: str, profile: Any
) -> None:
    case = PARITY["averages"][of][profile]
    found = roll_up(case["rows"], profile=profile)
    assert found["average"] == pytest.approx(case["result"]["average"])
    assert found["categories"].keys() == case["result"]["categories"].keys()
    for name, values in case["result"]["categories"].items():
        assert found["categories"][name] == pytest.approx(values)


def test_a_category_is_the_mean_of_its_samples_and_not_of_its_subtasks() -> None:
    found = roll_up([row("Object_VQA", 1), row("Object_VQA", 1), row("Historical", 0)])
    assert found["categories"]["vqa"]["structural"] == pytest.approx(2 / 3)


def test_samples_without_questions_and_categories_without_a_value() -> None:
    rows = [
        row("HowTo", image=0.8),
        row("Scientific", image=None),
        row("Historical", image=None, block=None),
    ]
    standard = roll_up(rows)
    official = roll_up(
        [{**one, "image": one["image"] or 0} for one in rows], "official"
    )
    assert (
        standard["categories"]["itc"]["image"],
        official["categories"]["itc"]["image"],
    ) == (0.8, 0.4)
    assert (standard["average"]["image"], official["average"]["image"]) == (
        0.8,
        pytest.approx(0.4 / 7),
    )
    assert (standard["average"]["block"], official["average"]["block"]) == (5, 5 / 8)
    assert (len(standard["categories"]), len(official["categories"])) == (2, 8)


def test_the_released_script_forgets_semantic_decomposition() -> None:
    rows = [row("Realistic Object Detection", 0), row("Semantic Segmentation", 1)]
    found = [
        roll_up(rows, profile)["categories"]["decomposition"]["structural"]
        for profile in ("standard", "official")
    ]
    assert found == [0.5, 0]


def test_nothing_has_no_average_and_an_unknown_subtask_is_refused() -> None:
    assert roll_up([]) == {"categories": {}, "average": dict.fromkeys(LEVELS)}
    with pytest.raises(UnknownNameError):
        roll_up([row("Cooking")])


def recomputed(printed: dict[str, Any]) -> float | None:
    """The plain mean of the columns of a printed row."""
    by_column = {names.column: name for name, names in CATEGORIES.items()}
    nothing = dict.fromkeys(LEVELS)
    level = printed["level"]
    columns = {
        by_column[column]: {**nothing, level: value}
        for column, value in printed["values"].items()
    }
    return average_of(columns)[level]


def _name(printed: dict[str, Any]) -> tuple[str, str, str]:
    return printed["table"], printed["level"], printed["row"]


def test_58_of_the_60_printed_averages_follow_from_their_columns() -> None:
    off = [
        _name(one)
        for one in PUBLISHED
        if recomputed(one) != pytest.approx(one["average"], abs=ROUNDING + 1e-9)
    ]
    assert len(PUBLISHED) == 60
    assert off == MISPRINTED


def page_rows() -> list[str]:
    """The rows of the page's table: the printed averages of a row by level."""
    averages: dict[tuple[str, str], dict[str, float]] = {}
    for printed in PUBLISHED:
        table = printed["table"].removeprefix("table")
        tables = "5, 6" if table in "56" else table
        levels = averages.setdefault((tables, printed["row"]), {})
        levels[printed["level"]] = printed["average"]

    rows = []
    for (tables, name), levels in averages.items():
        cells = [f"{levels[level]:.3f}" if level in levels else "-" for level in LEVELS]
        rows.append(f"|{tables}|{name}|{'|'.join(cells)}|")
    return rows


def test_the_page_has_each_printed_average() -> None:
    """``python -m tests.tasks.isg.test_averages`` prints the rows."""
    page = Path(__file__).parents[3] / "docs" / "reproducing" / "isg.md"
    text = page.read_text("utf-8")
    assert [row for row in page_rows() if row not in text] == []


if __name__ == "__main__":
    print("\n".join(page_rows()))
