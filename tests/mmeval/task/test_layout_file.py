from pathlib import Path

import pytest

from mmeval.errors import TaskFileError
from mmeval.task.layout_file import layout_file, read_layout

WHOLE = """layout: x
axes: {rows: models, columns: tasks}
number: m
keys:
  tasks:
    - {header: A, task: a}
    - {header: Avg, mean: all}
tables:
  - name: "1"
"""


def written(folder: Path, text: str) -> Path:
    file = folder / "layout.yaml"
    file.write_text(text, encoding="utf-8")
    return file


@pytest.mark.parametrize(
    "before, after, line, words",
    [
        ("number: m", "numbr: m", 3, 'unknown key; did you mean "number"'),
        ("header: A", "hedaer: A", 6, 'unknown key; did you mean "header"?'),
        ('name: "1"', 'nmae: "1"', 9, 'unknown key; did you mean "name"'),
        ("rows: models", "rwos: models", 2, 'unknown key; did you mean "rows"?'),
        ("columns: tasks", "columns: taks", 2, "unknown list 'taks'; did you mean"),
        ("rows: models", "rows: tasks", 9, "exactly one axis must be models"),
        ("mean: all", "mean: [B]", 7, "unknown entry 'B'"),
        ("mean: all", "mean: [Avg]", 7, "is a mean of itself"),
        ("mean: all", "mean: some", 7, "mean"),
        (
            "mean: all",
            "mean: all, columns: [{header: B, task: b}]",
            7,
            "mean: is for an entry without columns",
        ),
        (", task: a", "", 9, "the cell 'A' has no task"),
        ("number: m", "scale: 2", 9, "the cell 'A' has no number"),
        ("number: m", "number: m\ndecimals: -1", 4, "decimals: must be at least 0"),
        ("number: m", "number: m\nabsent: none", 4, "absent: must be"),
        ("number: m", "number: m\nnumbers: os:system", 4, "registered package"),
        ("number: m", "number: m\nbehind: os", 4, "must be package.module:function"),
    ],
)
def test_a_fault_is_found_in_its_line(
    tmp_path: Path, before: str, after: str, line: int, words: str
) -> None:
    file = written(tmp_path, WHOLE.replace(before, after, 1))
    with pytest.raises(TaskFileError) as error:
        read_layout(file)
    assert f"layout.yaml:{line}: " in str(error.value)
    assert words in str(error.value)


def test_a_hook_must_be_in_the_package_of_the_layout(tmp_path: Path) -> None:
    file = written(tmp_path, f"{WHOLE}numbers: os.path:join\n")
    with pytest.raises(TaskFileError, match="must be a function of my_package"):
        read_layout(file, "my_package")


def test_a_name_beside_a_mean_comes_before_the_same_name_elsewhere(
    tmp_path: Path,
) -> None:
    text = """layout: x
axes: {rows: models, columns: parts}
number: m
keys:
  parts:
    - {header: One, columns: [{header: A, task: a}, {header: Avg, mean: [A]}]}
    - {header: Two, columns: [{header: A, task: b}, {header: Avg, mean: [A]}]}
tables: [{name: "1"}]
"""
    (table,) = read_layout(written(tmp_path, text)).tables
    assert isinstance(table.columns, tuple)
    assert [line.mean for line in table.columns] == [None, (0,), None, (2,)]


def test_a_name_of_several_entries_is_refused(tmp_path: Path) -> None:
    text = WHOLE.replace(
        "    - {header: Avg, mean: all}",
        "    - {header: A, task: b}\n    - {header: Avg, mean: [A]}",
    )
    with pytest.raises(TaskFileError, match="names several entries"):
        read_layout(written(tmp_path, text))


def test_what_column_says_wins_over_the_table(tmp_path: Path) -> None:
    text = WHOLE.replace("task: a}", "task: a, decimals: 1}") + "decimals: 2\n"
    (table,) = read_layout(written(tmp_path, text)).tables
    assert isinstance(table.columns, tuple)
    assert (table.key.decimals, table.columns[0].key.decimals) == (2, 1)


def test_a_layout_may_be_named_by_its_path(tmp_path: Path) -> None:
    layout = layout_file(str(written(tmp_path, WHOLE)))
    assert layout is not None
    assert layout.name == "x"


@pytest.mark.parametrize("name", ["isg", "mme_unify", "ueval", "mmmg", "unim"])
def test_the_layouts_of_the_papers_are_files(name: str) -> None:
    layout = layout_file(name)
    assert layout is not None
    assert layout.name == name


def test_a_layout_may_still_be_a_function() -> None:
    assert layout_file("unim_slices") is None


FIGURE = """figures:
  - name: "7"
    chart: radar
    points: corners
    keys:
      corners:
        - {header: A, task: a}
        - {header: B, task: b}
        - {header: C, task: c}
"""


@pytest.mark.parametrize(
    "before, after, line, words",
    [
        ("chart: radar", "chart: pie", 12, "chart: must be"),
        ("chart: radar", "chrat: radar", 12, 'unknown key; did you mean "chart"?'),
        ("points: corners", "points: corner", 13, "unknown list 'corner'"),
        ("points: corners", "points: models", 13, "unknown list 'models'"),
        ("points: corners", "points: corners\n    panels: panel", 14, "unknown list"),
        ("points: corners", "points: tasks", 13, "3 to 16 corners, not 1"),
        ("points: corners", "points: corners\n    range: [1, 1]", 14, "lower than"),
        (", task: c", "", 11, "the cell 'C' has no task"),
        ("task: c}", "task: c, scale: 2}", 11, "'C' has another scale"),
    ],
)
def test_a_fault_of_a_figure_is_found_in_its_line(
    tmp_path: Path, before: str, after: str, line: int, words: str
) -> None:
    file = written(tmp_path, WHOLE + FIGURE.replace(before, after, 1))
    with pytest.raises(TaskFileError) as error:
        read_layout(file)
    assert f"layout.yaml:{line}: " in str(error.value)
    assert words in str(error.value)


def test_two_figures_of_the_same_name_are_refused(tmp_path: Path) -> None:
    text = WHOLE + FIGURE + FIGURE.removeprefix("figures:\n")
    with pytest.raises(TaskFileError, match="another figure is called '7'"):
        read_layout(written(tmp_path, text))


@pytest.mark.parametrize("chart, count", [("radar", 3), ("lines", 3), ("bars", 4)])
def test_a_mean_is_no_corner_or_place_of_a_line(
    tmp_path: Path, chart: str, count: int
) -> None:
    text = FIGURE.replace("radar", chart) + "        - {header: Avg, mean: all}\n"
    (figure,) = read_layout(written(tmp_path, WHOLE + text)).figures
    assert len(figure.table.columns) == count


def test_a_fault_of_a_list_that_several_tables_use_is_stated_once(
    tmp_path: Path,
) -> None:
    text = WHOLE.replace("mean: all", "mean: [B]") + '  - name: "2"\n'
    with pytest.raises(TaskFileError) as error:
        read_layout(written(tmp_path, text))
    assert str(error.value).count("unknown entry 'B'") == 1
