from __future__ import annotations

from array import array
from typing import Any

import pytest

from mmeval.metrics.quality.items import ItemScore, together
from mmeval.metrics.quality.unim_gq import PIECES
from mmeval.records import Score
from mmeval.tasks.unim.tables.items import TITLES, ItemPool, Items

GIVEN = dict.fromkeys((*PIECES, "unim_gq"), "")


def piece(*qualities: float | str | None) -> dict[str, Any]:
    """The score of a metric of quality: None is an item that has none, a word one that nothing here looks at."""
    made = [
        ItemScore(one)
        if isinstance(one, float)
        else ItemScore.none("damaged")
        if one is None
        else ItemScore.unavailable(one)
        for one in qualities
    ]
    return together([(f"i{at}", one) for at, one in enumerate(made)]).to_json()


def pool(*trials: dict[str, dict[str, Any]], given: dict[str, str] | None = None) -> ItemPool:
    found = ItemPool()
    for at, scores in enumerate(trials):
        found.add(at, scores, GIVEN if given is None else given, "unim_gq")
    return found


def of_all(items: ItemPool, name: str) -> Items:
    (whole,) = items.sums(name, bytes(10), 1)
    return whole


def test_each_modality_that_gq_pools_has_a_title() -> None:
    assert tuple(TITLES) == PIECES


def test_items_are_counted_by_what_is_known_of_them() -> None:
    found = pool(
        {"image_quality": piece(0.5, 1.0), "audio_quality": Score.inapplicable("none").to_json()},
        {"image_quality": piece(0.0, None, "no OCR here")},
    )

    assert of_all(found, "image_quality") == Items(2, 3, 1.5, 1, 1)
    assert of_all(found, "image_quality").mean == 0.5
    assert of_all(found, "audio_quality") == Items()
    assert of_all(found, "audio_quality").mean is None


def test_they_are_parted_by_groups_and_one_without_a_group_counts_in_none() -> None:
    found = pool(*({"image_quality": piece(one)} for one in (0.0, 0.5, 1.0)))

    assert [one.total for one in found.sums("image_quality", array("q", [1, -1, 0]), 2)] == [1.0, 0.0]


def test_an_answer_of_several_tasks_counts_once() -> None:
    found = ItemPool()
    gq = {"value": 0.5, "status": "scored", "evidence": {"gq_partial": True, "without": ["text_quality"]}}
    for _ in range(2):
        found.add(0, {"image_quality": piece(0.5), "unim_gq": gq}, GIVEN, "unim_gq")

    assert of_all(found, "image_quality").answers == 1
    assert (found.partial_answers, dict(found.partial)) == (1, {"text_quality": 1})


def test_what_another_task_knows_of_an_answer_is_taken_where_the_first_knows_nothing() -> None:
    found = ItemPool()
    found.add(0, {"image_quality": Score.unavailable("no pyiqa").to_json()}, GIVEN, "unim_gq")
    found.add(0, {"image_quality": piece(0.5)}, GIVEN, "unim_gq")

    assert of_all(found, "image_quality").known == 1
    assert list(found.unavailable) == ["image_quality"]


def test_the_0_of_the_rule_for_a_missing_output_is_of_no_item() -> None:
    ruled = {"value": 0, "status": "scored", "evidence": {"missing_output": True}}
    assert pool({"image_quality": ruled}).columns == {}


@pytest.mark.parametrize("given", [{}, {"image_quality": "scoring was suspended"}], ids=["not listed", "suspended"])
def test_numbers_that_the_task_does_not_give_are_not_looked_at(given: dict[str, str]) -> None:
    assert pool({"image_quality": piece(0.5)}, given=given).columns == {}
