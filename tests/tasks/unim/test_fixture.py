"""The data set of the tests, tests/fixtures/unim_hub: every form that UniM's records may have, one test each."""

import re
from pathlib import Path

import pytest

from mmeval.records.sample import Sample
from scripts.make_unim_hub import HUB, ROOT, hub
from tests.support.unim_folder import unim_dataset, unim_samples

FOLDER = ROOT / HUB
ENCODED = (".mp4", ".webm", ".jpg")
"""Their bytes belong to the installed encoder."""
FAULTS = {
    "general_area/food/2": r":\d+: record '2': the record cannot be read: .* in its line 6",
    "general_area/food/4": r"'input\.modal\.image1': no file 'image/gone\.png'",
    "general_area/food/5": r"'output\.modal\.image2': no file 'image/gone_too\.png'",
    "general_area/food/6": r"'input\.modal\.image1' must be a text, and is of type int",
    "general_area/food/7": r"'difficulty_level' is 'x'; it must be 1 \(easy\)",
    "general_area/25_food/image_image.jsonl:127": r"'id' must be a word or a number",
    "general_area/food/9": r"page\.png is announced as image, its content is text/html",
    "general_area/food/10": r"is a web address .* fetch the file yourself",
    "general_area/food/11": r"'\.\./\.\./\.\./README\.md' leads out of its folder",
    "general_area/food/12": r"empty\.png is empty",
    "general_area/food/14": r":\d+: record '14': the record cannot be read",
}
"""The records that cannot be asked, in their order, and what is said of them."""


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


@pytest.mark.parametrize("name", FAULTS)
def test_a_damaged_record_tells_file_line_and_reason(samples: dict[str, Sample], name: str) -> None:
    fault = samples[name].fault

    assert re.match(r".*/qapairs_placeholder/general_area/25_food/image_image\.jsonl:\d+: ", fault)
    assert re.search(FAULTS[name], fault)


def test_every_level_and_all_modalities_on_both_sides_are_there(samples: dict[str, Sample]) -> None:
    sound = [sample for sample in samples.values() if not sample.fault]
    kinds = {"text", "code", "image", "audio", "video", "document", "3d"}

    assert {sample.metadata["difficulty"] for sample in sound} == {"easy", "medium", "hard"}
    assert {part.kind for sample in sound for part in sample.input[0].content.parts} == kinds
    assert {part.kind for sample in sound for part in sample.references[0].parts} == kinds


@pytest.mark.parametrize(
    ("name", "paths"),
    [
        pytest.param("math/1#2", ["data/natural_science/math/image/img_0001_01.png"], id="data/field/domain"),
        pytest.param(
            "math/2", ["qapairs_placeholder/natural_science/1_math/image/beside/img_0002_01.png"], id="beside"
        ),
        pytest.param("math/3", ["data/natural_science/math/image/img_0003 01.png"], id="a name with a blank"),
        pytest.param(
            "physics/1",
            [f"data/natural_science/2_physics/audio/aud_0001_0{at}.{end}" for at, end in ((1, "wav"), (2, "mp3"))],
            id="a folder with the domain's number",
        ),
        pytest.param("education/1", ["social_science/education/video/vid_0001_01.mp4"], id="field/domain"),
        pytest.param("news/1", ["qapairs_placeholder/part_2/img.png"], id="beside records of no domain"),
    ],
)
def test_media_are_found_where_they_lie(samples: dict[str, Sample], name: str, paths: list[str]) -> None:
    (sample,) = [sample for full, sample in samples.items() if full.partition("/")[2] == name]

    assert files(sample) == paths


def test_a_record_without_names_has_those_of_its_folders(samples: dict[str, Sample]) -> None:
    assert samples["general_area/sports/1"].metadata["field"] == "general_area"
    assert samples["general_area/sports/1"].references[0].media("audio")[0].path == FOLDER / "audio/aud_0001_01.wav"


