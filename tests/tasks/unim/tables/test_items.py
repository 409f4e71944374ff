from array import array
from typing import Any

import pytest

from mmeval.metrics.quality.items import ItemScore, together
from mmeval.metrics.quality.unim_gq import PIECES
from mmeval.records import Score
from mmeval.tasks.unim.tables.items import TITLES, ItemPool, Items

GIVEN = dict.fromkeys((*PIECES, "unim_gq"), "")
NO_SOUND = Score.inapplicable("none").to_json()


def piece(*qualities: float | str | None) -> dict[str, Any]:
    """The score of a metric of quality: None is an item that has none, a word one that
    is unavailable here."""

    def item(one: float | str | None) -> ItemScore:
        if isinstance(one, str):
            return ItemScore.unavailable(one)
        return ItemScore.none("damaged") if one is None else ItemScore(one)

    return together(
        [(f"i{at}", item(one)) for at, one in enumerate(qualities)]
    ).to_json()


def pool(
    *trials: dict[str, dict[str, Any]],
    given: dict[str, str] = GIVEN,
    same: bool = False,
) -> ItemPool:
    found = ItemPool()
    for at, scores in enumerate(trials):
        found.add(0 if same else at, scores, given, "unim_gq")
    return found


def of_all(items: ItemPool, name: str = "image_quality") -> Items:
    (whole,) = items.sums(name, bytes(10), 1)
    return whole


def test_items_are_counted_by_what_is_known_of_them() -> None:
    first = {"image_quality": piece(0.5, 1.0), "audio_quality": NO_SOUND}
    found = pool(first, {"image_quality": piece(0.0, None, "no OCR here")})
    assert tuple(TITLES) == PIECES
    assert (of_all(found), of_all(found).mean) == (Items(2, 3, 1.5, 1, 1), 0.5)
    assert (of_all(found, "audio_quality"), of_all(found, "audio_quality").mean) == (
        Items(),
        None,
    )


def test_they_are_divided_by_groups_and_one_without_a_group_counts_in_none() -> None:
    found = pool(*({"image_quality": piece(one)} for one in (0.0, 0.5, 1.0)))
    assert [
        one.total for one in found.sums("image_quality", array("q", [1, -1, 0]), 2)
    ] == [1.0, 0.0]


def test_an_answer_of_several_tasks_counts_once_with_the_first_that_has_items() -> None:
    gq = {
        "value": 0.5,
        "status": "scored",
        "evidence": {"gq_partial": True, "without": ["text_quality"]},
    }
    twice = pool(*[{"image_quality": piece(0.5), "unim_gq": gq}] * 2, same=True)
    assert (of_all(twice).answers, twice.partial_answers, dict(twice.partial)) == (
        1,
        1,
        {"text_quality": 1},
    )
    unavailable = {"image_quality": Score.unavailable("no pyiqa").to_json()}
    later = pool(unavailable, {"image_quality": piece(0.5)}, same=True)
    assert (of_all(later).known, list(later.unavailable)) == (1, ["image_quality"])


@pytest.mark.parametrize(
    "given",
    [{}, {"image_quality": "scoring was suspended"}],
    ids=["not listed", "suspended"],
)
def test_what_is_no_item_of_the_task_does_not_count(given: dict[str, str]) -> None:
    assert pool({"image_quality": piece(0.5)}, given=given).columns == {}
    # Nor does the 0 of the rule for a missing output.
    ruled = {"value": 0, "status": "scored", "evidence": {"missing_output": True}}
    assert pool({"image_quality": ruled}).columns == {}
