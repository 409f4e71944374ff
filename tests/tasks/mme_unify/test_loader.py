import json
import logging
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.media.parts import Interleaved
from mmeval.records.sample import Sample
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.tasks import mme_unify
from mmeval.tasks.mme_unify.loader import FILES, load
from mmeval.tasks.mme_unify.turns import turns_of
from tests.support.shipped_tasks import selected_samples, shipped
from tests.support.tiny_media import picture

Row = dict[str, Any]
BUNDLED = Path(mme_unify.__file__).parent / "bundled"
PLACES = {
    "understanding": "Understanding/Understanding_Unified.json",
    "generation": "Generation/Generation_Unified.json",
    "iee": "Uinfy_capability/Image_Editing_and_Explaning/Unified_Explanation.json",
    "csq": "Uinfy_capability/Common_Sense_Question/Common_Sense_Question.json",
    "al": "Uinfy_capability/Auxiliary_Lines/Auxiliary_Lines..json",
    "sd": "Uinfy_capability/SpotDiff/Spot_Diff.json",
    "vcot": "Uinfy_capability/Visual_CoT/Visual_CoT.json",
}
SEVERAL: Row = {
    "question_id": 7,
    "category": "Multiple_Images_and_Text_Interlaced",
    "question": "Here <img> and there <img>: which?",
    "image": ["a.png", "b.png"],
    "choice": ["A: x", "B: y", "C: z", "D: w"],
    "answer": "C",
}
CSQ: Row = {
    "id": 3,
    "question": "Which?",
    "choice": ["A: x", "B: y", "C: z", "D: w"],
    "answer": "B",
    "data": {
        "image": "a.png",
        "fake_image1": "b.png",
        "fake_image2": "c.png",
        "fake_image3": "d.png",
    },
}
SD: Row = {
    **CSQ,
    "data": {
        **{"img_a": "a.png", "img_b": "b.png", "img_diff_a": "c.png"},
        **{f"img_diff_a_negative{number}": "d.png" for number in (1, 2, 3)},
    },
}
IEE: Row = {
    **CSQ,
    "choice": ["C: right", "A: ```x", "```B: y", "D: z"],
    "answer": "C",
    "data": {**CSQ["data"], "edited_image": "b.png"},
}
VCOT: Row = {
    "id": 9,
    "subcategory": "data_3x3",
    "data": {
        "Action": ["Right", "Down", "Finish"],
        "Coordinate": [[1, 1], [1.2], [2, 2]],
        "Step_0": "a.png",
        "Step_1": "b.png",
    },
}
GENERATION: Row = {"id": 2, "Text_Prompt": "a hare", "data": {"image": "a.png"}}
TIE = {"image": "a.png", "mask_img": "b.png", "edited_image": "c.png"}


def samples(
    folder: Path, file: str, *rows: Any, place: str = "", **options: Any
) -> list[Sample]:
    for shade, name in enumerate(("a", "b", "c", "d")):
        (folder / f"{name}.png").write_bytes(picture(colour=shade))
    path = folder / (place or PLACES[file])
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(rows))
    return list(
        rows_of(load(DataSource("t", folder, options={"file": file, **options})))
    )


def one(folder: Path, file: str, row: Row, **options: Any) -> Sample:
    (sample,) = samples(folder, file, row, **options)
    return sample


def shown(content: Interleaved) -> list[str]:
    """The words of texts, and the names of the files of media."""
    return [
        part.text or "" if part.media is None else part.media.label.rpartition("/")[2]
        for part in content.parts
    ]


def asked(sample: Sample) -> list[str]:
    assert sample.fault == ""
    (message,) = sample.input
    return shown(message.content)


