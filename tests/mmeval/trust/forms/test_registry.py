"""What each form of ratings becomes."""

import json
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.trust.forms.registry import FORMS
from mmeval.trust.records import Rating


def read(
    form: str, content: Any, folder: Path, *, name: str = "file.json"
) -> list[Rating]:
    file = folder / name
    file.write_text(
        content if isinstance(content, str) else json.dumps(content), "utf-8"
    )
    return list(FORMS[form].read(file).ratings)


def label_studio_task(*results: Any, **annotation: Any) -> list[Any]:
    base = {"completed_by": 7, "result": list(results), "was_cancelled": False}
    return [{"id": 3, "data": {}, "annotations": [{**base, **annotation}]}]


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("rating", {"rating": 4}, 4.0),
        ("number", {"number": 0.5}, 0.5),
        ("choices", {"choices": ["good"]}, "good"),
        ("choices", {"choices": ["b", "a"]}, "a,b"),
        ("textarea", {"text": ["fine"]}, "fine"),
        ("pairwise", {"selected": "left"}, "a"),
    ],
)
def test_label_studio_has_a_value_for_each_control(
    kind: str, value: Any, expected: Any, tmp_path: Path
) -> None:
    result = {"from_name": "quality", "type": kind, "value": value}
    (rating,) = read("label_studio", label_studio_task(result), tmp_path)
    assert (rating.value, rating.question) == (expected, "quality")


def test_label_studio_names_a_rater_by_address(tmp_path: Path) -> None:
    result = {"from_name": "q", "type": "rating", "value": {"rating": 4}}
    person = {"id": 1, "email": "ann@example.org"}
    task = label_studio_task(result, completed_by=person)
    (rating,) = read("label_studio", task, tmp_path)
    assert (rating.trial, rating.rater) == ("3", "ann@example.org")


def test_label_studio_leaves_out_what_is_cancelled(tmp_path: Path) -> None:
    result = {"from_name": "q", "type": "rating", "value": {"rating": 4}}
    file = tmp_path / "file.json"
    file.write_text(json.dumps(label_studio_task(result, was_cancelled=True)))
    reading = FORMS["label_studio"].read(file)
    assert (reading.ratings, reading.skipped) == ([], {"cancelled": 1})


def test_argilla_has_the_answers_of_each_question(tmp_path: Path) -> None:
    record = {
        "id": "r1",
        "metadata": {"trial": "t1"},
        "responses": {"quality": [{"value": 4, "user_id": "u"}]},
    }
    (rating,) = read("argilla", [record], tmp_path)
    assert (rating.trial, rating.question, rating.value) == ("t1", "quality", 4)


def test_argilla_leaves_out_drafts_of_its_server(tmp_path: Path) -> None:
    responses = [
        {"values": {"q": {"value": "yes"}}, "status": "submitted", "user_id": "u"},
        {"values": {"q": {"value": "no"}}, "status": "draft", "user_id": "v"},
    ]
    record = {"id": "uuid", "external_id": "t1", "responses": responses}
    ratings = read("argilla", {"items": [record]}, tmp_path)
    assert [(each.trial, each.value) for each in ratings] == [("t1", "yes")]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ({"quality": "4"}, [("quality", 4.0)]),
        ({"quality.good": "true", "quality.bad": ""}, [("quality", "good")]),
        ({"quality.good": 0, "quality.bad": 1}, [("quality", "bad")]),
        ({"quality.scale": 3}, [("quality", 3.0)]),
        ({"quality.scale": 1}, [("quality", 1.0)]),
        ({"quality.4": 1}, [("quality", 4.0)]),
        ({"side.selection": "B"}, [("side", "b")]),
        ({"side.scale_value": "-2"}, [("side", "a")]),
        ({"side.scale_value": "0"}, [("side", "tie")]),
        ({"a_spans": "[]"}, []),
        (
            {"s.fluent": "3", "s.true": "5"},
            [("s.fluent", 3.0), ("s.true", 5.0)],
        ),
    ],
)
def test_potato_has_cells_of_schemes(
    cells: Any, expected: list[tuple[str, Any]], tmp_path: Path
) -> None:
    line = json.dumps(
        {"instance_id": "i", "user_id": "u", **cells},
    )
    ratings = read("potato", f"{line}\n", tmp_path, name="file.jsonl")
    assert [(each.question, each.value) for each in ratings] == expected


