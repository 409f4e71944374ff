import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mmeval.broker import runtime as runtime_module
from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    IdentityChangedError,
    StorageError,
    UsageError,
)
from mmeval.findings.group import grouped
from mmeval.media.parts import Interleaved
from mmeval.program.protocols import episode
from mmeval.records.request import GenerationParams, Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user
from mmeval.run import runner as runner_module
from mmeval.run.options import BackendSpec, RunOutcome
from mmeval.run.progress import left_to_judge
from mmeval.store.shard import Shard
from mmeval.task.task import Task
from tests.support.toy import (
    Rows,
    Toy,
    asked_in,
    asked_text,
    break_model,
    damage,
    mend_model,
    picture,
    reply,
    run_toy,
    sample,
    samples,
    task,
)

JUDGE = {"judge": BackendSpec("toy")}
SLOW = {"judge": BackendSpec("toy", {"delay": 0.2})}
STRICT = {"judge": BackendSpec("toy", {"model": "toy-strict"})}


def values(outcome: Any) -> dict[str, float | None]:
    return {
        result.task: result.value
        for result in (*outcome.results, *outcome.group_results)
    }


def judged(rows: Any = 3, **more: Any) -> Task:
    return task("judged", rows, metrics=("toy_verdict",), **more)


def test_a_whole_run_is_refused_beside_shards_that_are_not_merged_and_leaves_nothing(
    tmp_path: Path,
) -> None:
    run = run_toy(tmp_path, task(), shard=Shard(2, 1)).folder.parent.parent
    with pytest.raises(UsageError, match="shard 1/2"):
        run_toy(tmp_path, task())
    assert [path.name for path in run.iterdir()] == ["shards"]


def test_what_fails_is_counted_by_its_kind_and_asked_again(tmp_path: Path) -> None:
    def prompt(row: Sample) -> Any:
        return row.input if row.id != "s2" else 1 / 0

    torn = Sample("t", (), fault="row 3: torn")
    shown = Sample("p", (user("question 7", picture()),))
    break_model(tmp_path, "question 1")
    first = run_toy(
        tmp_path,
        replace(task(rows=[*samples(3), torn, shown]), prompt=prompt),
        args={"takes": "text"},
    )
    (result,) = first.results
    assert (
        result.value,
        result.failed,
        result.unsupported,
        first.counts.new,
        first.counts.failed,
    ) == (1.0, 3, 1, 1, 3)
    assert (first.exit_code, result.bounds) == (
        EXIT_INCOMPLETE,
        pytest.approx((0.25, 1.0)),
    )
    mend_model(tmp_path)
    second = run_toy(
        tmp_path, task(rows=[*samples(3), sample("t", "question 3", "answer 3")])
    )
    assert (second.counts.kept, second.counts.new, second.exit_code) == (1, 3, EXIT_OK)


def test_what_a_tolerant_program_makes_of_a_failure_is_scored_anew_when_the_call_succeeds(
    tmp_path: Path,
) -> None:
    def tolerant(ask: Any) -> Any:
        first, second = yield [
            ask.call([user(text)]) for text in ("answer", "question 0")
        ]
        return (second if second.ok else first).require()

    break_model(tmp_path, "question")
    assert values(run_toy(tmp_path, task(rows=1, protocol=tolerant))) == {"toy": 0.0}
    mend_model(tmp_path)
    assert values(run_toy(tmp_path, task(rows=1, protocol=tolerant))) == {"toy": 1.0}


def test_unscored_answers_are_counted_with_their_reason_once_for_all_tasks(
    tmp_path: Path,
) -> None:
    rows = [sample("a", "yes"), sample("b", "raise")]
    toy = task(rows=rows, metrics=("toy_yes",))
    outcome = run_toy(tmp_path, toy)
    assert (outcome.exit_code, outcome.counts.unscored, outcome.results[0].value) == (
        EXIT_INCOMPLETE,
        1,
        1.0,
    )
    (lost,) = outcome.findings
    assert (lost.kind, lost.subject.metric, lost.count, lost.of) == (
        "unscored",
        "toy_yes",
        1,
        2,
    )
    assert run_toy(tmp_path, toy, max_unscored=0.5).exit_code == EXIT_OK
    both = run_toy(tmp_path, replace(toy, name="first"), replace(toy, name="second"))
    (group,) = grouped(both.findings)
    assert ("no such luck (toy.py:" in group.cause, group.count) == (True, 2)
    assert group.names("task") == ("first", "second")


