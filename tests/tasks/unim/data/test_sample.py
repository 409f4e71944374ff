import re
from pathlib import Path
from typing import Any

import pytest

from mmeval.records.sample import Sample
from tests.support.unim_folder import (
    FIRST_BYTES,
    GOLD,
    unim_row,
    unim_samples,
    write_captions,
    write_medium,
    write_records,
)

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"


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
    write_medium(tmp_path, "v.mp4")
    given = side("<audio1> and <video1>", audio1="some spoken words", video1="v.mp4")

    write_medium(tmp_path, "a.off")
    expected = side("<threeD1> <image1> <image2>", threeD1="a.off", image1=GOLD, image2=GOLD)

    sample = sample_of(tmp_path, id=501, input=given, output=expected)

    assert sample.id == "natural_science/math/501"
    assert sample.metadata == {
        "field": "natural_science",
        "domain": "math",
        "difficulty": "hard",
        "combination": "V+A->I+3D",
        "output_modalities": ["text", "image", "3d"],
        "capabilities": [],
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

    fault = sample_of(data, input=side("<image1>", image1=path)).fault

    assert re.search(r"text_image\.jsonl:1: record '1': 'input\.modal\.image1': .* leads out of", fault)


def test_a_caption_that_is_a_path_outwards_is_never_opened(tmp_path: Path) -> None:
    (tmp_path / "my secret").write_bytes(FIRST_BYTES[".png"])

    sample = sample_of(tmp_path / "data_set", input=side("<image1>", image1="../my secret"))

    assert sample.input[0].content.raw == "<image1: ../my secret>"
    assert sample.input[0].content.media() == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        pytest.param("image/img_0003 01.png", "no file 'image/img_0003 01.png'", id="missing file"),
        pytest.param("https://example.org/a b.png", "it is a web address", id="web address"),
        pytest.param("../my secret.png", "leads out of its folder", id="outwards"),
    ],
)
def test_a_path_with_blanks_is_no_caption(tmp_path: Path, value: str, message: str) -> None:
    assert message in sample_of(tmp_path, input=side("<image1>", image1=value)).fault


