from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.records import Sample
from tests.support.unim_folder import unim_row, unim_samples, write_medium, write_records


def sample_of(folder: Path, **changes: Any) -> Sample:
    write_records(folder, unim_row(**changes))
    return unim_samples(folder)[0]


def side(content: str, **modal: Any) -> dict[str, Any]:
    return {"modal": modal, "content": content}


def test_a_tag_becomes_its_medium_and_the_text_stays_as_written(tmp_path: Path) -> None:
    file = write_medium(tmp_path, "data/natural_science/math/image/img_0001_01.png")

    sample = sample_of(tmp_path, input=side("See <image1>!", image1="image/img_0001_01.png"))

    content = sample.input[0].content
    assert content.raw == "See <image1>!"
    assert [medium.path for medium in content.media("image")] == [file]


@pytest.mark.parametrize(
    "folder",
    [
        pytest.param("qapairs_placeholder/natural_science/1_math", id="beside the records"),
        pytest.param("data/natural_science/math", id="domain folder"),
        pytest.param("data/natural_science/1_math", id="numbered domain folder"),
        pytest.param(".", id="top folder"),
        pytest.param("natural_science/math", id="as the coherence scorer looks"),
    ],
)
def test_media_are_found_in_every_place_the_data_use(tmp_path: Path, folder: str) -> None:
    file = write_medium(tmp_path, f"{folder}/audio/a.wav")

    sample = sample_of(tmp_path, input=side("<audio1>", audio1="audio/a.wav"))

    path = sample.input[0].content.media()[0].path
    assert path is not None
    assert path.samefile(file)


def test_labels_come_from_the_record(tmp_path: Path) -> None:
    write_medium(tmp_path, "v.mp4", b"\0\0\0\x18ftypmp42")
    given = side("<audio1> and <video1>", audio1="some spoken words", video1="v.mp4")

    sample = sample_of(tmp_path, id=501, input=given, output=side("<threeD1> <image1> <image2>"))

    assert sample.id == "natural_science/math/501"
    assert sample.metadata == {
        "field": "natural_science",
        "domain": "math",
        "difficulty": "hard",
        "combination": "V+A->I+3D",
        "output_modalities": ["text", "image", "3d"],
    }


def test_field_and_domain_come_from_the_folders_when_the_record_has_none(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row(domain=None, subdomain=None), file="social_science/15_education/a.jsonl")

    labels = unim_samples(tmp_path)[0].metadata

    assert (labels["field"], labels["domain"]) == ("social_science", "education")


def test_the_other_name_of_the_general_area_means_the_same(tmp_path: Path) -> None:
    assert sample_of(tmp_path, domain="general_domain").metadata["field"] == "general_area"


@pytest.mark.parametrize(("level", "word"), [(1, "easy"), ("2", "medium"), (3, "hard"), ("hard", "hard")])
def test_the_difficulty_is_a_word(tmp_path: Path, level: object, word: str) -> None:
    assert sample_of(tmp_path, difficulty_level=level).metadata["difficulty"] == word


@pytest.mark.parametrize("given", [["C1", "C7"], {"C1": 0.5, "C7": 1}], ids=["list", "weights"])
def test_capabilities_are_labels_where_a_record_has_them(tmp_path: Path, given: object) -> None:
    assert sample_of(tmp_path, capability=given).metadata["capabilities"] == ["C1", "C7"]


def test_code_is_text_even_when_a_file_has_its_name(tmp_path: Path) -> None:
    write_medium(tmp_path, "main.py", b"other")

    sample = sample_of(tmp_path, input=side("Run <code1>", code1="main.py"))

    part = sample.input[0].content.parts[1]
    assert (part.kind, part.text, part.media) == ("code", "main.py", None)


def test_a_caption_in_place_of_a_file_stands_in_its_tag(tmp_path: Path) -> None:
    sample = sample_of(tmp_path, input=side("Sum up <<audio1>>.", audio1="a dog barks\ntwice"))

    assert sample.input[0].content.raw == "Sum up <<audio1: a dog barks\ntwice>>."
    assert sample.input[0].content.media() == ()