def test_potato_reads_a_table(tmp_path: Path) -> None:
    table = "instance_id,user_id,quality\ni,u,4\n"
    (rating,) = read("potato", table, tmp_path, name="file.csv")
    assert (rating.trial, rating.rater, rating.value) == ("i", "u", 4)


def test_potato_reads_its_live_file(tmp_path: Path) -> None:
    state = {
        "user_id": "u",
        "instance_id_to_label_to_value": {"i": {"side": {"selection": "A"}}},
    }
    (rating,) = read("potato", state, tmp_path)
    assert (rating.trial, rating.value, rating.a, rating.b) == ("i", "a", "A", "B")


def test_pearmut_has_a_trial_for_each_item_and_model(tmp_path: Path) -> None:
    line = {
        "user_id": "u",
        "item_i": 4,
        "item": [{"item_id": "d1", "tgt": {"m": "words"}}],
        "annotation": [{"m": {"score": 80, "error_spans": []}}],
    }
    lines = [line, {**line, "item_i": "welcome_1"}, {**line, "annotation": None}]
    (rating,) = read("pearmut", {"campaign": lines}, tmp_path)
    assert (rating.trial, rating.sample, rating.value) == ("d1/m", "d1", 80)
    assert rating.labels["model"] == "m"


def test_inspect_names_epochs(tmp_path: Path) -> None:
    rows = [{"id": "s", "epoch": 1, "value": 4}, {"id": "s", "epoch": 2, "value": 5}]
    ratings = read("inspect", rows, tmp_path)
    assert [(each.trial, each.sample) for each in ratings] == [
        ("s/1", "s"),
        ("s/2", "s"),
    ]


def test_inspect_with_two_values_of_a_sample_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="two values"):
        read(
            "inspect",
            [{"id": "s", "value": 4}, {"id": "s", "value": 5}],
            tmp_path,
        )


def test_judgejudy_leaves_out_scores_outside_its_scale(tmp_path: Path) -> None:
    evaluations = [
        {"run_id": "r", "test_case_id": "c", "evaluator_name": "ann", "human_score": 5},
        {"run_id": "r", "test_case_id": "c", "evaluator_name": "bob", "human_score": 6},
    ]
    document = {"run_id": "r", "evaluations": evaluations}
    (rating,) = read("judgejudy", document, tmp_path)
    assert (rating.trial, rating.rater, rating.run) == ("c", "ann", "r")


def test_an_error_names_the_number_of_the_rating(tmp_path: Path) -> None:
    rows = [{"id": "s1", "value": 4}, {"id": "s2", "value": [4]}]
    with pytest.raises(UsageError, match="rating 2: value must be"):
        read("inspect", rows, tmp_path)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "content", ["", "7", "[7]", "{}", '{"a": 1}', '[{"annotations": 3}]', "[" * 200_000]
)
def test_a_damaged_file_is_an_error_or_has_no_ratings(
    form: str, content: str, tmp_path: Path
) -> None:
    try:
        assert read(form, content, tmp_path) == []
    except UsageError as error:
        assert "file.json" in str(error)


@pytest.mark.parametrize("form", [name for name in FORMS if FORMS[name].write])
def test_written_ratings_are_read_again(form: str, tmp_path: Path) -> None:
    ratings = [
        Rating("t1", "ann", 4.0, "q", sample="s1", labels={"level": "hard"}),
        Rating("t2", "ann", "good", "q", sample="s1"),
    ]
    write = FORMS[form].write
    assert write is not None
    file = f"f{FORMS[form].suffix}"
    again = read(
        form,
        write(ratings, "majority"),
        tmp_path,
        name=file,
    )
    assert [(each.trial, each.value) for each in again] == [("t1", 4.0), ("t2", "good")]


@pytest.mark.parametrize("form", ["jsonl", "csv", "label_studio"])
def test_forms_with_raters_keep_raters_and_labels(form: str, tmp_path: Path) -> None:
    rating = Rating(
        "t1",
        "ann",
        4.0,
        "q",
        sample="s1",
        labels={"level": "hard"},
    )
    write = FORMS[form].write
    assert write is not None
    file = f"f{FORMS[form].suffix}"
    (again,) = read(form, write([rating], "mean"), tmp_path, name=file)
    assert (again.rater, again.sample, again.labels) == ("ann", "s1", {"level": "hard"})
