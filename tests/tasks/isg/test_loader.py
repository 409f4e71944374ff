import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from mmeval.dataset.bad_sample import rows_of
from mmeval.dataset.contract import DataSource
from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.records.sample import Sample
from mmeval.tasks import isg
from mmeval.tasks.isg.loader import load
from mmeval.tasks.isg.subtasks import CATEGORIES, TASKS, category_of
from tests.support.tiny_media import picture

BUNDLED = Path(isg.__file__).parent / "bundled"
TEXT = {"type": "text", "content": "Draw a cup."}
IMAGE = {"type": "image", "content": "images/a.png"}
PREDICT: dict[str, Any] = {
    "structure": {"Query": ["<query_text1>"], "Answer": ["<gen_text1>", "<gen_img1>"]},
    "block_tuple": {"relation": []},
    "block_qa": {
        "questions": [
            {"subject": "<gen_text1>", "object": "<gen_img1>", "Question": "Does it?"}
        ]
    },
    "image_tuple": [],
    "image_qa": {
        "questions": [
            {"image": "<gen_img1>", "Question": "Is it?", "id": 0, "Preliminary": []}
        ]
    },
}
ROW: dict[str, Any] = {
    "id": "0007",
    "Category": "HowTo",
    "Query": [TEXT, IMAGE],
    "Golden": [
        {"type": "text", "content": "A cup."},
        {**IMAGE, "caption": "never shown"},
    ],
    "original_query_path": "x",
    "predict": PREDICT,
}


def samples(folder: Path, *rows: Any, **options: Any) -> list[Sample]:
    if not (folder / "images.zip").exists():
        (folder / "images").mkdir(exist_ok=True)
        (folder / "images" / "a.png").write_bytes(picture())
    (folder / "ISG-Bench.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return list(rows_of(load(DataSource("isg_howto", folder, options=options))))


def odd(folder: Path, **changes: Any) -> list[str]:
    (sample,) = samples(folder, {**ROW, **changes})
    assert not sample.fault
    found: list[str] = sample.metadata.get("irregularities", [])
    return found


def test_the_rows_of_each_category_are_counted(tmp_path: Path) -> None:
    samples(tmp_path, ROW, {**ROW, "Category": "Style"}, ROW, {**ROW, "Category": 7})
    counts = load(DataSource("isg_howto", tmp_path)).label_counts()
    assert list(counts) == [
        ({"category": "HowTo"}, 2),
        ({"category": "Style"}, 1),
        ({"category": ""}, 1),
    ]


def test_a_row_is_asked_block_by_block_and_its_questions_are_labels(
    tmp_path: Path,
) -> None:
    (sample,) = samples(tmp_path, ROW)
    assert (sample.id, sample.fault) == ("0007", "")
    (message,), (golden,) = sample.input, sample.references
    assert [(part.kind, part.text) for part in message.content.parts] == [
        ("text", "Draw a cup."),
        ("image", None),
    ]
    assert [(part.kind, part.text) for part in golden.parts] == [
        ("text", "A cup."),
        ("image", None),
    ]
    assert sample.metadata == {
        "category": "HowTo",
        "predict": PREDICT,
        "paths": {"Query": ["images/a.png"], "Golden": ["images/a.png"]},
    }


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"structural": {}, "structure": None}, ""),
        ({"block_qa": None}, "block_qa is missing"),
        ({"image_qa": {}}, "image_qa has its list under no key"),
        (
            {"image_qa": {"Questions": PREDICT["image_qa"]["questions"]}},
            "image_qa has its list under 'Questions'",
        ),
        ({"image_qa": "x"}, "image_qa is not a list"),
        (
            {
                "block_qa": {
                    "questions": [{"subject": "<gen_text1>", "object": "<all>"}]
                }
            },
            "lacks Question",
        ),
        (
            {
                "block_qa": {
                    "questions": [
                        {"subject": "a cup", "object": "<gen_img1>", "Question": "?"}
                    ]
                }
            },
            "'a cup'",
        ),
        (
            {
                "block_qa": {
                    "questions": [
                        {"subject": "x" * 41, "object": "<gen_img1>", "Question": "?"}
                    ]
                }
            },
            # in the sample's digest, to which recorded scores are tied
            f"'{'x' * 37}...'",
        ),
        (
            {
                "image_qa": [
                    {"image": "<gen_img2>", "Question": "?", "id": 0, "Preliminary": []}
                ]
            },
            "<gen_img2>",
        ),
        (
            {
                "image_qa": [
                    {"image": "<gen_img1>", "Question": "?", "Preliminary": None}
                ]
            },
            "no id of its own",
        ),
        (
            {
                "image_qa": [
                    {
                        "image": "<gen_img1>",
                        "Question": "?",
                        "id": 0,
                        "Preliminary": None,
                    }
                ]
            },
            "no list Preliminary",
        ),
        (
            {
                "image_qa": [
                    {
                        "image": "<gen_img1>",
                        "Question": "?",
                        "id": 0,
                        "Preliminary": [0, 9],
                    }
                ]
            },
            "depends on 9",
        ),
        ({"image_qa": ["Is it?"]}, "is not an object"),
        ({"image_tuple": {"Tuple": []}}, ""),
    ],
)
def test_irregular_questions_are_read_and_told_with_the_sample(
    change: dict[str, Any], word: str, tmp_path: Path
) -> None:
    found = odd(tmp_path, predict={**PREDICT, **change})
    assert any(word in one for one in found) if word else found == []