def test_blanks_around_a_path_make_it_no_caption(tmp_path: Path) -> None:
    write_medium(tmp_path, "image/a.png")

    sample = sample_of(tmp_path, input=side("<image1>", image1=" image/a.png\n"))

    assert [medium.name for medium in sample.input[0].content.media()] == ["a.png"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        pytest.param("image/gone.png", "no file 'image/gone.png'; fetch the media", id="missing file"),
        pytest.param("https://example.org/a.png", "web address.*fetch the file yourself", id="web address"),
        pytest.param("x" * 5000, "no file", id="longer than any name"),
        pytest.param("", "no file", id="empty"),
        pytest.param("a\0b", "no file", id="null byte"),
    ],
)
def test_a_medium_that_is_not_there_is_named(tmp_path: Path, path: str, message: str) -> None:
    sample = sample_of(tmp_path, output=side("<image1>", image1=path))

    assert re.search(rf"jsonl:1: record '1': 'output\.modal\.image1': .*{message}", sample.fault)
    assert (sample.input, sample.references) == ((), ())
    assert sample.metadata["combination"] == "T->I"


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
        pytest.param(
            {"input": side("", image1=3)}, "'input.modal.image1' must be a text, and is of type int", id="value"
        ),
        pytest.param({"input": side("", **{"image1> <audio1": "x"})}, "is no tag", id="two tags in a key"),
        pytest.param({"input": side("", picture="x")}, "'input.modal.picture' is no tag", id="key is no tag"),
        pytest.param(
            {"input": side("", **{"threeD1": "a cube", "3d1": "a cone"})},
            "'input.modal.3d1' is the same tag as 'threeD1'",
            id="one tag twice",
        ),
        pytest.param({"input": side("See <image7>.")}, "'input.content' has the tag <image7>", id="tag without entry"),
        pytest.param({"output": side("<audio7>")}, "'output.content' has the tag <audio7>", id="in the answer"),
        pytest.param({"input": side(" \n")}, "there is nothing in its question", id="nothing is asked"),
    ],
)
def test_a_record_that_breaks_the_layout_is_a_fault_by_name(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    fault = sample_of(tmp_path, **changes).fault

    assert re.search(rf"text_image\.jsonl:1: .*{message}", fault)


def test_a_record_with_several_faults_tells_them_all(tmp_path: Path) -> None:
    given = side("<image1> <audio1>", image1="image/gone.png", audio1=7)

    fault = sample_of(tmp_path, input=given, output=None, difficulty_level="x").fault

    for part in ("'difficulty_level' is 'x'", "image1': no file", "audio1' must be a text", "'output' must be"):
        assert part in fault


def test_what_cannot_be_read_is_no_label(tmp_path: Path) -> None:
    labels = sample_of(tmp_path, difficulty_level="x", subdomain="?").metadata

    assert "difficulty" not in labels
    assert "domain" not in labels
    assert labels["field"] == "natural_science"


def test_a_record_that_lacks_its_names_is_called_by_its_place(tmp_path: Path) -> None:
    assert sample_of(tmp_path, id=None).id == "natural_science/1_math/text_image.jsonl:1"


def test_a_corrupt_record_keeps_the_labels_that_can_be_read(tmp_path: Path) -> None:
    path = write_records(tmp_path, unim_row())
    path.write_text('{"id": "7", "difficulty_level": 2, "input": oops}')

    (sample,) = unim_samples(tmp_path)

    assert sample.id == "natural_science/math/7"
    assert sample.metadata == {"field": "natural_science", "domain": "math", "difficulty": "medium"}
    assert re.search(r"text_image\.jsonl:1: record '7': the record cannot be read", sample.fault)


@pytest.mark.parametrize("name", ["a.pdf", "a.doc", "a.csv", "a.txt", "a.png", "a.jpg"])
def test_a_document_may_be_of_every_kind_of_the_paper(tmp_path: Path, name: str) -> None:
    write_medium(tmp_path, name)

    sample = sample_of(tmp_path, input=side("<document1>", document1=name))

    assert not sample.fault
    assert [part.kind for part in sample.input[0].content.parts if part.media] == ["document"]


@pytest.mark.parametrize(
    ("tag", "name", "data", "message"),
    [
        pytest.param("image1", "a.png", b"<!doctype html><p>not found", "announced as image, .* text/html", id="page"),
        pytest.param("audio1", "a.wav", b"\x89PNG\r\n\x1a\n", "announced as audio, .* image/png", id="picture"),
        pytest.param("video1", "a.mp4", b"", "is empty", id="empty"),
        pytest.param("document1", "a.pdf", b"\0\1\2", "is of no known type", id="bytes"),
        pytest.param(
            "document1", "a.txt", b"<!doctype html><p>gone", r"document \(\.txt\), .* text/html", id="no text"
        ),
        pytest.param("document1", "a.pdf", b"words", r"document \(\.pdf\), its content is text/plain", id="no PDF"),
        pytest.param("document1", "a.csv", POINTER, "only says where git-lfs has the file", id="table in git-lfs"),
        pytest.param("image1", "a.png", POINTER, "only says where git-lfs has the file", id="picture in git-lfs"),
        pytest.param("threeD1", "a.mtl", b"newmtl a\n", "no OBJ file beside it", id="materials without a mesh"),
        pytest.param("threeD1", "a.jpg", None, "announced as 3d, .* image/jpeg", id="texture without a mesh"),
    ],
)
def test_a_file_of_another_kind_than_its_tag_is_named(
    tmp_path: Path, tag: str, name: str, data: bytes | None, message: str
) -> None:
    write_medium(tmp_path, name, data)

    fault = sample_of(tmp_path, input=side(f"<{tag}>", **{tag: name})).fault

    assert re.search(rf"record '1': 'input\.modal\.{tag}': .*{message}", fault)


def test_a_mesh_over_three_tags_is_one_medium_and_keeps_its_tags(tmp_path: Path) -> None:
    for name in ("a.obj", "a.mtl", "a.jpg"):
        write_medium(tmp_path, name)
    text = "Turn <threeD1><threeD2><threeD3>."

    sample = sample_of(tmp_path, input=side(text, threeD1="a.obj", threeD2="a.mtl", threeD3="a.jpg"))

    content = sample.input[0].content
    assert content.raw == text
    assert [part.label for part in content.parts if part.media] == ["3d1"]
    assert [part.label for part in content.parts if part.dangling] == ["3d2", "3d3"]
    assert sample.metadata["bundles"] == {"threeD1": ["a.mtl", "a.jpg"]}
    assert sample.metadata["bundled_tags"] == ["3d2", "3d3"]


def test_meshes_of_both_sides_keep_their_files_where_numbers_begin_again(tmp_path: Path) -> None:
    for name in ("a.obj", "a.mtl", "b.obj", "b.mtl"):
        write_medium(tmp_path, name)
    given, expected = (side("<threeD1><threeD2>", threeD1=f"{x}.obj", threeD2=f"{x}.mtl") for x in "ab")

    assert sample_of(tmp_path, input=given, output=expected).metadata["bundles"] == {"threeD1": ["a.mtl", "b.mtl"]}


def test_a_tag_of_the_answer_may_stand_in_the_question(tmp_path: Path) -> None:
    assert not sample_of(tmp_path, input=side("Make <image1> of a line.")).fault


def test_a_caption_is_the_reference_of_those_who_compare_words(tmp_path: Path) -> None:
    write_records(tmp_path, unim_row())
    write_captions(tmp_path, unim_row(output=side("Here: <image1: a line>")))

    (sample,) = unim_samples(tmp_path)

    assert sample.metadata["captioned_reference"] == "Here: <image1: a line>"
    assert sample.references[0].raw == "Here: <image1>"


def test_the_links_of_a_hub_snapshot_are_followed_to_their_blobs(tmp_path: Path) -> None:
    snapshot = tmp_path / "snapshots" / "c0ffee"
    blob = write_medium(tmp_path, "blobs/abcd", FIRST_BYTES[".png"])
    link = write_medium(snapshot, "data/natural_science/math/image/a.png")
    link.unlink()
    link.symlink_to(blob)

    sample = sample_of(snapshot, input=side("<image1>", image1="image/a.png"))

    assert sample.input[0].content.media()[0].read() == blob.read_bytes()
