from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.errors import StorageError
from mmeval.media.parts import Interleaved
from mmeval.records.request import GenerationParams
from mmeval.records.response import ErrorInfo, Response, Usage
from mmeval.records.sample import Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Exchange, Trial
from mmeval.report.progress_bar import QuietProgress
from mmeval.report.samples_file import (
    SampleRow,
    sample_line,
    sample_rows,
    write_samples,
)
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.run.runner import run
from mmeval.task.selection import select
from mmeval.task.task import TaskOverrides
from tests.support.questions import write_benchmark

SAMPLE = Sample(
    "s0",
    (user("draw <image1>"),),
    (Interleaved.from_text("a <image1> b"),),
    {"level": "hard"},
)
LOST = ErrorInfo("timeout", "no answer in 60 s")


def answered(text: str, *, judge: str = "") -> Trial:
    output = Interleaved.from_text(text)
    exchanges = [Exchange("0", "model", "d", Response(output, usage=Usage(3, 5)))]
    if judge:
        verdict = Response(output, usage=Usage(1, 1), served=judge)
        exchanges.append(Exchange("1", "judge", "e", verdict))
    return Trial(SAMPLE, 0, tuple(exchanges), output)


def row(*trials: Trial, scores: tuple[dict[str, Score], ...] = ()) -> SampleRow:
    return SampleRow(
        0, SAMPLE, SAMPLE.input, GenerationParams(max_tokens=5), trials, scores
    )


def test_a_line_has_the_prompt_the_target_and_the_answer_of_each_repeat() -> None:
    line = sample_line(
        row(
            answered("a <image1>", judge="judge-2026"),
            Trial(SAMPLE, 1, error=LOST),
            scores=({}, {}),
        )
    )
    assert line["arguments"] == {
        "gen_args_0": {"arg_0": "user: draw <image1>", "arg_1": {"max_tokens": 5}}
    }
    assert line["target"] == "a <<image1>> b"
    assert line["resps"] == [["a <<image1>>", ""]]
    assert line["filtered_resps"] == ["a <<image1>>"]
    answer, none = line["parts"]
    assert [part["type"] for part in answer] == ["text", "image"]
    assert none is None
    assert line["error"] == [None, LOST.to_json()]
    assert line["usage"] == [
        {"input_tokens": 4, "output_tokens": 6},
        {"input_tokens": 0, "output_tokens": 0},
    ]
    assert line["judge"] == [["judge=judge-2026"], []]
    assert not {"warnings", "finish_reason", "inapplicable"} & line.keys()


def test_a_line_has_the_warnings_and_the_end_of_answers_where_there_are_any() -> None:
    output = Interleaved.from_text("a")
    cut = Response(output, finish_reason="length", warnings=("w", "v"))
    asked = tuple(Exchange(path, "model", "d", cut) for path in "01")
    trials = (
        answered("x"),
        Trial(SAMPLE, 1, asked, output),
        Trial(SAMPLE, 2, error=LOST),
    )
    line = sample_line(row(*trials))
    assert line["warnings"] == [[], ["w", "v"], []]
    assert line["finish_reason"] == ["stop", "length", None]


def test_a_metric_is_the_mean_of_the_repeats_that_were_scored() -> None:
    lost = Score.unscored("lost")
    scores = (
        {"m": Score(1.0), "k": lost, "n": Score(1.0)},
        {"m": lost, "k": lost, "n": Score(0.5)},
    )
    line = sample_line(row(answered("x"), answered("y"), scores=scores))
    assert {name: line[name] for name in line["metrics"]} == {
        "m": 1.0,
        "k": None,
        "n": 0.75,
    }
    assert line["unscored"] == [{"k": "lost"}, {"m": "lost", "k": "lost"}]
    assert line["scores"][0]["m"] == {"value": 1.0, "status": "scored"}


def test_the_hash_depends_on_samples_and_prompts_and_a_disk_that_fails_is_an_error(
    tmp_path: Path,
) -> None:
    other = replace(row(answered("x")), prompt=(user("another prompt"),))
    rows = [row(answered("x")), row(answered("y")), other]
    first, again, asked = (
        write_samples(tmp_path / str(at), [one]) for at, one in enumerate(rows)
    )
    assert (first == again, first == asked) == (True, False)
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match=r"samples\.jsonl"):
        write_samples(tmp_path / "file" / "samples.jsonl", [])


def test_each_wanted_sample_comes_once_with_its_repeats_and_scores_in_order(
    tmp_path: Path,
) -> None:
    selection = select(
        ["tiny"],
        include_path=[write_benchmark(tmp_path / "tasks")],
        overrides=TaskOverrides(repeats=2),
    )
    made = run(
        selection,
        RunOptions(BackendSpec("reference"), tmp_path / "runs", score_workers=0),
        progress=QuietProgress(),
    )

    def rows(wanted: Callable[[int, int], bool]) -> list[object]:
        found = sample_rows(
            made.folder, selection.tasks[0], made.score_sets["tiny"], wanted
        )
        return [
            (
                row.index,
                [trial.output.text for trial in row.trials if trial.output],
                [scores["exact_match"].value for scores in row.scores],
            )
            for row in found
        ]

    assert rows(lambda index, repeat: True) == [
        (i, [f"answer {i}"] * 2, [1.0, 1.0]) for i in range(3)
    ]
    assert rows(lambda index, repeat: (index, repeat) == (1, 1)) == [
        (1, ["answer 1"], [1.0])
    ]