def test_the_older_key_and_a_row_without_questions_are_told(tmp_path: Path) -> None:
    older = {
        ("structural" if key == "structure" else key): value
        for key, value in PREDICT.items()
    }
    assert ["older key" in one for one in odd(tmp_path, predict=older)] == [True]
    assert odd(tmp_path, predict=None) == ["predict is missing"]
    assert odd(tmp_path, Category="Cooking") == ["Category 'Cooking' is not a subtask"]


@pytest.mark.parametrize("written", ["images/a.jpeg", "images/a.PNG"])
def test_a_picture_is_found_under_another_ending(written: str, tmp_path: Path) -> None:
    (found,) = odd(tmp_path, Query=[TEXT, {"type": "image", "content": written}])
    assert found == f"{written} is the file a.png"


@pytest.mark.parametrize("inside", ["images/", ""])
def test_pictures_are_read_from_the_archive(
    inside: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(tmp_path / "cache"))
    data = tmp_path / "data"
    data.mkdir()
    with zipfile.ZipFile(data / "images.zip", "w") as archive:
        archive.writestr(f"{inside}a.png", picture())
    plain, turned = samples(
        data,
        ROW,
        {**ROW, "id": 8, "Query": [{"type": "image", "content": "images/a.JPG"}]},
    )
    assert (plain.fault, plain.references[0].media()[0].read()) == ("", picture())
    assert turned.metadata["irregularities"] == ["a.JPG is the file a.png"]


def test_a_row_without_an_id_has_that_of_its_position(tmp_path: Path) -> None:
    assert [sample.id for sample in samples(tmp_path, {**ROW, "id": None}, ROW)] == [
        "1",
        "0007",
    ]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"Query": []}, '"Query"'),
        ({"Golden": None}, '"Golden"'),
        ({"Query": [{"type": "audio", "content": "a.wav"}]}, "block 1"),
        ({"Query": [{"type": "text"}]}, "block 1"),
        ({"Golden": ["x"]}, "block 1"),
        ({"Query": [{"type": "image", "content": "images/gone.png"}]}, "gone.png"),
        ({"Query": [{"type": "image", "content": "../a.png"}]}, "inside"),
        ({"id": True}, '"id"'),
    ],
)
def test_a_bad_row_costs_itself_alone(
    change: dict[str, Any], word: str, tmp_path: Path
) -> None:
    bad, good = samples(tmp_path, {**ROW, **change}, {**ROW, "id": "0008"})
    assert (word in bad.fault, "ISG-Bench.jsonl: row 1" in bad.fault, good.fault) == (
        True,
        True,
        "",
    )
    assert bad.metadata.get("category") in (None, "HowTo")


def test_a_judge_file_beside_the_data_gives_the_results_by_id(tmp_path: Path) -> None:
    rows = [
        {"id": "0007", "result": {"structure": False}},
        {"id": "0007", "result": {"structure": True}},
    ]
    with pytest.raises(MissingDataError, match="judge_file"):
        samples(tmp_path, ROW, judge_file="*_judge.jsonl")
    (tmp_path / "m_judge.jsonl").write_text("\n".join(map(json.dumps, rows)))
    first, other = samples(
        tmp_path, ROW, {**ROW, "id": "0008"}, judge_file="*_judge.jsonl"
    )
    assert (first.metadata["result"], other.metadata["result"]) == (
        {"structure": True},
        None,
    )
    (tmp_path / "n_judge.jsonl").write_text("{}")
    with pytest.raises(MissingDataError, match=r"m_judge\.jsonl, n_judge\.jsonl"):
        samples(tmp_path, ROW, judge_file="*_judge.jsonl")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "m_judge.jsonl").symlink_to(tmp_path / "m_judge.jsonl")
    with pytest.raises(UsageError, match="leads out"):
        samples(tmp_path / "in", ROW, judge_file="*_judge.jsonl")


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError):
        load(DataSource("isg_howto", tmp_path))
    with pytest.raises(UnknownNameError, match="data_file"):
        load(DataSource("isg_howto", BUNDLED, options={"data_files": "x"}))


def test_the_bundled_rows_have_every_subtask_and_shapes_of_the_published_data() -> None:
    rows = list(rows_of(load(DataSource("isg_howto", BUNDLED))))
    assert not any(sample.fault for sample in rows)
    assert [sample.metadata["category"] for sample in rows] == [*TASKS.values()]
    assert sum(bool(sample.metadata.get("irregularities")) for sample in rows) == 6
    assert any(
        isinstance(sample.metadata["predict"]["image_qa"], list) for sample in rows
    )


def test_the_categories_hold_the_21_subtasks() -> None:
    assert (len(CATEGORIES), len(TASKS), category_of("Semantic Segmentation")) == (
        8,
        21,
        "decomposition",
    )
    with pytest.raises(UnknownNameError, match="HowTo"):
        category_of("HowTO")
