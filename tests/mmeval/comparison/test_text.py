from pathlib import Path
from typing import Any

import pytest

from mmeval.comparison.compare import compare
from mmeval.comparison.text import comparison_text, tables_of_comparison
from mmeval.report.table_formats.layouts import RENDERED
from tests.support.stored_runs import WrittenTrial, text, write_run

LONG = "an-organisation-with-a-long-name/a-model-of-many-words-and-numbers-72b-instruct"


def told(status: str, value: float | None) -> WrittenTrial:
    return WrittenTrial(
        [text("?")], [text("!")], {"right": {"status": status, "value": value}}
    )


def runs(folder: Path, count: int, scale: float) -> list[Path]:
    """Runs with long names, each of which lost a trial, with scores as large as
    ``scale``."""
    metric = {
        "outputs": ["right"],
        "range": None,
        "version": "1",
        "aggregation": "mean",
        "judged": True,
    }
    found = []
    for at in range(count):
        trials = [
            told("scored", -scale * ((place * 7 + at) % 11))
            for place in range(2_000 // count)
        ]
        trials[at] = told("unscored", None)
        ours: dict[str, Any] = {"metrics": {"told": {"right": metric}}, "judges": {}}
        if at == count - 1:
            ours["judges"] = {"told": [{"role": "judge", "served": LONG}]}
        found.append(
            write_run(folder / f"{at}", trials, results=ours, model=f"{LONG}-{at}")
        )
    return found


@pytest.mark.parametrize(("count", "scale"), [(2, 0.1), (10, 123.456)])
def test_no_line_is_longer_than_80_columns(
    count: int, scale: float, tmp_path: Path
) -> None:
    found = compare(
        *runs(tmp_path, count, scale),
        across=["judge"],
        detect=0.01,
        fail_unless_within=0.5,
    )
    lines = comparison_text(found, 80).splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert len(lines) > 5


def test_long_names_are_told_apart_in_a_ranking(tmp_path: Path) -> None:
    found = compare(*runs(tmp_path, 3, 1.0), across=["judge"])
    lines = comparison_text(found, 80).splitlines()
    ranked = [line for line in lines if line.endswith("rank 1 to 3")]
    names = {line.split()[1] for line in ranked}
    assert len(names) == 3


def test_a_name_that_steers_a_terminal_is_shown_harmless(tmp_path: Path) -> None:
    names = ["\x1b[2Jred", "=cmd()"]
    trials = [WrittenTrial([text("?")], [text("!")], sample=f"{at}") for at in range(3)]
    found = compare(
        *(
            write_run(tmp_path / f"{at}", trials, results={}, model=name)
            for at, name in enumerate(names)
        )
    )
    texts = [
        comparison_text(found, 80),
        *(render(tables_of_comparison(found)) for render in RENDERED.values()),
    ]
    assert [text for text in texts if "\x1b" in text] == []
    assert "\n=cmd" not in texts[-1]
    assert ",=cmd" not in texts[-1]


def compared_lines(*folders: Path, **options: Any) -> list[str]:
    return comparison_text(compare(*folders, **options), 80).splitlines()


def scored(folder: Path, values: list[float], model: str) -> Path:
    trials = [told("scored", value) for value in values]
    return write_run(folder / model, trials, task="vqa", results={}, model=model)


def test_the_first_line_states_the_verdict_in_words(tmp_path: Path) -> None:
    low = scored(tmp_path, [0.0] * 20, "low")
    high = scored(tmp_path, [1.0] * 20, "high")
    first = compared_lines(low, high)[0]
    assert first == "verdict   high against low: better in vqa, right."


def test_a_difference_that_no_sample_could_show_is_not_called_unseen(
    tmp_path: Path,
) -> None:
    low = scored(tmp_path, [0.0] * 3, "low")
    high = scored(tmp_path, [1.0] * 3, "high")
    words = " ".join(compared_lines(low, high)[:2])
    assert "too few samples in vqa, right" in words


def test_a_missing_pair_names_the_run_that_lacks_it(tmp_path: Path) -> None:
    long = scored(tmp_path, [1.0] * 10, "long")
    short = scored(tmp_path, [1.0] * 7, "short")
    notes = " ".join(compared_lines(long, short))
    assert "no pair: 3 not asked in short" in notes


def test_two_runs_of_two_tasks_fit_on_a_terminal(tmp_path: Path) -> None:
    low = scored(tmp_path, [0.0] * 20, "low")
    high = scored(tmp_path, [1.0] * 17, "high")
    lines = compared_lines(low, high, detect=0.01, fail_unless_within=0.5)
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