def test_each_row_belongs_to_a_task_and_is_named_by_its_place_in_the_file(
    tmp_path: Path,
) -> None:
    twice = {**SEVERAL, "question_id": 8}
    other = {
        **SEVERAL,
        "category": "Single_Image_Perception_and_Understanding",
        "image": ["a.png"],
    }
    first, between, again = samples(tmp_path, "understanding", SEVERAL, other, twice)
    assert [sample.id for sample in (first, between, again)] == [
        "mitiu/0",
        "sipu/1",
        "mitiu/2",
    ]
    assert [sample.metadata["mme_unify_task"] for sample in (first, between)] == [
        "mitiu",
        "sipu",
    ]
    keys = [sample.metadata["question_key"] for sample in (first, between, again)]
    assert keys[0] == keys[2] != keys[1]
    assert first.metadata["paths"] == SEVERAL["image"]
    assert (first.metadata["question_id"], first.metadata["choice"]) == (
        7,
        SEVERAL["choice"],
    )


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "Here <img> and there <img>: which?",
            ["Here ", "a.png", " and there ", "b.png", ": which?"],
        ),
        ("<img><img>", ["a.png", "b.png", ""]),
        ("Which?", ["a.png", "b.png", "Which?"]),
        ("One <img>.", ["a.png", "One ", "b.png", "."]),
        ("<img> <img> <img>", ["a.png", " ", "b.png", " <img>"]),
    ],
    ids=[
        "in their places",
        "side by side",
        "no place",
        "a place too few",
        "a place too many",
    ],
)
def test_pictures_stand_in_the_places_of_a_question(
    question: str, expected: list[str], tmp_path: Path
) -> None:
    sample = one(tmp_path, "understanding", {**SEVERAL, "question": question})
    *before, last = expected
    assert asked(sample) == [*before, "\n".join((last, *SEVERAL["choice"]))]
    assert ("irregularities" in sample.metadata) == (
        question.count("<img>") not in (0, 2)
    )
    assert [shown(answer) for answer in sample.references] == [["C"]]


def test_generation_asks_for_what_the_reference_holds(tmp_path: Path) -> None:
    (tmp_path / "a.mp4").write_bytes(b"\0\0\0\x18ftypisom\0\0\0\0isommp42")
    categories = [
        "Text-Image_Generation",
        "Fine-Grained_Image_Reconstruction",
        "Text-to-Video_Generation",
    ]
    rows = [{**GENERATION, "category": category} for category in categories]
    rows[1]["Text_Prompt"] = " "
    rows[2]["data"] = {"image": "a.mp4"}
    rows.append({**rows[2], "data": {}})
    clip = {
        **GENERATION,
        "category": "Video prediction",
        "data": {"image": "a.png", "video": "a.mp4"},
    }
    found = samples(tmp_path, "generation", *rows, clip)
    assert [sample.id for sample in found] == [
        "tig/0",
        "fir/1",
        "tvg/2",
        "tvg/3",
        "vp/4",
    ]
    assert [asked(sample) for sample in found] == [
        ["a hare"],
        ["a.png"],
        ["a hare"],
        ["a hare"],
        ["a.png", "a hare"],
    ]
    references = [[shown(answer) for answer in sample.references] for sample in found]
    assert references == [[["a.png"]], [["a.png"]], [["a.mp4"]], [], [["a.mp4"]]]
    assert [sample.metadata["usable"] for sample in found] == [
        True,
        True,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    ("mask", "sent"),
    [(False, ["a.png", "a hare"]), (True, ["a.png", "b.png", "a hare"])],
)
def test_a_mask_is_sent_where_the_task_says_so(
    mask: bool, sent: list[str], tmp_path: Path
) -> None:
    row = {**GENERATION, "category": "Text-Image_Editing", "data": TIE}
    sample = one(tmp_path, "generation", row, mask=mask)
    assert (asked(sample), shown(sample.references[0])) == (sent, ["c.png"])


def test_the_unify_tasks_ask_without_their_candidates(tmp_path: Path) -> None:
    csq, sd = one(tmp_path, "csq", CSQ), one(tmp_path, "sd", SD)
    assert (asked(csq), asked(sd)) == (
        ["Which?\nA: x\nB: y\nC: z\nD: w"],
        ["a.png", "b.png", "A: x\nB: y\nC: z\nD: w"],
    )
    assert [shown(content) for content in csq.candidates] == [
        ["a.png"],
        ["b.png"],
        ["c.png"],
        ["d.png"],
    ]
    assert [shown(content) for content in sd.candidates] == [
        ["c.png"],
        *[["d.png"]] * 3,
    ]
    assert (shown(csq.references[0]), shown(sd.references[0])) == (
        ["B", "a.png"],
        ["B", "c.png"],
    )


