"""The data set of the tests, tests/fixtures/unim_hub: forms that UniM's records may have, as samples."""

import re
from pathlib import Path
from typing import Any

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
LABELS: dict[str, dict[str, Any]] = {
    f"{MATH}/1#2": {"difficulty": "easy", "captioned_reference": "Two, as in <image2: a chart with 2 bars>."},
    f"{MATH}/2": {"difficulty": "medium", "captioned_reference": "Here it is: <<image2: a chart with 2 bars>>"},
    f"{MATH}/3": {"difficulty": "hard"},
    "general_area/sports/1": {"field": "general_area", "captioned_reference": "So: <audio1: two beats>"},
    "social_science/art/1": {
        "capabilities": ["C6", "C3", "a capability of its own"],
        "captioned_reference": "<video1: a ball falls from a table> with <audio1: one knock>",
        "combination": "A->V+A",
    },
    "social_science/education/1": {"capabilities": ["C1", "C7"], "capability_weights": {"C1": 0.75, "C7": 0.25}},
    "social_science/law/1": {"capabilities": ["C7"]},
    "general_area/news/1": {"capabilities": []},
    "natural_science/engineering/1": {
        "bundles": {
            "threeD1": ["thd_0001_01.mtl", "thd_0001_01.jpg"],
            "threeD4": ["thd_0001_05.mtl", "thd_0001_06.jpg"],
        }
    },
}


@pytest.fixture(scope="module")
def samples() -> dict[str, Sample]:
    return {sample.id: sample for sample in unim_samples(FOLDER)}


def files(sample: Sample) -> list[str]:
    """The paths of a question's media, from the data set's folder."""
    paths = [medium.path for medium in sample.input[0].content.media()]
    return [path.relative_to(FOLDER).as_posix() for path in paths if path is not None]


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


def test_every_level_and_all_modalities_on_both_sides_are_there(samples: dict[str, Sample]) -> None:
    sound = [sample for sample in samples.values() if not sample.fault]
    kinds = {"text", "code", "image", "audio", "video", "document", "3d"}

    assert {sample.metadata["difficulty"] for sample in sound} == {"easy", "medium", "hard"}
    assert {part.kind for sample in sound for part in sample.input[0].content.parts} == kinds
    assert {part.kind for sample in sound for part in sample.references[0].parts} == kinds


def test_media_and_labels(samples: dict[str, Sample]) -> None:
    assert {name: files(samples[name]) for name in MEDIA} == MEDIA
    found = {name: {key: samples[name].metadata.get(key) for key in labels} for name, labels in LABELS.items()}
    assert found == LABELS
    captioned = [name for name, labels in LABELS.items() if "captioned_reference" in labels]
    assert sorted(captioned) == sorted(n for n, one in samples.items() if "captioned_reference" in one.metadata)


def test_documents_are_files_of_any_of_six_kinds(samples: dict[str, Sample]) -> None:
    rows = [sample for sample in samples.values() if sample.metadata.get("combination") == "D->D"]

    assert {part.kind for sample in rows for part in sample.input[0].content.parts if part.media} == {"document"}
    suffixes = {Path(path).suffix for sample in rows for path in files(sample)}
    assert suffixes == {".pdf", ".csv", ".txt", ".png", ".jpg", ".doc"}


def test_code_shapes_and_words_in_the_place_of_a_sound(samples: dict[str, Sample]) -> None:
    codes = [samples[f"natural_science/programming/{at}"].input[0].content.parts[1].text for at in (1, 2)]
    assert codes == ["```c\nif (x) {\n```", "```c\n}}\n```"]
    mesh, shapes = (samples[f"natural_science/engineering/{at}"] for at in (1, 2))
    assert [part.label for part in mesh.input[0].content.parts if part.kind == "3d"] == ["3d1", "3d2", "3d3"]
    assert shapes.input[0].content.raw == "Take <<3d1>> for points."
    sides = (shapes.input[0].content, shapes.references[0])
    assert [medium.mime for side in sides for medium in side.media("3d")] == ["model/off", "model/ply"]
    art = samples["social_science/art/1"]
    assert art.input[0].content.raw.endswith("<audio1: a ball falls\nfrom a table>")
    assert art.references[0].media("video")[0].mime == "video/webm"


def test_a_domain_whose_folder_has_no_name_is_found_by_its_records() -> None:
    assert [sample.id for sample in unim_samples(FOLDER, "law")] == ["social_science/law/1"]
