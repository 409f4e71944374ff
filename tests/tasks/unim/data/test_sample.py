import re
from pathlib import Path
from typing import Any

import pytest

from mmeval.records import Sample
from tests.support.unim import (
    FIRST_BYTES,
    GOLD,
    unim_row,
    unim_samples,
    write_medium,
    write_records,
)

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"
PAGE = b"<!doctype html><p>not found"


def sample_of(folder: Path, **changes: Any) -> Sample:
    write_records(folder, unim_row(**changes))
    return unim_samples(folder)[0]


def side(content: str, **modal: Any) -> dict[str, Any]:
    return {"modal": modal, "content": content}


@pytest.mark.parametrize(
    "folder",
    [
        "qapairs_placeholder/natural_science/1_math",
        *("data/natural_science/" + one for one in ("math", "1_math")),
        ".",
    ],
)
def test_a_tag_becomes_its_medium_in_every_place_that_the_data_use(
    tmp_path: Path, folder: str
) -> None:
    file = write_medium(tmp_path, f"{folder}/image/img 1.png")
    content = (
        sample_of(tmp_path, input=side("See <image1>!", image1=" image/img 1.png\n"))
        .input[0]
        .content
    )
    assert content.raw == "See <image1>!"
    assert [
        medium.path.resolve() for medium in content.media("image") if medium.path
    ] == [file.resolve()]


def test_labels_come_from_the_record_or_its_folders(tmp_path: Path) -> None:
    write_medium(tmp_path, "v.mp4")
    write_medium(tmp_path, "a.off")
    given = side("<audio1> and <video1>", audio1="some spoken words", video1="v.mp4")
    expected = side(
        "<threeD1> <image1> <image2>", threeD1="a.off", image1=GOLD, image2=GOLD
    )
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
    levels = [
        sample_of(tmp_path, difficulty_level=level).metadata["difficulty"]
        for level in ("2", 3, "hard")
    ]
    assert levels == ["medium", "hard", "hard"]
    assert (
        sample_of(tmp_path / "b", domain="general_domain").metadata["field"]
        == "general_area"
    )
    folders = "social_science/15_education/a.jsonl"
    write_records(tmp_path / "c", unim_row(domain=None, subdomain=None), file=folders)
    labels = unim_samples(tmp_path / "c")[0].metadata
    assert (labels["field"], labels["domain"]) == ("social_science", "education")


@pytest.mark.parametrize(
    ("given", "raw"),
    [
        (
            side("Sum up <<audio1>>.", audio1="a dog barks\ntwice"),
            "Sum up <<audio1: a dog barks\ntwice>>.",
        ),
        # a path outwards is never opened
        (side("<image1>", image1="../my secret"), "<image1: ../my secret>"),
    ],
)
def test_a_caption_in_place_of_a_file_stands_in_its_tag(
    tmp_path: Path, given: dict[str, Any], raw: str
) -> None:
    (tmp_path / "my secret").write_bytes(FIRST_BYTES[".png"])
    content = sample_of(tmp_path / "data_set", input=given).input[0].content
    assert (content.raw, content.media()) == (raw, ())


