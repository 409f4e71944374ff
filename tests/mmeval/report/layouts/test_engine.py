from pathlib import Path

import pytest

from tests.support.layouts import layout_of, model, shown, tables_of

PLAIN = """
layout: plain
axes: {rows: models, columns: tasks}
number: m
decimals: 1
keys:
  tasks: [{header: A, task: a}, {header: B, task: b}, {header: Avg, mean: all}]
tables: [{name: "1"}]
"""
BEST = PLAIN + "best: {mark: bold, of: block, except: [Human], except_groups: [X]}\n"


def test_a_mean_is_of_values_before_rounding(tmp_path: Path) -> None:
    (table,) = tables_of(layout_of(tmp_path, PLAIN), [model("m", {"a": 0.14, "b": 1})])
    assert shown(table) == [["m", "0.1", "1.0", "0.6"]]
    assert table.blocks[0].rows[0].cells[2].value == (0.14 + 1) / 2


@pytest.mark.parametrize(
    "numbers, cells",
    [
        ({"a": 1.0, "b": "lost"}, ["1.0", "N/A", "N/A"]),
        ({"a": 1.0}, ["1.0", "N/A", "N/A"]),
        ({"a": 1.0, "b": "cannot"}, ["1.0", "-", "1.0"]),
        ({"a": "lost", "b": "cannot"}, ["N/A", "-", "N/A"]),
    ],
    ids=["lost", "not asked", "cannot", "lost and cannot"],
)
def test_a_mean_is_never_of_the_rest(
    tmp_path: Path, numbers: dict[str, float | str], cells: list[str]
) -> None:
    (table,) = tables_of(layout_of(tmp_path, PLAIN), [model("m", numbers)])  # type: ignore[arg-type]  # the states are literals
    assert shown(table) == [["m", *cells]]


def test_what_a_model_cannot_do_counts_zero_where_the_layout_says_so(
    tmp_path: Path,
) -> None:
    layout = layout_of(tmp_path, PLAIN + "absent: zero\n")
    (table,) = tables_of(layout, [model("m", {"a": 1.0, "b": "cannot"})])
    assert shown(table) == [["m", "1.0", "-", "0.5"]]


def test_a_mean_of_means_counts_zero_for_a_part_that_cannot_be_done(
    tmp_path: Path,
) -> None:
    layout = layout_of(
        tmp_path,
        """
layout: parts
axes: {rows: models, columns: all}
number: m
decimals: 1
absent: zero
keys:
  all:
    - {header: One, columns: [{header: A, task: a}, {header: Avg, id: x, mean: [A]}]}
    - {header: Two, columns: [{header: A, task: b}, {header: Avg, id: y, mean: [A]}]}
    - {header: Whole, mean: [x, y]}
tables: [{name: "1"}]
""",
    )
    (table,) = tables_of(layout, [model("m", {"a": 1.0, "b": "cannot"})])
    assert shown(table) == [["m", "1.0", "1.0", "-", "-", "0.5"]]
    assert [column.text for column in table.columns][:2] == ["One A", "One Avg"]


def test_a_model_without_a_number_or_a_lost_one_has_no_row(tmp_path: Path) -> None:
    models = [
        model("lost", {"a": "lost"}),
        model("cannot", {"a": "cannot", "b": "cannot"}),
        model("absent", {}),
    ]
    (table,) = tables_of(layout_of(tmp_path, PLAIN), models)
    assert [row[0] for row in shown(table)] == ["lost"]
    assert tables_of(layout_of(tmp_path, PLAIN), models[1:]) == ()


def test_the_best_cells_are_those_that_are_printed_alike(tmp_path: Path) -> None:
    models = [
        model("x", {"a": 0.51, "b": "lost"}),
        model("y", {"a": 0.54, "b": 0.1}),
        model("Human", {"a": 0.9, "b": 0.9}),
        model("z", {"a": 0.9, "b": 0.9}, "X"),
    ]
    (table,) = tables_of(layout_of(tmp_path, BEST), models)
    assert shown(table) == [
        ["x", "0.5*", "N/A", "N/A"],
        ["y", "0.5*", "0.1*", "0.3*"],
        ["Human", "0.9", "0.9", "0.9"],
        ["z", "0.9", "0.9", "0.9"],
    ]


def test_a_model_alone_is_not_the_best(tmp_path: Path) -> None:
    (table,) = tables_of(layout_of(tmp_path, BEST), [model("m", {"a": 1.0, "b": 1.0})])
    assert shown(table) == [["m", "1.0", "1.0", "1.0"]]


