from __future__ import annotations

from mmeval.doctor.packages import Needed, _all_of, _needed, extras


def test_every_extra_is_looked_at_but_sums() -> None:
    named = {finding.what.partition(":")[0] for finding in extras()}

    assert {"always needed", "extra hf", "extra hub", "extra text", "extra dev"} <= named
    assert "extra all" not in named


def test_requirements_are_read_from_the_installed_metadata() -> None:
    found = _needed()

    assert Needed("jiwer", ">=4", ()) in found["text"]
    assert Needed("mmeval", "", ("hub", "image", "audio")) in [
        item._replace(extras=tuple(sorted(item.extras, key=("hub", "image", "audio").index)))
        for item in found["hf"]
        if item.name == "mmeval"
    ]


def test_an_extra_within_an_extra_brings_its_packages() -> None:
    needed = {"a": [Needed("mmeval", "", ("b",)), Needed("x", "", ())], "b": [Needed("y", ">=2", ())]}

    assert {item.name for item in _all_of("a", needed)} == {"x", "y"}