def test_a_file_whose_name_has_blanks_is_a_file(tmp_path: Path) -> None:
    write_medium(tmp_path, "image/a dog.png")

    sample = sample_of(tmp_path, input=side("<image1>", image1="image/a dog.png"))

    assert len(sample.input[0].content.media("image")) == 1


def test_keys_are_tags_in_any_spelling_of_the_data(tmp_path: Path) -> None:
    write_medium(tmp_path, "a.off", b"OFF\n0 0 0\n")

    sample = sample_of(tmp_path, input=side("<3d1> <threeD2>", threeD1="a.off", **{"3d2": "a.off"}, text1="ignored"))

    assert [part.label for part in sample.input[0].content.parts if part.media] == ["3d1", "3d2"]


@pytest.mark.parametrize(
    "path",
    [
        pytest.param("../../../../outside.png", id="upwards"),
        pytest.param("/etc/passwd", id="absolute"),
        pytest.param("link.png", id="link"),
    ],
)
def test_a_path_that_leads_out_of_the_data_is_refused(tmp_path: Path, path: str) -> None:
    write_medium(tmp_path, "outside.png")
    data = tmp_path / "data_set"
    data.mkdir()
    (data / "link.png").symlink_to(tmp_path / "outside.png")

    with pytest.raises(UsageError, match=r"text_image\.jsonl:1: record '1': 'input\.modal\.image1'.* leads out of"):
        sample_of(data, input=side("<image1>", image1=path))


def test_a_caption_that_looks_like_a_path_outwards_is_never_opened(tmp_path: Path) -> None:
    write_medium(tmp_path, "my secret.png")

    sample = sample_of(tmp_path / "data_set", input=side("<image1>", image1="../my secret.png"))

    assert sample.input[0].content.media() == ()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("image/gone.png", "no file 'image/gone.png' under .*fetch the media", id="missing file"),
        pytest.param("https://example.org/a.png", "web address", id="web address"),
        pytest.param("x" * 5000, "no file", id="longer than any name"),
        pytest.param("", "no file", id="empty"),
        pytest.param("a\0b", "no file", id="null byte"),
    ],
)
def test_a_medium_that_is_not_there_is_named(tmp_path: Path, path: str, message: str) -> None:
    with pytest.raises(MissingDataError, match=rf":1: record '1': 'output\.modal\.image1'.*{message}"):
        sample_of(tmp_path, output=side("<image1>", image1=path))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"id": None}, "'id' must be", id="no id"),
        pytest.param({"id": ["1"]}, "'id' must be", id="id is a list"),
        pytest.param({"domain": "../../etc"}, "'domain' is .* must be one of natural_science", id="field is a path"),
        pytest.param({"subdomain": "../x"}, "'subdomain' is", id="domain is a path"),
        pytest.param({"difficulty_level": 4}, "'difficulty_level' is '4'", id="difficulty"),
        pytest.param({"output": None}, "'output' must be an object", id="no output"),
        pytest.param({"input": {"content": 3}}, "'input' must be an object", id="content is a number"),
        pytest.param({"input": {"modal": ["a"], "content": ""}}, "'input.modal' must be", id="modal is a list"),
        pytest.param({"input": side("", image1=3)}, "'input.modal.image1' must be a text, not a int", id="value"),
        pytest.param({"input": side("", **{"image1> <audio1": "x"})}, "is no tag", id="two tags in a key"),
        pytest.param({"input": side("", picture="x")}, "'input.modal.picture' is no tag", id="key is no tag"),
    ],
)
def test_a_record_that_breaks_the_layout_is_refused_by_name(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UsageError, match=rf"text_image\.jsonl:1: record .*{message}"):
        sample_of(tmp_path, **changes)


def test_the_links_of_a_hub_snapshot_are_followed_to_their_blobs(tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshots" / "c0ffee"
    blob = write_medium(tmp_path, "blobs/abcd")
    link = write_medium(snapshot, "data/natural_science/math/image/a.png")
    link.unlink()
    link.symlink_to(blob)

    sample = sample_of(snapshot, input=side("<image1>", image1="image/a.png"))

    assert sample.input[0].content.media()[0].read() == blob.read_bytes()