def test_keys_are_tags_in_any_spelling_and_code_is_text_even_when_a_file_has_its_name(
    tmp_path: Path,
) -> None:
    write_medium(tmp_path, "a.off", b"OFF\n0 0 0\n")
    given = side(
        "<3d1> <threeD2>", threeD1="a.off", **{"3d2": "a.off"}, text1="ignored"
    )
    sample = sample_of(tmp_path, input=given)
    assert [part.label for part in sample.input[0].content.parts if part.media] == [
        "3d1",
        "3d2",
    ]
    # A tag of the answer may stand in the question.
    assert not sample_of(tmp_path, input=side("Make <image1> of a line.")).fault
    write_medium(tmp_path, "main.py", b"other")
    part = (
        sample_of(tmp_path, input=side("Run <code1>", code1="main.py"))
        .input[0]
        .content.parts[1]
    )
    assert (part.kind, part.text, part.media) == ("code", "main.py", None)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("../../../../outside.png", "leads"),
        ("link.png", "leads"),
        ("../my secret.png", "leads"),
        ("image/gone.png", "fetch"),
        ("x" * 5000, "fetch"),
        ("https://example.org/a.png", "web address"),
    ],
)
def test_a_medium_that_is_elsewhere_or_missing_is_named(
    tmp_path: Path, value: str, reason: str
) -> None:
    write_medium(tmp_path, "outside.png")
    data = tmp_path / "data_set"
    data.mkdir()
    (data / "link.png").symlink_to(tmp_path / "outside.png")
    sample = sample_of(data, output=side("<image1>", image1=value))
    assert "text_image.jsonl:1: record '1': 'output.modal.image1': " in sample.fault
    assert reason in sample.fault
    assert (sample.input, sample.references, sample.metadata["combination"]) == (
        (),
        (),
        "T->I",
    )


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"id": None}, "'id' must"),
        ({"domain": "../../etc"}, "'domain' is"),
        ({"difficulty_level": 4}, "'difficulty_level' is '4'"),
        ({"output": None}, "'output' must"),
        ({"input": {"content": 3}}, "'input' must"),
        ({"input": {"modal": ["a"], "content": ""}}, "'input.modal' must"),
        ({"input": side("", image1=3)}, "'input.modal.image1' .* int"),
        ({"input": side("", **{"image1> <audio1": "x"})}, " tag"),
        ({"input": side("", picture="x")}, "'input.modal.picture'"),
        (
            {"input": side("", **{"threeD1": "a cube", "3d1": "a cone"})},
            "'input.modal.3d1' .* 'threeD1'",
        ),
        ({"input": side("See <image7>.")}, "'input.content' .* <image7>"),
        ({"input": side(" \n")}, "question has neither"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_record_that_breaks_the_layout(
    tmp_path: Path, changes: dict[str, Any], reason: str
) -> None:
    assert re.search(
        rf"text_image\.jsonl:1: .*{reason}", sample_of(tmp_path, **changes).fault
    )


def test_a_record_with_several_faults_has_four_of_them_and_no_label_that_cannot_be_read(
    tmp_path: Path,
) -> None:
    for more, end in ({}, False), ({"cat": "x"}, True):
        given = side("<image1> <audio1>", image1="image/gone.png", audio1=7, **more)
        sample = sample_of(tmp_path, input=given, output=None, difficulty_level="x")
        assert all(
            part in sample.fault
            for part in ("'difficulty_level' is 'x'", "image1': ", "audio1' must")
        )
        assert sample.fault.endswith("1 more") is end
    labels = sample_of(tmp_path, difficulty_level="x", subdomain="?").metadata
    assert ("difficulty" in labels, "domain" in labels, labels["field"]) == (
        False,
        False,
        "natural_science",
    )
    assert (
        sample_of(tmp_path, id=None).id == "natural_science/1_math/text_image.jsonl:1"
    )


@pytest.mark.parametrize(
    ("tag", "name", "data", "reason"),
    [
        ("image1", "a.png", PAGE, "text/html"),
        ("audio1", "a.wav", b"\x89PNG\r\n\x1a\n", "image/png"),
        ("video1", "a.mp4", b"", "empty"),
        ("document1", "a.pdf", b"\0\1\2", "unknown type"),
        ("document1", "a.txt", PAGE, r"\(\.txt\), .* text/html"),
        ("document1", "a.csv", POINTER, "git-lfs"),
        ("threeD1", "a.mtl", b"newmtl a\n", "OBJ file"),
        ("threeD1", "a.jpg", None, "3d, .* image/jpeg"),
    ],
)
def test_a_file_of_another_kind(
    tmp_path: Path, tag: str, name: str, data: bytes | None, reason: str
) -> None:
    write_medium(tmp_path, name, data)
    fault = sample_of(tmp_path, input=side(f"<{tag}>", **{tag: name})).fault
    assert re.search(rf"record '1': 'input\.modal\.{tag}': .*{reason}", fault)


def test_a_mesh_over_three_tags_is_one_medium_and_keeps_its_tags(
    tmp_path: Path,
) -> None:
    for name in ("a.obj", "a.mtl", "a.jpg", "b.obj", "b.mtl"):
        write_medium(tmp_path, name)
    text = "Turn <threeD1><threeD2><threeD3>."
    sample = sample_of(
        tmp_path, input=side(text, threeD1="a.obj", threeD2="a.mtl", threeD3="a.jpg")
    )
    content = sample.input[0].content
    assert (content.raw, [part.label for part in content.parts if part.media]) == (
        text,
        ["3d1"],
    )
    assert [part.label for part in content.parts if part.dangling] == ["3d2", "3d3"]
    assert sample.metadata["bundles"] == {"threeD1": ["a.mtl", "a.jpg"]}
    assert sample.metadata["bundled_tags"] == ["3d2", "3d3"]
    # Numbers begin again in the answer.
    given, expected = (
        side("<threeD1><threeD2>", threeD1=f"{x}.obj", threeD2=f"{x}.mtl") for x in "ab"
    )
    assert sample_of(tmp_path, input=given, output=expected).metadata["bundles"] == {
        "threeD1": ["a.mtl", "b.mtl"]
    }


def test_the_links_of_a_hub_snapshot_are_followed_to_their_blobs(
    tmp_path: Path,
) -> None:
    snapshot = tmp_path / "snapshots" / "c0ffee"
    blob = write_medium(tmp_path, "blobs/abcd", FIRST_BYTES[".png"])
    link = snapshot / "data/natural_science/math/image/a.png"
    link.parent.mkdir(parents=True)
    link.symlink_to(blob)
    sample = sample_of(snapshot, input=side("<image1>", image1="image/a.png"))
    assert sample.input[0].content.media()[0].read() == blob.read_bytes()