@pytest.mark.parametrize(
    "change",
    [
        {"helper": BackendSpec("toy", {"model": "other"})},
        {"helper": BackendSpec("toy", {"gen.temperature": 0.2})},
        {"helper": BackendSpec("toy"), "text_to_image": BackendSpec("toy")},
    ],
    ids=["other", "asked in another way", "one more"],
)
def test_an_agent_is_another_one_when_a_role_that_it_asks_is(
    tmp_path: Path, change: dict[str, BackendSpec]
) -> None:
    agent, helper = BackendSpec("toy_agent"), {"helper": BackendSpec("toy")}
    for judge in (JUDGE, STRICT):  # a judge is no part of the model's identity
        run_toy(tmp_path, judged(), model=agent, roles={**helper, **judge})
    with pytest.raises(IdentityChangedError, match=r"roles\.(helper|text_to_image)"):
        run_toy(tmp_path, judged(), model=agent, roles={**change, **JUDGE})


def test_a_model_that_judges_itself_is_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runtime_module, "BACKOFF_BASE", 0.01)

    def busy_at_first(asked: Request) -> Response:
        if "met?" not in asked_text(asked):
            return reply("an answer")
        return (
            reply("yes") if len(model.asked) > 2 else Response.failed("server", "busy")
        )

    model = Toy(answers=busy_at_first)
    itself = BackendSpec("toy", instance=model)
    outcome = run_toy(
        tmp_path, judged(1), model=itself, roles={"judge": itself}, retry_on_error=1
    )
    assert (values(outcome), outcome.findings) == ({"judged": 1.0}, ())


def test_a_judge_that_has_work_left_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases: tuple[tuple[dict[str, Any], bool], ...] = (
        ({"predict_only": True, "roles": JUDGE}, False),
        ({"roles": SLOW}, True),
    )
    for more, noted in cases:
        run_toy(tmp_path, judged(), **more)
        errors = capsys.readouterr().err
        assert any(left_to_judge(count) in errors for count in (1, 2, 3)) is noted


def test_answers_that_are_not_scored_have_the_command_that_scores_them(
    tmp_path: Path,
) -> None:
    outcome = run_toy(tmp_path, judged(2), predict_only=True, roles=JUDGE)
    (finding,) = outcome.findings
    assert (finding.kind, finding.count, finding.severity) == ("unscored", 2, "note")
    assert (finding.remedy, outcome.exit_code) == ("mmeval score {RUN}", 0)


def test_another_judge_other_parameters_of_it_or_another_helper_give_verdicts_of_their_own(
    tmp_path: Path,
) -> None:
    first = run_toy(tmp_path, judged(), roles=JUDGE)
    second = run_toy(tmp_path, judged(), roles=STRICT)
    third = run_toy(
        tmp_path,
        judged(roles={"judge": GenerationParams(temperature=0.7)}),
        roles=JUDGE,
    )
    assert [values(one)["judged"] for one in (first, second, third)] == [1.0, 0.0, 1.0]
    assert (len(asked_in(tmp_path)), third.exit_code) == (3, EXIT_OK)
    log = tmp_path / "helped"
    helped, lines = [], []
    for name in ("toy-1", "toy-1", "toy-2"):
        helper = BackendSpec("toy", {"model": name, "log": str(log)})
        helped.append(
            run_toy(
                tmp_path,
                judged(),
                roles={"judge": BackendSpec("toy_agent"), "helper": helper},
            )
        )
        lines.append(len(log.read_text().splitlines()))
    assert lines == [6, 6, 12]
    assert (
        len({one.score_sets["judged"] for one in (first, second, third, *helped)}) == 5
    )


