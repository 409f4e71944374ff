from __future__ import annotations

from importlib.metadata import PathDistribution
from pathlib import Path

import pytest

from mmeval.doctor.packages import Needed, _all_of, _needed, extras
from tests.support.task_folder import write_files


def test_every_extra_is_looked_at_but_sums() -> None:
    named = {finding.what.partition(":")[0] for finding in extras()}

    assert {"always needed", "extra hf", "extra hub", "extra text", "extra dev"} <= named
    assert "extra all" not in named


def test_requirements_are_read_from_the_installed_metadata() -> None:
    found = _needed()

    assert Needed("jiwer", ">=4", ()) in found["text"]
    assert Needed("mmeval", "", ("audio", "hub", "image")) in found["hf"]


def test_a_requirement_counts_only_where_its_condition_holds_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = (
        "Of_All>=1",
        "of-old ; python_version < '3'",
        "Own (<2) ; extra == 'a'",
        "own-old ; python_version < '3' and extra == 'a'",
    )
    asked = "".join(f"Requires-Dist: {line}\n" for line in lines)
    write_files(tmp_path, {"METADATA": f"Name: mmeval\nVersion: 1\nProvides-Extra: a\n{asked}"})
    monkeypatch.setattr("mmeval.doctor.packages.own_distributions", lambda: [PathDistribution(tmp_path)])

    assert _needed() == {"": [Needed("of-all", ">=1", ())], "a": [Needed("own", "<2", ())]}


def test_an_extra_within_an_extra_brings_its_packages() -> None:
    needed = {"a": [Needed("mmeval", "", ("b",)), Needed("x", "", ())], "b": [Needed("y", ">=2", ())]}

    assert {item.name for item in _all_of("a", needed)} == {"x", "y"}
