from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.content.parts import Interleaved
from mmeval.errors import StorageError
from mmeval.records.request import GenerationParams
from mmeval.records.response import ErrorInfo, Response, Usage
from mmeval.records.sample import Message, Sample, user
from mmeval.records.score import Score
from mmeval.records.trial import Exchange, Trial
from mmeval.report.progress_bar import Quiet
from mmeval.report.samples_file import SampleRow, sample_line, sample_rows, write_samples
from mmeval.run.options import BackendSpec, RunOptions, RunOutcome
from mmeval.run.runner import run
from mmeval.task.selection import select
from tests.support import toy
from tests.support.lm_eval_reader import read_samples
from tests.support.tiny_benchmark import write_benchmark

SAMPLE = Sample("s0", (user("draw <image1>"),), (Interleaved.from_text("a <image1> b"),), {"level": "hard"})

LOST = ErrorInfo("timeout", "no answer in 60 s")


def answered(text: str, *, repeat: int = 0, judge: str = "") -> Trial:
    output = Interleaved.from_text(text)
    exchanges = [Exchange("0", "model", "d", Response(output, usage=Usage(3, 5)))]
    if judge:
        exchanges.append(Exchange("1", "judge", "e", Response(output, usage=Usage(1, 1), served=judge)))
    return Trial(SAMPLE, repeat, tuple(exchanges), output)


def row(*trials: Trial, scores: tuple[dict[str, Score], ...] = (), index: int = 0) -> SampleRow:
    return SampleRow(index, SAMPLE, SAMPLE.input, GenerationParams(max_tokens=5), trials, scores)


def test_a_line_has_the_prompt_the_target_and_the_answer_of_each_repeat() -> None:
    line = sample_line(row(answered("one"), answered("two", repeat=1)))
    assert line["arguments"] == {"gen_args_0": {"arg_0": "user: draw <image1>", "arg_1": {"max_tokens": 5}}}
    assert line["target"] == "a <<image1>> b"
    assert (line["resps"], line["filtered_resps"]) == ([["one", "two"]], ["one"])


def test_the_ordered_parts_stand_beside_the_text() -> None:
    line = sample_line(row(answered("a <image1> b")))
    assert [part["type"] for part in line["parts"][0]] == ["text", "image", "text"]


def test_a_metric_is_the_mean_of_the_repeats_that_were_scored() -> None:
    scores = (
        {"m": Score(1.0), "k": Score.unscored("lost")},
        {"m": Score.unscored("lost"), "k": Score.unscored("lost")},
    )
    line = sample_line(row(answered("x"), answered("y"), scores=scores))
    assert (line["m"], line["k"]) == (1.0, None)
    assert line["unscored"] == [{"k": "lost"}, {"m": "lost", "k": "lost"}]
    assert line["scores"][0]["m"] == {"value": 1.0, "status": "scored"}


def test_a_failed_trial_has_its_error_and_no_parts() -> None:
    failed = Trial(SAMPLE, error=ErrorInfo("timeout", "no answer in 60 s"))
    line = sample_line(row(failed, scores=({},)))
    assert (line["error"], line["parts"]) == ([{"kind": "timeout", "message": "no answer in 60 s"}], [None])


def test_usage_covers_all_exchanges_and_the_judge_is_named() -> None:
    line = sample_line(row(answered("x", judge="judge-2026")))
    assert line["usage"] == [{"input_tokens": 4, "output_tokens": 6}]
    assert line["judge"] == [["judge=judge-2026"]]


def test_warnings_and_an_end_before_its_time_stand_by_repeat() -> None:
    output = Interleaved.from_text("a")
    cut = Response(output, finish_reason="length", warnings=("w", "v"))
    asked = tuple(Exchange(path, "model", "d", cut) for path in "01")
    line = sample_line(row(answered("x"), Trial(SAMPLE, 1, asked, output), Trial(SAMPLE, 2, error=LOST)))
    assert line["warnings"] == [[], ["w", "v"], []]
    assert line["finish_reason"] == ["stop", "length", None]


def test_a_line_without_anything_remarkable_has_no_keys_for_it() -> None:
    line = sample_line(row(answered("x"), Trial(SAMPLE, 1, error=LOST)))
    assert not {"warnings", "finish_reason"} & line.keys()


def test_a_metric_named_like_a_fixed_key_does_not_hide_it() -> None:
    line = sample_line(row(answered("x"), scores=({"target": Score(0.5)},)))
    assert line["target"] == "a <<image1>> b"
    assert line["scores"] == [{"target": {"value": 0.5, "status": "scored"}}]