def test_the_options_of_an_edit_are_never_asked_and_its_letters_are_out_of_order(
    tmp_path: Path,
) -> None:
    sample = one(tmp_path, "iee", IEE)
    assert asked(sample) == ["a.png", "Which?"]
    assert (shown(sample.references[0]), shown(sample.candidates[0])) == (
        ["C: right", "b.png"],
        ["b.png"],
    )


def test_a_maze_asks_its_first_state_and_a_mistyped_cell_is_read(
    tmp_path: Path,
) -> None:
    sample = one(tmp_path, "vcot", VCOT)
    assert (sample.id, asked(sample)) == ("vcot/0", ["a.png"])
    labels = {
        key: sample.metadata[key] for key in ("action", "coordinate", "size", "last")
    }
    assert labels == {
        "action": VCOT["data"]["Action"],
        "coordinate": VCOT["data"]["Coordinate"],
        "size": 3,
        "last": 2,
    }
    assert len(sample.metadata["irregularities"]) == 1
    assert [shown(state) for state in sample.candidates] == [["a.png"], ["b.png"]]
    turns = turns_of(sample.references[0]).values()
    assert [
        (turn.action, turn.location, turn.picture is not None) for turn in turns
    ] == [
        ("Right", [1, 0], True),
        ("Down", [1, 1], False),
        ("Finish", [1, 1], False),
    ]


def test_a_file_with_another_ending_is_found_and_a_missing_candidate_costs_itself_alone(
    tmp_path: Path,
) -> None:
    (tmp_path / "hare.JFIF").write_bytes(picture("JPEG"))
    (tmp_path / "hare.txt").write_text("a hare")
    row = {
        **CSQ,
        "data": {**CSQ["data"], "image": "hare.jpg", "fake_image2": "gone.jpg"},
    }
    sample = one(tmp_path, "csq", row)
    assert shown(sample.candidates[0]) == ["hare.JFIF"]
    assert [
        part.dangling for content in sample.candidates for part in content.parts
    ] == [False, False, True, False]
    assert len(sample.metadata["irregularities"]) == 2
    assert shown(
        one(
            tmp_path, "csq", {**row, "data": {**row["data"], "image": "gone.jpg"}}
        ).references[0]
    ) == ["B"]


def test_the_rows_of_each_task_are_counted_without_their_media(tmp_path: Path) -> None:
    categories = ("Text-Image_Generation", "Text-Image_Editing", "Cooking")
    rows = [{**GENERATION, "category": category} for category in categories]
    samples(tmp_path, "generation", *rows, rows[0])
    counts = load(DataSource("t", tmp_path, options={"file": "generation"}))
    assert list(counts.label_counts()) == [
        ({"mme_unify_task": "tig"}, 2),
        ({"mme_unify_task": "tie"}, 1),
        ({}, 1),
    ]