def test_an_answer_that_was_lost_is_scored_and_judged_anew_and_no_other(
    tmp_path: Path,
) -> None:
    both = task("judged", 3, metrics=("exact_match", "toy_verdict"))
    judge = {"judge": BackendSpec("toy", {"log": str(tmp_path / "verdicts")})}
    run_toy(tmp_path, both, roles=judge)
    damage(tmp_path, "answer 1")
    outcome = run_toy(tmp_path, both, roles=judge, args={"wording": "{} anew"})
    found = {result.metric: result.value for result in outcome.results}
    assert (found, outcome.exit_code) == (
        {"exact_match": pytest.approx(2 / 3), "toy_verdict": 1.0},
        EXIT_OK,
    )
    asked = sorted(
        line.split("|")[0] for line in (tmp_path / "verdicts").read_text().splitlines()
    )
    assert asked == [f"answer {one} met?" for one in ("0", "1 anew", "1", "2")]


def damaged_places(outcome: RunOutcome) -> list[str]:
    """The damaged lines of the journal among the findings of a run."""
    subjects = [
        finding.subject for finding in outcome.findings if finding.kind == "damaged"
    ]
    return [f"{subject.file}:{subject.line}" for subject in subjects]


def segments_in(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("journal/*.jsonl")}


def test_damaged_lines_are_no_finding_once_the_run_has_asked_again(
    tmp_path: Path,
) -> None:
    run_toy(tmp_path, task())
    damage(tmp_path, "answer 1")
    assert len(damaged_places(run_toy(tmp_path, task()))) == 1
    assert damaged_places(run_toy(tmp_path, task())) == []


@pytest.mark.parametrize(
    ("names", "repeats", "options"),
    [
        (["one", "two"], 2, {"limit": 1}),
        (["one"], 2, {}),
        (["one", "two"], 1, {}),
    ],
    ids=["a limit", "a task less", "a repeat less"],
)
def test_a_command_with_fewer_trials_than_the_folder_leaves_the_finding(
    names: list[str], repeats: int, options: dict[str, Any], tmp_path: Path
) -> None:
    every = [task("one", repeats=2), task("two", repeats=2)]
    run_toy(tmp_path, *every)
    damage(tmp_path, "answer 1")
    fewer = [task(name, repeats=repeats) for name in names]
    run_toy(tmp_path, *fewer, **options)
    assert damaged_places(run_toy(tmp_path, *every))
    assert not damaged_places(run_toy(tmp_path, *every))


@pytest.mark.parametrize("limit", [2, 3], ids=["a part", "all samples"])
def test_a_limit_is_the_whole_run_where_no_more_was_asked(
    limit: int, tmp_path: Path
) -> None:
    run_toy(tmp_path, task(), limit=limit)
    damage(tmp_path, "answer 1")
    run_toy(tmp_path, task(), limit=limit)
    assert damaged_places(run_toy(tmp_path, task(), limit=limit)) == []


def test_the_lines_of_a_journal_stay_as_they_are(tmp_path: Path) -> None:
    run_toy(tmp_path, task())
    damage(tmp_path, "answer 1")
    before = segments_in(tmp_path)
    run_toy(tmp_path, task())
    after = segments_in(tmp_path)
    assert [after[path] for path in before] == list(before.values())
    assert len(after) > len(before), "the new answer is in a segment of its own"
    assert not list(tmp_path.rglob("*.damaged"))


def test_another_choice_of_turns_and_other_placeholders_are_scored_anew_and_nothing_is_asked(
    tmp_path: Path,
) -> None:
    story = Sample(
        "s",
        (user("question 0"), user("question 1")),
        (Interleaved.from_text("answer 1"),),
    )
    for answer, value in (("all", 0.0), ("last", 1.0), ("all", 0.0)):
        outcome = run_toy(
            tmp_path, task(rows=[story], protocol=partial(episode, answer=answer))
        )
        assert values(outcome) == {"toy": value}
    assert len(asked_in(tmp_path)) == 2
    drawn = Sample(
        "s",
        (user("question"),),
        (Interleaved.from_text("<<image1>> answer", {"image1": picture()}),),
    )
    for spelling, value in (("tag", 0.0), ("hash", 1.0), ("tag", 0.0)):
        made = task("drawn", rows=[drawn], metrics=("part_order",))
        read = replace(made, config={**made.config, "placeholders": [spelling]})
        assert values(run_toy(tmp_path, read, args={"wording": "#image1# {}"})) == {
            "drawn": value
        }
    assert len(asked_in(tmp_path)) == 3


