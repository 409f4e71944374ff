"""The data set of the tests, tests/fixtures/unim_hub: forms that UniM's records may have, as samples."""

import re

import pytest

from mmeval.records.sample import Sample
from scripts.make_unim_hub import HUB, ROOT, hub
from tests.support.unim_folder import unim_dataset, unim_samples

FOLDER = ROOT / HUB
ENCODED = (".mp4", ".webm", ".jpg")
"""Their bytes belong to the installed encoder."""
FOOD, MATH = "general_area/food", "natural_science/math"
FAULTS = {
    f"{FOOD}/2": "in its line 6",
    f"{FOOD}/4": r"'input\.modal\.image1': no file 'image/gone\.png'",
    f"{FOOD}/5": r"'output\.modal\.image2': no file 'image/gone_too\.png'",
    f"{FOOD}/6": r"'input\.modal\.image1' .* int",
    f"{FOOD}/7": "'difficulty_level' is 'x'",
    "general_area/25_food/image_image.jsonl:127": "'id' must",
    f"{FOOD}/9": r"page\.png .* text/html",
    f"{FOOD}/10": "web address",
    f"{FOOD}/11": r"'\.\./\.\./\.\./README\.md' leads out",
    f"{FOOD}/12": r"empty\.png is empty",
    f"{FOOD}/14": "record '14'",
}
"""The records that cannot be asked, in their order, and words of the reason."""
MEDIA = {
    f"{MATH}/1#2": ["data/natural_science/math/image/img_0001_01.png"],
    f"{MATH}/2": ["qapairs_placeholder/natural_science/1_math/image/beside/img_0002_01.png"],
    f"{MATH}/3": ["data/natural_science/math/image/img_0003 01.png"],
    "natural_science/physics/1": [f"data/natural_science/2_physics/audio/aud_0001_0{n}" for n in ("1.wav", "2.mp3")],
    "natural_science/engineering/1": ["data/natural_science/engineering/3dmesh/thd_0001_01.obj"],
    "social_science/education/1": ["social_science/education/video/vid_0001_01.mp4"],
    "general_area/news/1": ["qapairs_placeholder/part_2/img.png"],
}
"""Where the media of questions lie."""
CAPTIONED = [f"{MATH}/1#2", f"{MATH}/2", "general_area/sports/1", "social_science/art/1"]
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


def test_every_record_is_a_sample_and_the_damaged_ones_are_faults_by_name(samples: dict[str, Sample]) -> None:
    assert len(samples) == len(unim_dataset(FOLDER)) == 34
    assert [name for name, sample in samples.items() if sample.fault] == list(FAULTS)
    for name, reason in FAULTS.items():
        assert re.match(rf".*25_food/image_image\.jsonl:\d+: .*{reason}", samples[name].fault), name


def test_all_forms_are_there(samples: dict[str, Sample]) -> None:
    sound = [sample for sample in samples.values() if not sample.fault]
    sides = [[one.input[0].content for one in sound], [one.references[0] for one in sound]]
    assert {sample.metadata["difficulty"] for sample in sound} == {"easy", "medium", "hard"}
    assert [{part.kind for content in side for part in content.parts} for side in sides] == [KINDS, KINDS]
    media = {name: [medium.path for medium in samples[name].input[0].content.media()] for name in MEDIA}
    found = {name: [path.relative_to(FOLDER).as_posix() for path in paths if path] for name, paths in media.items()}
    assert found == MEDIA
    documents = [one for one in sound if one.metadata["combination"] == "D->D"]
    suffixes = {medium.path.suffix for one in documents for medium in one.input[0].content.media() if medium.path}
    assert suffixes == {".pdf", ".csv", ".txt", ".png", ".jpg", ".doc"}
    assert sorted(n for n, one in samples.items() if "captioned_reference" in one.metadata) == sorted(CAPTIONED)
    assert samples["social_science/education/1"].metadata["capability_weights"] == {"C1": 0.75, "C7": 0.25}
    assert [sample.id for sample in unim_samples(FOLDER, "law")] == ["social_science/law/1"]