def test_a_reader_of_the_layout_reads_the_file(tmp_path: Path) -> None:
    file = tmp_path / "samples_a_2026.jsonl"
    write_samples(file, [row(answered("x"), scores=({"m": Score(1.0)},), index=i) for i in (0, 3)])
    assert [line["doc_id"] for line in read_samples(file)] == [0, 3]
    assert [path.name for path in tmp_path.iterdir()] == [file.name]


def test_the_hash_depends_on_samples_and_prompts_not_on_answers(tmp_path: Path) -> None:
    hashes = [write_samples(tmp_path / name, [row(answered(text))]) for name, text in [("1", "x"), ("2", "y")]]
    other = SampleRow(0, SAMPLE, (user("another prompt"),), GenerationParams(), (answered("x"),), ())
    assert hashes[0] == hashes[1]
    assert write_samples(tmp_path / "3", [other]) != hashes[0]


def test_rows_are_written_as_they_come(tmp_path: Path) -> None:
    seen: list[int] = []

    def rows() -> Iterator[SampleRow]:
        for index in range(3):
            seen.append(len(list(tmp_path.glob(".samples*"))))
            yield row(answered("x" * 10_000), index=index)

    write_samples(tmp_path / "samples_a_1.jsonl", rows())
    assert seen == [1, 1, 1]


def test_lone_surrogates_of_a_broken_tokenizer_do_no_harm(tmp_path: Path) -> None:
    file = tmp_path / "samples_a_1.jsonl"
    write_samples(file, [row(answered("bad \ud800 text"))])
    assert len(read_samples(file)) == 1


def test_a_folder_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="cannot be written"):
        write_samples(tmp_path / "file" / "samples.jsonl", [])


def test_what_a_metric_has_nothing_to_say_of_stands_beside_what_is_unscored() -> None:
    scores = {"a": Score.inapplicable("no sound"), "b": Score.unscored("lost"), "c": Score(1.0)}
    line = sample_line(SampleRow(0, Sample("s", ()), (), GenerationParams(), (), (scores,)))
    plain = sample_line(SampleRow(0, Sample("s", ()), (), GenerationParams(), (), ({"c": Score(1.0)},)))
    assert (line["unscored"], line["inapplicable"], line["a"]) == ([{"b": "lost"}], [{"a": "no sound"}], None)
    assert "inapplicable" not in plain


def finished(tmp_path: Path, *, repeats: int = 1, predict_only: bool = False) -> RunOutcome:
    from mmeval.task.task import TaskOverrides

    tasks = write_benchmark(tmp_path / "tasks")
    selection = select(["tiny"], include_path=[tasks], overrides=TaskOverrides(repeats=repeats))
    options = RunOptions(BackendSpec("reference"), tmp_path / "runs", score_workers=0, predict_only=predict_only)
    return run(selection, options, progress=Quiet())


def rows(outcome: RunOutcome, wanted: Callable[[int, int], bool] = lambda index, repeat: True) -> list[object]:
    found = sample_rows(outcome.folder, outcome.selection.tasks[0], outcome.score_sets.get("tiny"), wanted)
    return [
        (row.index, [t.output.text for t in row.trials if t.output], [s["exact_match"].value for s in row.scores if s])
        for row in found
    ]


def test_each_sample_comes_once_with_all_its_repeats_in_order(tmp_path: Path) -> None:
    assert rows(finished(tmp_path, repeats=2)) == [(i, [f"answer {i}"] * 2, [1.0, 1.0]) for i in range(3)]


def test_only_what_is_wanted_comes_with_its_own_scores(tmp_path: Path) -> None:
    outcome = finished(tmp_path, repeats=2)
    assert rows(outcome, lambda index, repeat: index == 1 and repeat == 1) == [(1, ["answer 1"], [1.0])]


def test_a_sample_without_content_has_its_reason_and_no_prompt(tmp_path: Path) -> None:
    def prompt(row: Sample) -> tuple[Message, ...]:
        return (row.input[0],)  # which a sample without content has not

    rows = [toy.sample("s0"), Sample("s1", (), fault="row 2: torn")]
    of = replace(toy.task(rows=rows), prompt=prompt)
    outcome = toy.run_toy(tmp_path, of, model=BackendSpec("reference"))
    sound, bad = sample_rows(outcome.folder, of, outcome.score_sets["toy"], lambda index, repeat: True)
    assert (len(sound.prompt), bad.prompt, bad.sample.fault) == (1, (), "row 2: torn")
    assert bad.trials[0].error == ErrorInfo("bad_sample", "row 2: torn")


def test_a_run_without_scores_has_answers(tmp_path: Path) -> None:
    assert rows(finished(tmp_path, predict_only=True)) == [(i, [f"answer {i}"], []) for i in range(3)]