def test_data_that_cannot_be_read_on_end_their_task(tmp_path: Path) -> None:
    twins = [sample("twin"), sample("twin", "question 1")]
    outcome = run_toy(tmp_path, task(rows=twins))
    assert asked_in(tmp_path) == ["question 0"]
    assert outcome.exit_code == UsageError.exit_code
    (end,) = outcome.findings
    assert end.kind == "task_file"
    assert end.cause.startswith("the data cannot be read further (trials made: 1): ")
    assert "toy: sample 1 " in end.cause


def test_a_full_disk_that_data_meet_ends_the_run(tmp_path: Path) -> None:
    class Full(Rows):
        def __iter__(self) -> Iterator[Sample]:
            yield from samples(1)
            raise StorageError("no space left")

    with pytest.raises(StorageError, match="no space left"):
        run_toy(tmp_path, replace(task(), dataset=lambda: Full(samples(2))))


def test_what_is_wrong_is_refused_before_the_folder_is_touched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\b7\b"):
        run_toy(tmp_path, task(), samples={"toy": (7,)})
    rated = task(metrics=("toy_verdict",), roles={"rater": GenerationParams()})
    with pytest.raises(UsageError) as caught:
        run_toy(tmp_path, rated, roles={"jugde": BackendSpec("toy")})
    assert (caught.value.name, caught.value.known) == ("jugde", ("judge", "rater"))
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("moved", "seconds"),
    [(False, 10.0), (True, 0.0)],
    ids=["removed, seen at the end", "moved, seen on the timer"],
)
def test_a_run_folder_that_goes_during_the_run_is_an_error_and_does_not_come_back(
    moved: bool, seconds: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner_module, "SYNC_SECONDS", seconds)
    folder, generate = tmp_path / "runs" / "toy" / "default", Toy.generate

    async def gone(toy: Toy, asked: Request) -> Response:
        if not (tmp_path / "elsewhere").exists():
            folder.rename(tmp_path / "elsewhere")
            if not moved:
                shutil.rmtree(tmp_path / "elsewhere")
                (tmp_path / "elsewhere").mkdir()
        return await generate(toy, asked)

    monkeypatch.setattr(Toy, "generate", gone)
    with pytest.raises(StorageError, match="removed or moved"):
        run_toy(tmp_path, task(rows=3), max_connections=1)
    assert not (folder / "run.json").exists()
    monkeypatch.undo()
    again = run_toy(tmp_path, task(rows=3))
    assert (again.exit_code, again.counts.kept + again.counts.new) == (EXIT_OK, 3)


def test_the_end_is_prepared_in_a_thread_while_the_first_answer_is_awaited(
    tmp_path: Path,
) -> None:
    threads: list[str] = []

    def prepare_end() -> None:
        threads.append(threading.current_thread().name)

    run_toy(tmp_path, task(), args={"delay": 0.3}, prepare_end=prepare_end)
    assert threads == ["mmeval-end"]


def test_a_run_does_not_wait_for_the_preparation_of_its_end(tmp_path: Path) -> None:
    is_over = threading.Event()

    def prepare_end() -> None:
        is_over.wait()

    outcome = run_toy(tmp_path, task(), args={"delay": 0.3}, prepare_end=prepare_end)
    is_over.set()
    assert outcome.exit_code == EXIT_OK


def test_a_failed_preparation_of_the_end_does_not_end_the_run(tmp_path: Path) -> None:
    def prepare_end() -> None:
        raise ImportError("no page")

    outcome = run_toy(tmp_path, task(), args={"delay": 0.3}, prepare_end=prepare_end)
    assert outcome.exit_code == EXIT_OK
