from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.tasks.unim.tables.numbers import pooled_numbers
from tests.support.stored_runs import Row, labels, stored, trial


def numbers(
    folder: Path, tasks: Mapping[str, Iterable[Row]]
) -> dict[tuple[str, str, str], Any]:
    """The values, or the states, by task, number and kind."""
    found: dict[tuple[str, str, str], Any] = {}
    for number in pooled_numbers(stored(folder, tasks)):
        task, metric, _, kind = number.key
        found[task, metric, kind] = number.state or number.value
    return found


def test_a_field_is_the_mean_of_its_domains(tmp_path: Path) -> None:
    rows = [
        trial("a", 1.0, labels("math")),
        trial("b", 1.0, labels("math")),
        trial("c", 0.0, labels("physics")),
    ]
    found = numbers(tmp_path, {"unim_easy": rows})
    assert found["unim_math", "sqcs", "absolute"] == 1
    assert found["unim_natural_science", "sqcs", "absolute"] == 0.5


def test_the_relative_value_counts_what_is_not_supported(tmp_path: Path) -> None:
    rows = [trial("a", 0.5, labels()), trial("b", "unsupported", labels())]
    found = numbers(tmp_path, {"unim_easy": rows})
    assert found["unim_math", "sqcs", "tau"] == 0.5
    assert found["unim_math", "sqcs", "absolute"] == 0.5
    assert found["unim_math", "sqcs", "relative"] == 0.25


def test_a_domain_that_cannot_be_asked_has_only_a_relative_value(
    tmp_path: Path,
) -> None:
    found = numbers(tmp_path, {"unim_easy": [trial("a", "unsupported", labels())]})
    assert found["unim_math", "sqcs", "absolute"] == "cannot"
    assert found["unim_math", "sqcs", "relative"] == 0


def test_a_lost_value_is_lost(tmp_path: Path) -> None:
    found = numbers(tmp_path, {"unim_easy": [trial("a", "failed", labels())]})
    assert found["unim_math", "sqcs", "absolute"] == "lost"
    assert ("unim_math", "sqcs", "relative") not in found


def test_a_trial_of_two_tasks_counts_once(tmp_path: Path) -> None:
    shared = trial("a", 1.0, labels())
    tasks = {"unim_easy": [shared, trial("b", 0.0, labels())], "unim_math": [shared]}
    assert numbers(tmp_path, tasks)["unim_math", "sqcs", "absolute"] == pytest.approx(
        0.5
    )


def test_a_sample_counts_in_each_of_its_capabilities(tmp_path: Path) -> None:
    rows = [
        trial("a", 1.0, labels(capabilities=["C1", "C2"])),
        trial("b", 0.0, labels(capabilities=["C2"])),
    ]
    run = stored(tmp_path, {"unim_easy": rows})
    found = {}
    for number in pooled_numbers(run):
        if number.key.task == "unim" and number.key[1::2] == ("sqcs", "absolute"):
            found[number.key.slice] = number.state or number.value
    assert found.pop("capabilities=C1") == 1.0
    assert found.pop("capabilities=C2") == 0.5
    assert set(found.values()) == {"cannot"}