def test_the_first_odd_row_of_a_task_is_logged_and_the_others_for_debugging(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    gone = {name: f"gone_{name}.png" for name in CSQ["data"]}
    rows = [{**CSQ, "id": number, "data": gone} for number in range(3)]
    with caplog.at_level(logging.DEBUG, "mmeval"):
        samples(tmp_path, "csq", *rows)
    levels = [record.levelname for record in caplog.records]
    assert levels == ["INFO", "DEBUG", "DEBUG"]
    assert caplog.messages[0].startswith("csq/0: ")
    assert "gone_image.png" in caplog.messages[0]


@pytest.mark.parametrize(
    ("file", "row", "word"),
    [
        ("understanding", {**SEVERAL, "category": "Cooking"}, "category"),
        ("understanding", {**SEVERAL, "image": []}, '"image"'),
        ("understanding", {**SEVERAL, "image": ["gone.png"]}, "gone.png"),
        ("understanding", {**SEVERAL, "answer": "E"}, '"answer"'),
        ("understanding", {**SEVERAL, "choice": "A: x"}, '"choice"'),
        ("understanding", {**SEVERAL, "question": None}, '"question"'),
        (
            "generation",
            {**GENERATION, "category": "Text-Image_Generation", "data": None},
            '"data"',
        ),
        (
            "generation",
            {**GENERATION, "category": "Text-Image_Generation", "Text_Prompt": 3},
            '"Text_Prompt"',
        ),
        ("vcot", {**VCOT, "subcategory": "data_3x4"}, "subcategory"),
        (
            "vcot",
            {**VCOT, "data": {**VCOT["data"], "Coordinate": [[1, 1], [1], [2, 2]]}},
            "coordinate",
        ),
        ("vcot", {**VCOT, "data": {**VCOT["data"], "Step_0": "gone.png"}}, "gone.png"),
        ("csq", [CSQ], "object"),
    ],
)
def test_a_row_that_cannot_be_asked_costs_itself_alone(
    file: str, row: Any, word: str, tmp_path: Path
) -> None:
    sound = {
        "understanding": SEVERAL,
        "generation": {**GENERATION, "category": "Text-Image_Generation"},
        "csq": CSQ,
    }
    bad, good = samples(tmp_path, file, row, sound.get(file, VCOT))
    assert (word in bad.fault, good.fault) == (True, ""), bad.fault
    assert isinstance(row, list) or bad.id.endswith("/0")


@pytest.mark.parametrize(
    ("file", "place"),
    [
        ("csq", "Unify_Capability/Common_Sense_Question/Common_Sense_Question.json"),
        ("csq", f"Unify_Dataset/{PLACES['csq']}"),
        ("al", "Unify_capability/Auxiliary_Lines/Auxiliary_Lines.json"),
    ],
)
def test_each_spelling_of_the_folders_is_found(
    file: str, place: str, tmp_path: Path
) -> None:
    data = dict.fromkeys(("image", "image_Auxiliary_lines", *CSQ["data"]), "a.png")
    assert len(samples(tmp_path, file, {**CSQ, "data": data}, place=place)) == 1


def test_a_file_that_is_missing_or_there_twice_or_elsewhere_is_named(
    tmp_path: Path,
) -> None:
    with pytest.raises(MissingDataError, match=r"Auxiliary_Lines\.\.json"):
        load(DataSource("t", tmp_path, options={"file": "al"}))
    samples(tmp_path, "csq", CSQ)
    with pytest.raises(UsageError, match="2 copies"):
        samples(
            tmp_path,
            "csq",
            CSQ,
            place="Unify_Capability/Common_Sense_Question/Common_Sense_Question.json",
        )
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "Understanding").symlink_to(tmp_path)
    (tmp_path / "Understanding_Unified.json").write_text("[]")
    with pytest.raises(UsageError, match="leads out"):
        load(DataSource("t", tmp_path / "in", options={"file": "understanding"}))
    with pytest.raises(UnknownNameError):
        load(DataSource("t", tmp_path, options={"file": "music"}))
    with pytest.raises(UnknownNameError):
        load(DataSource("t", tmp_path, options={"file": "csq", "masks": True}))


@pytest.mark.parametrize("task", choose(["mme_unify"], TaskIndex()).tasks)
def test_no_path_or_name_of_a_file_reaches_the_model(task: str) -> None:
    built = shipped(task)
    for sample in selected_samples(built):
        words = " ".join(message.content.text for message in built.prompt(sample))
        names = [Path(path).stem for path in _texts(sample.metadata["paths"])]
        assert [name for name in names if name in words and "_" in name] == []
        assert "media/" not in words


def _texts(paths: Any) -> list[str]:
    return list(paths.values() if isinstance(paths, dict) else paths)


def test_the_bundled_rows_are_sound_and_of_all_fourteen_tasks() -> None:
    found = [
        sample
        for file in FILES
        for sample in rows_of(load(DataSource("t", BUNDLED, options={"file": file})))
    ]
    assert [sample.fault for sample in found if sample.fault] == []
    assert len({sample.metadata["mme_unify_task"] for sample in found}) == 14
