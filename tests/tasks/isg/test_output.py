"""Answer files of ISG-Bench's scripts: read as they are, written without loss, and of a
scored run the judge file."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.interchange.contract import (
    AnsweredRun,
    AnsweredTask,
    StoredAnswer,
)
from mmeval.interchange.row_answers import RowAnswers
from mmeval.media import Interleaved, Media, Part, media_part, text_part
from mmeval.metric import bind, load_metric
from mmeval.metric.apply import score_judged, score_one
from mmeval.metrics.judged.isg.replies import OVERALL
from mmeval.metrics.judged.isg.rows import tokens_of
from mmeval.program import Role
from mmeval.records import ErrorInfo, Response, Sample, Score, Trial, user
from mmeval.tasks.isg.output import OTHER_QUERY, read_output, write_output
from tests.support.interchange import task_of
from tests.support.judging import driven
from tests.support.tiny_media import picture, wav

RED, BLUE = Media.from_bytes(picture(colour=1)), Media.from_bytes(picture(colour=2))
TONE = Media.from_bytes(wav())
TEXT = {"type": "text", "content": "t"}
PREDICT = {
    "block_qa": {
        "questions": [
            {"subject": "a", "object": "<all>"},
            {"subject": "a", "object": "b", "Question": "?"},
        ]
    },
    "image_qa": [
        {"id": 0, "Question": "?"},
        {"id": 1, "Question": "?", "Preliminary": [0]},
    ],
}


GRAPH = {
    "block_qa": {
        "questions": [
            {"subject": "<gen_text1>", "object": "<gen_img1>", "Question": "?"}
        ]
    },
    "image_qa": [
        {"image": "<gen_img1>", "Question": "?", "id": 0, "Preliminary": []},
        {"image": "<gen_img1>", "Question": "?", "id": 1, "Preliminary": [0]},
    ],
}


def sample(id: str = "0001", **labels: Any) -> Sample:
    own = {
        "category": "HowTo",
        "predict": PREDICT,
        "paths": {"Query": ["images/q.png"], "Golden": ["images/g.png"]},
    }
    asked = (user("How?", media_part(RED, "image")),)
    return Sample(
        id,
        asked,
        (Interleaved((text_part("So."), media_part(BLUE, "image"))),),
        {**own, **labels},
    )


def written(folder: Path, *lines: Any, name: str = "outputs.jsonl") -> Path:
    for colour, shade in (("b", 1), ("c", 2)):
        (folder / f"{colour}.png").write_bytes(picture(colour=shade))
    (folder / name).write_text("\n".join(map(json.dumps, lines)))
    return folder / name


def answer(answers: RowAnswers, id: str = "0001", repeat: int = 0) -> Response:
    found = answers.answer("isg_howto", sample(id), repeat)
    assert isinstance(found, StoredAnswer), found
    return found.response


def parts(response: Response) -> list[tuple[str, Any]]:
    assert response.output is not None
    return [
        (one.kind, one.text if one.media is None else one.media.read())
        for one in response.output.parts
    ]


B = {"type": "image", "content": "b.png", "caption": "never shown"}


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ([TEXT, B], [("text", "t"), ("image", RED.read())]),
        (
            [{"type": "text", "content": ""}, TEXT, TEXT],
            [("text", ""), ("text", "t"), ("text", "t")],
        ),
        ([{"type": "image", "content": None}], [("image", None)]),
        (
            [TEXT, {"type": "image", "content": "gone.png"}],
            [("text", "t"), ("image", None)],
        ),
        (
            [{"type": "image", "content": 7}],
            [("image", None)],
        ),
        (
            [TEXT, {"type": "smell", "content": "b.png"}],
            [("text", "t"), ("image", None)],
        ),
        ([], []),
        (None, []),
    ],
    ids=[
        "blocks",
        "texts stay as they are",
        "no file",
        "a lost file",
        "no path",
        "unknown",
        "empty",
        "null",
    ],
)
def test_an_answer_is_its_blocks(output: Any, found: list[Any], tmp_path: Path) -> None:
    answers = read_output(written(tmp_path, {"id": "0001", "output": output}))
    assert parts(answer(answers)) == found


@pytest.mark.parametrize(
    ("block", "named"),
    [
        ({"type": "image", "content": "gone.png"}, "gone.png"),
        ({"type": "image", "content": 7}, "7"),
        ({"type": "smell", "content": "b.png"}, "smell"),
    ],
    ids=["a lost file", "no path", "unknown"],
)
def test_an_answer_names_its_odd_block(block: Any, named: str, tmp_path: Path) -> None:
    answers = read_output(written(tmp_path, {"id": "0001", "output": [TEXT, block]}))
    (warning,) = answer(answers).warnings
    assert named in warning


def test_a_block_of_an_unknown_type_is_a_picture_for_the_released_script_alone(
    tmp_path: Path,
) -> None:
    file = written(
        tmp_path,
        {"id": "0001", "output": [TEXT, {"type": "smell", "content": "b.png"}]},
    )
    trial = Trial(
        sample(predict={"block_qa": {"questions": []}}),
        output=answer(read_output(file)).output,
    )
    bound = [
        bind(load_metric("isg_structural"), {}, profile)
        for profile in ("standard", "official")
    ]
    assert [score_one(one, trial)["isg_structural"].value for one in bound] == [0, 1]
    assert [*tokens_of(trial)] == ["<query_text1>", "<query_img1>", "<gen_text1>"]


def test_another_query_than_that_of_the_data_is_told(tmp_path: Path) -> None:
    same = [
        {"type": "text", "content": "How?"},
        {"type": "image", "content": "elsewhere.png"},
    ]
    lines = [
        {"id": "0001", "Query": same, "output": []},
        {"id": "0002", "Query": [TEXT], "output": []},
    ]
    answers = read_output(written(tmp_path, *lines))
    assert [answer(answers, id).warnings for id in ("0001", "0002")] == [
        (),
        (OTHER_QUERY,),
    ]


@pytest.mark.parametrize(
    "output",
    ["x", ["x"]],
)
def test_what_is_no_answer_is_refused(output: Any, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        answer(read_output(written(tmp_path, {"id": "0001", "output": output})))


def task(
    *trials: Trial, scores: Sequence[dict[str, Score]] = (), name: str = "isg_howto"
) -> AnsweredTask:
    return task_of(name, trials, scores)


def there_and_back(folder: Path, *trials: Trial) -> RowAnswers:
    write_output(AnsweredRun("m", (task(*trials),)), folder)
    return read_output(folder)


@pytest.mark.parametrize(
    "output",
    [
        (text_part("So."), media_part(RED, "image")),
        (Part("reasoning", "Hm.", raw="<think>Hm.</think>"), text_part("So.")),
        (
            media_part(TONE),
            Part("image", media=BLUE, raw="<<image1>>", label="image1"),
            Part("code", "x = 1"),
        ),
        (Part("image"), text_part("So.")),
    ],
    ids=[
        "blocks",
        "reasoning",
        "other media",
        "no file",
    ],
)
def test_an_export_read_back_is_the_answer(
    output: tuple[Part, ...], tmp_path: Path
) -> None:
    trial = Trial(sample(), output=Interleaved(output), left_out=("image",))
    found = answer(there_and_back(tmp_path, trial))
    assert (found.output, found.left_out) == (trial.output, ("image",))


def test_failures_repeats_and_odd_ids_come_back(tmp_path: Path) -> None:
    failed = Trial(sample("a/../b"), error=ErrorInfo("timeout", "too late"))
    again = Trial(
        sample("x y"), repeat=1, output=Interleaved((media_part(RED, "image"),))
    )
    answers = there_and_back(tmp_path, failed, again)
    error = answer(answers, "a/../b").error
    assert error is not None
    assert error.kind == "timeout"
    assert answer(answers, "x y", 1).output == again.output
    (line,) = map(json.loads, (tmp_path / "outputs.jsonl").read_text().splitlines())
    assert line["output"] is None


def test_a_line_has_query_and_golden_by_the_paths_of_the_data(tmp_path: Path) -> None:
    there_and_back(
        tmp_path,
        Trial(sample(), output=Interleaved((text_part("t"), media_part(RED, "image")))),
    )
    (line,) = map(json.loads, (tmp_path / "outputs.jsonl").read_text().splitlines())
    assert line == {
        "id": "0001",
        "Category": "HowTo",
        "Query": [
            {"type": "text", "content": "How?"},
            {"type": "image", "content": "images/q.png"},
        ],
        "Golden": [
            {"type": "text", "content": "So."},
            {"type": "image", "content": "images/g.png"},
        ],
        "output": [TEXT, {"type": "image", "content": "outputs/0001_g1.png"}],
    }
    assert (tmp_path / "outputs" / "0001_g1.png").read_bytes() == RED.read()


def test_a_scored_run_has_a_judge_file(tmp_path: Path) -> None:
    whole = (text_part("t"), media_part(RED, "image"))
    trials = [
        Trial(sample(id), output=Interleaved(own))
        for id, own in (("0001", whole), ("0002", ()))
    ]
    image = {
        "asked": [0],
        "verdicts": {"0": "no", "1": "no"},
        "not_asked": {"1": "0 is no"},
        "said": {"0": {"Reason": "dark"}},
    }
    scores = {
        "isg_structural": Score(1.0),
        "isg_block": Score(
            7.0,
            evidence={"asked": [1], "verdicts": {"1": {"Judge": 7.0, "Reason": "so"}}},
        ),
        "isg_image": Score(0.0, evidence=image),
        "isg_holistic": Score(
            6.0, evidence={"overall_score": 6.0, "dimensions": {"coherence": 5.0}}
        ),
    }
    wrong = {
        "isg_structural": Score(0.0),
        "isg_block": Score(1.0),
        "isg_image": Score(0.0),
        "isg_holistic": Score(1.0),
    }
    write_output(AnsweredRun("m", (task(*trials, scores=[scores, wrong]),)), tmp_path)
    first, second = map(
        json.loads, (tmp_path / "outputs_0_2_judge.jsonl").read_text().splitlines()
    )
    assert first["result"] == {
        "structure": True,
        "block": [
            {"subject": "a", "object": "<all>"},
            {
                "subject": "a",
                "object": "b",
                "Question": "?",
                "VQA_judge_Score": {"Judge": 7.0, "Reason": "so"},
            },
        ],
        "image": [
            {"id": 0, "Question": "?", "judge": {"Judge": "No", "Reason": "dark"}},
            {"id": 1, "Question": "?", "Preliminary": [0]},
        ],
        "holistic": {
            "coherence": {"score": 5.0, "explanation": ""},
            "overall_score": 6.0,
            "final_thoughts": "",
        },
    }
    assert ("result" in second, second["output"]) == (False, [])


PAIR = {"asked": [1], "verdicts": {"1": {"Judge": 7.0}}}
LEVELS = {
    "isg_structural": Score(1.0),
    "isg_block": Score(7.0, evidence=PAIR),
    "isg_image": Score(0.0, evidence={"asked": [], "verdicts": {}}),
    "isg_holistic": Score(6.0, evidence={"asked": [0], "overall_score": 6.0}),
}


def judge_file(
    folder: Path, predict: Any = PREDICT, **scores: Score
) -> tuple[list[Any], list[str]]:
    """The lines of the judge file of one answer, and the gaps."""
    trial = Trial(
        sample(predict=predict),
        output=Interleaved((text_part("t"), media_part(RED, "image"))),
    )
    done = write_output(
        AnsweredRun("m", (task(trial, scores=[{**LEVELS, **scores}]),)), folder
    )
    file = folder / "outputs_0_1_judge.jsonl"
    return [
        *map(json.loads, file.read_text().splitlines() if file.is_file() else ())
    ], [*done.gaps]


def test_the_structure_of_the_judge_file_is_that_of_the_score(tmp_path: Path) -> None:
    ((line,), gaps) = judge_file(tmp_path)
    assert (line["result"]["structure"], gaps) == (True, [])
    ((bare,), _) = judge_file(tmp_path, predict=None)
    assert bare["result"]["block"] == bare["result"]["image"] == []
    ((wrong,), _) = judge_file(tmp_path, isg_structural=Score(0.0))
    assert wrong["result"].keys() == {"structure", "holistic"}


@pytest.mark.parametrize(
    ("predict", "says", "levels"),
    [
        # the script finds no questions, and ends
        ({"block_qa": [], "image_qa": []}, "Yes", [0, 1, 0, 1]),
        (GRAPH, "Yes", [1, 7, 0.5, 6]),
        (GRAPH, True, [1, 7, 0, 6]),  # a verdict that is no text ends the pictures
        (GRAPH, "Yes.", [1, 7, 0, 6]),
    ],
    ids=["ends", "read", "no text", "not exact"],
)
def test_the_judge_file_of_an_official_run_gives_its_scores(
    predict: Any, says: Any, levels: list[float], tmp_path: Path
) -> None:
    golden = Interleaved((text_part("t"), media_part(RED, "image")))
    row = replace(sample(predict=predict), references=(golden,))
    trial = Trial(row, output=golden)
    scores = dict(score_one(bind(load_metric("isg_structural"), {}, "official"), trial))
    for name, said in (
        ("isg_block", {"Judge": 7}),
        ("isg_image", {"Judge": says}),
        ("isg_holistic", {OVERALL: 6}),
    ):
        asking = score_judged(bind(load_metric(name), {}, "official"), trial, Role)
        scores |= driven(asking, lambda _, said=said: json.dumps(said))[0]  # type: ignore[misc]
    assert [score.value for score in scores.values()] == levels
    write_output(AnsweredRun("m", (task(trial, scores=[scores]),)), tmp_path)
    (line,) = map(
        json.loads, (tmp_path / "outputs_0_1_judge.jsonl").read_text().splitlines()
    )
    recorded = replace(
        trial, sample=replace(row, metadata={**row.metadata, "result": line["result"]})
    )
    found = score_one(bind(load_metric("isg_recorded"), {}, "official"), recorded)
    assert [score.value for score in found.values()] == levels


def test_a_reply_without_a_verdict_stays_without_and_a_lost_one_is_null_and_told(
    tmp_path: Path,
) -> None:
    unread = Score(
        1.0,
        evidence={"asked": [1], "verdicts": {"1": {"Judge": None, "unreadable": True}}},
    )
    ((line,), gaps) = judge_file(tmp_path, isg_block=unread)
    assert (line["result"]["block"][1]["VQA_judge_Score"], gaps) == ({"Reason": ""}, [])
    lost = Score(
        status="unscored",
        reason="late",
        evidence={"asked": [1], "verdicts": {"1": {"lost": "late"}}},
    )
    ((line,), gaps) = judge_file(tmp_path, isg_block=lost)
    assert (line["result"]["block"][1]["VQA_judge_Score"], len(gaps)) == (None, 1)


def test_an_answer_without_all_levels_has_no_line_in_the_judge_file(
    tmp_path: Path,
) -> None:
    lines, gaps = judge_file(tmp_path, isg_holistic=Score.unscored("no judge"))
    assert (lines, len(gaps)) == ([], 1)


def test_other_benchmarks_have_no_place(tmp_path: Path) -> None:
    foreign = Trial(Sample("1", (user("x"),)), output=Interleaved((text_part("t"),)))
    with pytest.raises(UsageError, match="other"):
        write_output(AnsweredRun("m", (task(foreign, name="other"),)), tmp_path)