def test_an_id_stands_in_several_domains_and_in_two_files_of_one(samples: dict[str, Sample]) -> None:
    assert {"natural_science/math/1", "natural_science/math/1#2", "natural_science/physics/1"} <= set(samples)


def test_difficulties_are_numbers_words_and_digits(samples: dict[str, Sample]) -> None:
    levels = [samples[f"natural_science/math/{name}"].metadata["difficulty"] for name in ("1#2", "2", "3")]

    assert levels == ["easy", "medium", "hard"]


def test_documents_are_files_of_any_of_six_kinds(samples: dict[str, Sample]) -> None:
    rows = [sample for sample in samples.values() if sample.metadata.get("combination") == "D->D"]

    assert {part.kind for sample in rows for part in sample.input[0].content.parts if part.media} == {"document"}
    assert {Path(path).suffix for sample in rows for path in files(sample)} == {
        *(".pdf", ".csv", ".txt", ".png", ".jpg", ".doc")
    }


def test_braces_in_code_and_records_on_one_line_cost_nothing(samples: dict[str, Sample]) -> None:
    codes = [samples[f"natural_science/programming/{at}"].input[0].content.parts[1].text for at in (1, 2)]

    assert codes == ["```c\nif (x) {\n```", "```c\n}}\n```"]


def test_a_mesh_over_three_tags_travels_as_its_obj(samples: dict[str, Sample]) -> None:
    sample = samples["natural_science/engineering/1"]

    assert files(sample) == ["data/natural_science/engineering/3dmesh/thd_0001_01.obj"]
    assert [part.label for part in sample.input[0].content.parts if part.kind == "3d"] == ["3d1", "3d2", "3d3"]
    assert sample.metadata["bundles"] == {
        "threeD1": ["thd_0001_01.mtl", "thd_0001_01.jpg"],
        "threeD4": ["thd_0001_05.mtl", "thd_0001_06.jpg"],
    }


def test_the_other_shapes_stand_alone_under_either_name_of_the_tag(samples: dict[str, Sample]) -> None:
    sample = samples["natural_science/engineering/2"]

    assert sample.input[0].content.raw == "Take <<3d1>> for points."
    assert [medium.mime for medium in sample.input[0].content.media("3d")] == ["model/off"]
    assert [medium.mime for medium in sample.references[0].media("3d")] == ["model/ply"]


def test_words_in_the_place_of_a_sound_stand_in_its_tag(samples: dict[str, Sample]) -> None:
    sample = samples["social_science/art/1"]

    assert sample.input[0].content.raw == "Film what is said: <audio1: a ball falls\nfrom a table>"
    assert sample.metadata["combination"] == "A->V+A"
    assert sample.references[0].media("video")[0].mime == "video/webm"


def test_capabilities_are_lists_or_weights_under_three_keys(samples: dict[str, Sample]) -> None:
    names = ("social_science/art/1", "social_science/education/1", "social_science/law/1", "general_area/news/1")

    assert [samples[name].metadata["capabilities"] for name in names] == [
        ["C6", "C3", "a capability of its own"],
        ["C1", "C7"],
        ["C7"],
        [],
    ]
    assert samples[names[1]].metadata["capability_weights"] == {"C1": 0.75, "C7": 0.25}


def test_captions_come_from_the_file_of_the_same_path_or_from_the_domain_s_folder(samples: dict[str, Sample]) -> None:
    found = {
        name: s.metadata["captioned_reference"] for name, s in samples.items() if "captioned_reference" in s.metadata
    }

    assert found == {
        "natural_science/math/1#2": "Two, as in <image2: a chart with 2 bars>.",
        "natural_science/math/2": "Here it is: <<image2: a chart with 2 bars>>",
        "general_area/sports/1": "So: <audio1: two beats>",
        "social_science/art/1": "<video1: a ball falls from a table> with <audio1: one knock>",
    }


def test_a_domain_of_a_folder_that_says_nothing_is_found_by_its_records() -> None:
    assert [sample.id for sample in unim_samples(FOLDER, "law")] == ["social_science/law/1"]
