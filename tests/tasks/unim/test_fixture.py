"""The data set of the tests, tests/fixtures/unim_hub: forms that UniM's records may have, as samples."""

import pytest

from mmeval.records import Sample
from scripts.make_unim_hub import HUB, ROOT, hub
from tests.support.unim_folder import unim_dataset, unim_samples

FOLDER = ROOT / HUB
ENCODED = (".mp4", ".webm", ".jpg")
"""Their bytes belong to the installed encoder."""
FOOD, MATH = "general_area/food", "natural_science/math"
FAULTS = [f"{FOOD}/{number}" for number in (2, 4, 5, 6, 7)] + ["general_area/25_food/image_image.jsonl:127"]
FAULTS += [f"{FOOD}/{number}" for number in (9, 10, 11, 12, 14)]
KINDS = {"text", "code", "image", "audio", "video", "document", "3d"}


@pytest.fixture(scope="module")
def samples() -> dict[str, Sample]:
    return {sample.id: sample for sample in unim_samples(FOLDER)}


def test_the_tree_holds_what_the_script_makes() -> None:
    made = hub()
    tree = {path.relative_to(FOLDER).as_posix(): path for path in FOLDER.rglob("*") if path.is_file()}
    assert sorted(tree) == sorted(made)
    same = [name for name in made if not name.endswith(ENCODED)]
    assert [name for name in same if tree[name].read_bytes() != made[name]] == []


def test_all_forms_are_there(samples: dict[str, Sample]) -> None:
    assert len(samples) == len(unim_dataset(FOLDER)) == 34
    assert [name for name, sample in samples.items() if sample.fault] == FAULTS
    sound = [sample for sample in samples.values() if not sample.fault]
    sides = [[one.input[0].content for one in sound], [one.references[0] for one in sound]]
    assert {sample.metadata["difficulty"] for sample in sound} == {"easy", "medium", "hard"}
    assert [{part.kind for content in side for part in content.parts} for side in sides] == [KINDS, KINDS]
    media = [medium.path for content in sides[0] for medium in content.media()]
    assert len({path.relative_to(FOLDER).parts[0] for path in media if path}) == 3
    captioned = [name for name, one in samples.items() if "captioned_reference" in one.metadata]
    assert sorted(captioned) == sorted((f"{MATH}/1#2", f"{MATH}/2", "general_area/sports/1", "social_science/art/1"))