def test_zero_has_no_sign(tmp_path: Path) -> None:
    models = [model("m", {"a": -0.01, "b": -1.0})]
    (table,) = tables_of(layout_of(tmp_path, PLAIN), models)
    assert shown(table) == [["m", "0.0", "-1.0", "-0.5"]]


def test_blocks_of_groups_are_in_the_order_of_the_command(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, PLAIN.replace("axes: {", "axes: {blocks: groups, ", 1))
    models = [
        model("a", {"a": 1.0}, "Open"),
        model("b", {"a": 1.0}, "Closed"),
        model("c", {"a": 1.0}, "Open"),
    ]
    (table,) = tables_of(layout, models)
    titles = [row[:2] for row in shown(table)]
    assert titles == [["Open", "a"], ["Open", "c"], ["Closed", "b"]]


def test_a_group_is_a_heading_where_blocks_are_something_else(tmp_path: Path) -> None:
    (table,) = tables_of(layout_of(tmp_path, PLAIN), [model("a", {"a": 1.0}, "Open")])
    assert table.blocks[0].rows[0].title.group == "Open"


def test_models_may_be_columns(tmp_path: Path) -> None:
    layout = layout_of(
        tmp_path,
        PLAIN.replace("rows: models, columns: tasks", "rows: tasks, columns: models")
        + "best: {}\n",
    )
    models = [model("x", {"a": 0.5, "b": 0.1}), model("y", {"a": 0.2, "b": 0.1})]
    (table,) = tables_of(layout, models)
    assert [column.text for column in table.columns] == ["x", "y"]
    assert shown(table) == [
        ["A", "0.5*", "0.2"],
        ["B", "0.1*", "0.1*"],
        ["Avg", "0.3*", "0.2"],
    ]


def test_models_may_be_blocks(tmp_path: Path) -> None:
    layout = layout_of(
        tmp_path,
        """
layout: blocks
axes: {blocks: models, rows: numbers, columns: tasks}
keys:
  numbers: [{header: M, number: m}, {header: N, number: n, scale: 100, decimals: 0}]
  tasks: [{header: A, task: a}]
tables: [{name: "1"}]
""",
    )
    models = [model("x", {"a|m": 0.5, "a|n": 0.5}), model("y", {"a|n": 1.0})]
    (table,) = tables_of(layout, models)
    assert shown(table) == [
        ["x", "M", "0.500"],
        ["x", "N", "50"],
        ["y", "M", "N/A"],
        ["y", "N", "100"],
    ]


def test_a_mean_has_its_half_width(tmp_path: Path) -> None:
    text = PLAIN.replace("mean: all}", "mean: all, half_width: {task: whole}}")
    models = [model("m", {"a": 0.5, "b": 0.5, "whole|m|half_width": 0.25})]
    (table,) = tables_of(layout_of(tmp_path, text), models)
    assert shown(table) == [["m", "0.5", "0.5", "0.5 ± 0.2"]]


def test_a_delta_is_the_difference_to_the_first_row(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, PLAIN + "delta: first\n")
    models = [model("whole", {"a": 0.5, "b": 1.0}), model("cut", {"a": 0.25, "b": 1.3})]
    (table,) = tables_of(layout, models)
    assert shown(table) == [
        ["whole", "0.5", "1.0", "0.8"],
        ["cut", "0.2 (-0.2)", "1.3 (+0.3)", "0.8 (+0.0)"],
    ]


def test_rows_are_sorted_by_a_column_within_their_group(tmp_path: Path) -> None:
    models = [
        model("low", {"a": 0.1, "b": 1}, "Open"),
        model("lost", {"a": "lost", "b": 1}, "Open"),
        model("high", {"a": 0.9, "b": 1}, "Open"),
        model("best", {"a": 1.0, "b": 1}, "Closed"),
    ]
    (table,) = tables_of(layout_of(tmp_path, PLAIN), models, sort="A")
    assert [row[0] for row in shown(table)] == ["high", "low", "lost", "best"]


def test_the_notes_name_the_reasons_and_the_file(tmp_path: Path) -> None:
    models = [model("m", {"a": "lost"})]
    (table,) = tables_of(layout_of(tmp_path, PLAIN), models)
    assert table.notes == (
        "N/A, gone: m (1 cell)",
        "N/A, not asked: m (1 cell)",
        "† published: paper.csv",
    )


def test_columns_stand_in_bands_of_the_width_of_the_layout(tmp_path: Path) -> None:
    layout = layout_of(tmp_path, PLAIN + "wrap: 2\n")
    (table,) = tables_of(layout, [model("m", {"a": 1.0, "b": 1.0})])
    assert list(table.bands()) == [range(0, 2), range(2, 3)]
