import importlib.util
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.agent.answer import AgentProgram
from mmeval.backend.agent.contract import agent
from mmeval.dataset.bad_sample import bad_sample
from mmeval.errors import (
    EXIT_INCOMPLETE,
    EXIT_OK,
    EXIT_USAGE,
    IdentityChangedError,
    MissingError,
    UsageError,
)
from mmeval.findings.finding import Finding, Subject
from mmeval.forecast.dry_run import AFTER_STAND_IN, ENDLESS, forecast
from mmeval.forecast.estimate import NOTHING, RoleLoad
from mmeval.forecast.records import MAX_REASONS, OTHER_REASONS, Forecast
from mmeval.forecast.text import forecast_text
from mmeval.installation import install_command
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, media_part
from mmeval.program.calls import Program, Reply, Role, ask_one
from mmeval.program.protocols import Ask
from mmeval.records.request import GenerationParams, Request
from mmeval.records.sample import Sample, user
from mmeval.run.costs.prices import Price, load_prices
from mmeval.run.options import BackendSpec, RunOptions
from mmeval.store.shard import Shard
from mmeval.task.task import FixedKinds, Selection, Task
from tests.support import tiny_media
from tests.support.outcomes import NO_JUDGE
from tests.support.task_folder import with_plugins
from tests.support.toy import (
    PLUGINS,
    Rows,
    picture,
    run_toy,
    sample,
    samples,
    task,
    three_turns,
)

MIDI = b"MThd\0\0\0\x06\0\0\0\1\0\1"
JUDGE = {"judge": BackendSpec("toy", {"model": "judge"})}
MADE = {"log": "", "broken": ""}
"""The arguments of the model of ``run_toy``."""
TOY = BackendSpec("toy", MADE)


@agent(takes=("text",), gives=("text",), version="1")
def endless(_request: Request, helper: Role) -> AgentProgram:
    """Asks its helper for ever."""
    while True:
        yield helper.ask("more")


@agent(takes=("text",), gives=("text",), version="1")
def counting(_request: Request, helper: Role) -> AgentProgram:
    """Asks how often to ask."""
    many: Reply = yield helper.ask("how many?", example="3")
    replies: list[Reply] = yield [helper.ask(f"{at}") for at in range(int(many.text))]
    return replies[-1].require()


@agent(takes=("text", "video"), gives=("text",), version="1")
def watching(request: Request, helper: Role) -> AgentProgram:
    """Shows its helper frames of a video."""
    reply: Reply = yield helper.ask(
        request.messages[0].content, convert=("video->frames",)
    )
    return reply.require()


@pytest.fixture(autouse=True)
def _toys() -> Iterator[None]:
    agents = "".join(
        f"{name} = tests.mmeval.forecast.test_dry_run:{name}\n"
        for name in ("endless", "counting", "watching")
    )
    plugins = f"{PLUGINS}\n{agents}"
    with with_plugins("toys", plugins):
        yield


def ahead(
    folder: Path, *tasks: Task, model: BackendSpec | None = None, **options: Any
) -> Forecast:
    chosen = RunOptions(
        model=model or BackendSpec("toy"), output_path=folder / "runs", **options
    )
    return forecast(Selection(tasks), chosen)


def calls(found: Forecast, task: int = 0) -> dict[str, tuple[float, float]]:
    """By role, the calls that are to be made and those that are kept."""
    return {
        role: (load.calls, load.kept) for role, load in found.tasks[task].loads.items()
    }


def load(found: Forecast, role: str = "model") -> RoleLoad:
    return found.tasks[0].loads[role]


def endless_trials(found: Forecast) -> int:
    """Trials whose calls are not followed to their end."""
    return sum(one.count for one in found.findings if one.cause == ENDLESS)


def with_picture(file: Path) -> Sample:
    return Sample("p", (user("see", Media.from_path(file)),))


def without_judge(judged: Task) -> Task:
    """The task where the judge of its last metric is missing."""
    *others, verdict = judged.metrics
    return replace(judged, metrics=(*others, replace(verdict, lacks=(NO_JUDGE,))))


def test_a_shard_has_its_own_answers_and_those_of_others_beside_them(
    tmp_path: Path,
) -> None:
    one = task(rows=5)
    run_toy(tmp_path, one, shard=Shard(2, 1), args=MADE)
    found = [
        ahead(tmp_path, one, model=TOY, shard=Shard(2, number)) for number in (1, 2)
    ]
    assert [(one.answers, one.other_answers) for one in found] == [(3, 0), (0, 3)]


def test_an_extra_that_converts_media_and_is_missing_is_a_problem_of_the_trials_with_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "clip.mp4").write_bytes(tiny_media.clip())
    rows = [with_picture(tmp_path / "clip.mp4"), sample("words")]
    there = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *_: None if name == "av" else there(name),
    )
    found = ahead(
        tmp_path,
        task(rows=rows),
        model=BackendSpec("watching"),
        roles={"helper": BackendSpec("toy")},
    )
    (lack,) = found.findings
    assert (lack.kind, lack.subject) == ("missing_extra", Subject("toy", role="helper"))
    assert (lack.count, lack.of, lack.remedy) == (1, 2, install_command("video"))
    assert calls(found)["helper"] == (2, 0)


class Broken(Rows):
    """Rows that cannot be read to their end."""

    def __iter__(self) -> Iterator[Sample]:
        yield from list(super().__iter__())[:2]
        raise UsageError("row 3")


def files(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file below a folder, with its size and the time of its last change."""
    found = {path: path.stat() for path in sorted(folder.rglob("*"))}
    return {str(path): (stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


def test_calls_are_counted_by_sample_turn_and_repeat_and_what_the_folder_answers_is_kept(
    tmp_path: Path,
) -> None:
    assert calls(ahead(tmp_path, task(rows=3))) == {"model": (3, 0)}
    assert calls(ahead(tmp_path, task(rows=3, protocol=three_turns, repeats=2))) == {
        "model": (18, 0)
    }
    found = ahead(tmp_path, task(rows=5), limit=2)
    assert calls(found) == {"model": (2, 0)}
    assert (found.tasks[0].samples, found.tasks[0].rows) == (2, 5)
    turns = task(rows=3, protocol=three_turns, metrics=("toy_verdict",))
    run_toy(tmp_path, turns, limit=1, roles=JUDGE, args=MADE)
    found = ahead(tmp_path, turns, roles=JUDGE, model=TOY)
    assert calls(found) == {"model": (6, 3), "judge": (2, 1)}
    assert found.answers == 4


def test_judges_are_counted_where_their_metric_can_be_computed_and_scores_are_wanted(
    tmp_path: Path,
) -> None:
    judged = task(rows=3, metrics=("exact_match", "toy_verdict"))
    found = ahead(tmp_path, judged, roles=JUDGE)
    assert calls(found) == {"model": (3, 0), "judge": (3, 0)}
    unscored = ahead(tmp_path, judged, roles=JUDGE, predict_only=True)
    assert calls(unscored) == {"model": (3, 0)}
    assert list(unscored.hosts) == ["model"]
    assert calls(ahead(tmp_path, without_judge(judged))) == {"model": (3, 0)}


def test_large_judged_tasks_and_endless_programs_are_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmeval.forecast.dry_run.JUDGED_SAMPLES", 4)
    found = ahead(tmp_path, task(rows=10, metrics=("toy_verdict",)), roles=JUDGE)
    assert load(found, "judge").calls == pytest.approx(10)
    assert load(found, "judge").estimated
    assert not load(found).estimated
    found = ahead(
        tmp_path,
        task(rows=2),
        model=BackendSpec("endless"),
        roles={"helper": BackendSpec("toy")},
    )
    assert (endless_trials(found), load(found, "helper").calls) == (2, 400)


def test_a_dry_run_follows_an_agent_by_the_examples_of_its_calls(
    tmp_path: Path,
) -> None:
    asked: dict[str, Any] = {
        "model": BackendSpec("counting"),
        "roles": {"helper": BackendSpec("toy")},
    }
    found = ahead(tmp_path, task(rows=2), **asked)
    assert (calls(found)["helper"], endless_trials(found)) == ((8, 0), 0)
    limited = ahead(tmp_path, task(rows=2), **asked, max_calls_per_answer=2)
    assert (calls(limited)["helper"], endless_trials(limited)) == ((2, 0), 2)


def test_every_question_of_a_graph_is_counted(tmp_path: Path) -> None:
    chain = [
        {"id": at, "question": f"{at}?", "parents": [at - 1] if at else []}
        for at in range(300)
    ]
    rows = [
        sample("a", questions=chain),
        sample(
            "b", questions=["x", {"question": "y", "part": "image2", "parents": [1]}]
        ),
    ]
    graph = replace(
        task(rows=rows, metrics=("question_graph",)),
        output_kinds=FixedKinds(("text", "image")),
    )
    found = ahead(tmp_path, graph, roles=JUDGE)
    assert (calls(found)["judge"], endless_trials(found)) == ((302, 0), 0)


def test_an_answer_that_is_kept_is_counted_once_however_often_it_is_used(
    tmp_path: Path,
) -> None:
    judged = [task(name, 3, metrics=("toy_verdict",), repeats=2) for name in ("a", "b")]
    for one in judged:
        run_toy(tmp_path, one, roles=JUDGE, model=BackendSpec("reference"))
    found = ahead(tmp_path, *judged, roles=JUDGE, model=BackendSpec("reference"))
    assert [calls(found, at)["judge"] for at in (0, 1)] == [(0, 3), (0, 0)]
    assert [task.loads["judge"].equal for task in found.tasks] == [3, 6]


def test_media_are_weighed_by_their_files_and_not_read(tmp_path: Path) -> None:
    # Ten gigabytes of nothing: to read them would take longer than the test may.
    with (tmp_path / "large.png").open("wb") as file:
        file.write(picture().read())
        file.truncate(10 * 2**30)
    found = ahead(
        tmp_path, task(rows=[with_picture(tmp_path / "large.png"), *samples(1)])
    )
    assert load(found).media_bytes == 10 * 2**30


def test_media_in_formats_that_are_not_taken_are_counted(tmp_path: Path) -> None:
    rows = []
    for name, content in (("a.flac", tiny_media.sound("flac")), ("b.mid", MIDI)):
        (tmp_path / name).write_bytes(content)
        part = media_part(Media.from_path(tmp_path / name), "audio")
        rows.append(Sample(name, (user("hear", part),)))
    local = {"model": "m", "base_url": "http://localhost:9/v1"}
    found = ahead(tmp_path, task(rows=rows), model=BackendSpec("openai", local))
    unsent, reencoded = found.findings
    assert (unsent.kind, unsent.count, unsent.of) == ("unsupported", 1, 2)
    assert unsent.cause.endswith("decoded as sound")
    assert (reencoded.severity, reencoded.count) == ("note", 1)
    assert "audio/flac as WAV" in reencoded.cause


def test_dollars_are_those_of_the_prices_for_what_is_estimated(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  toy-1: {input: 0, output: 1000000, per_call: 2}\n")
    found = ahead(
        tmp_path,
        task(rows=3, params=GenerationParams(max_tokens=80)),
        model_cost_config=prices,
    )
    unknown = ahead(tmp_path, task())
    reference = ahead(tmp_path, task(), model=BackendSpec("reference"))
    costs = [one.dollars("model", load(one)) for one in (found, unknown, reference)]
    assert [cost and (cost.low, cost.high) for cost in costs] == [
        (3 * (10 + 2), 3 * (80 + 2)),
        None,
        (0, 0),
    ]


def test_a_price_is_shown_with_all_that_it_charges(tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text("models:\n  toy-1: {input: 0, output: 3, per_video: 0.4}\n")
    found = ahead(tmp_path, task(), model_cost_config=prices)
    line = "price: toy-1 0 USD in, 3 out for a million tokens, 0.4 a video"
    assert line in forecast_text(found).splitlines()


def test_the_lines_for_unknown_prices_are_a_whole_file(tmp_path: Path) -> None:
    lines = forecast_text(ahead(tmp_path, task())).splitlines()
    prices = tmp_path / "prices.yaml"
    start = lines.index("  models:")
    prices.write_text("\n".join(lines[start : start + 2]))
    assert load_prices(prices).of_model("toy-1") == Price(0, 0)


def test_samples_that_cannot_be_asked_are_counted_and_not_driven(
    tmp_path: Path,
) -> None:
    def prompt(row: Sample) -> Any:
        return (row.input[0],)  # which a sample without content has not

    bad = Sample("torn", (), fault="row 2: torn")
    found = ahead(
        tmp_path, replace(task(rows=[*samples(2), bad], repeats=2), prompt=prompt)
    )
    assert (calls(found), found.tasks[0].trials) == ({"model": (4, 0)}, 6)
    assert found.findings == (bad_sample("toy", bad),)
    assert found.exit_code == EXIT_INCOMPLETE


def test_bad_samples_that_the_run_tolerates_are_warnings(tmp_path: Path) -> None:
    bad = Sample("torn", (), fault="row 2: torn")
    found = ahead(tmp_path, task(rows=[*samples(2), bad]), max_unscored=1)
    assert [one.severity for one in found.findings] == ["warning"]
    assert found.exit_code == EXIT_OK


def test_a_prompt_that_cannot_be_made_fails_as_in_the_run(tmp_path: Path) -> None:
    def prompt(row: Sample) -> Sequence[Any]:
        if row.id == "s1":
            raise KeyError("colour")
        return row.input

    failing = replace(task(rows=3), prompt=prompt)  # type: ignore[arg-type]
    found = ahead(tmp_path, failing)
    expected = Finding(
        "failed", Subject("toy"), 1, 3, cause="KeyError: 'colour'", severity="error"
    )
    assert (calls(found), found.findings) == ({"model": (2, 0)}, (expected,))
    assert found.exit_code == EXIT_INCOMPLETE


def test_reasons_without_end_keep_no_words_without_end(tmp_path: Path) -> None:
    def failing(row: Sample) -> Sequence[Any]:
        raise ValueError(row.id)

    found = ahead(tmp_path, replace(task(rows=30), prompt=failing))  # type: ignore[arg-type]
    others = [one.count for one in found.findings if one.cause == OTHER_REASONS]
    assert (len(found.findings), others) == (MAX_REASONS + 1, [20])


def test_what_fails_on_a_stand_in_alone_is_a_warning(tmp_path: Path) -> None:
    def picky(ask: Ask) -> Program[Interleaved]:
        answer = yield from ask_one(ask.call())
        raise ValueError(f"no number in {answer.text[:2]}")

    found = ahead(tmp_path, task(rows=3, protocol=picky))
    (failed,) = found.findings
    assert (failed.severity, failed.count) == ("warning", 3)
    assert failed.cause == f"ValueError: no number in xx ({AFTER_STAND_IN})"
    assert found.exit_code == EXIT_OK


def test_a_program_that_copes_without_a_role_is_followed(tmp_path: Path) -> None:
    def coping(ask: Ask) -> Program[Interleaved]:
        helped = yield from ask_one(Role("helper").ask("a hint?"))
        assert not helped.ok
        answer = yield from ask_one(ask.call())
        return answer.require()

    found = ahead(tmp_path, task(rows=3, protocol=coping))
    assert calls(found)["model"] == (3, 0)
    assert found.exit_code == EXIT_OK


@pytest.mark.parametrize(
    ("more", "code"), [(2, EXIT_OK), (0, EXIT_INCOMPLETE)], ids=["some", "all"]
)
def test_samples_that_the_model_does_not_take_are_unsupported(
    more: int, code: int, tmp_path: Path
) -> None:
    (tmp_path / "p.png").write_bytes(picture().read())
    rows = [with_picture(tmp_path / "p.png"), *samples(more)]
    model = BackendSpec("toy", {"takes": "text"})
    found = ahead(tmp_path, task(rows=rows), model=model)
    (gap,) = found.findings
    assert (gap.kind, gap.count, gap.of) == ("unsupported", 1, 1 + more)
    assert gap.cause == "the model takes no image"
    assert found.exit_code == code


def test_data_that_cannot_be_read_to_their_end_end_the_dry_run_as_they_would_end_the_run(
    tmp_path: Path,
) -> None:
    broken = replace(task(), dataset=lambda: Broken(samples(3)))
    found = ahead(tmp_path, broken, task("b", 2))
    assert [one.samples for one in found.tasks] == [2, 2]
    (fault,) = found.findings
    assert (fault.kind, fault.subject) == ("task_file", Subject("toy"))
    assert fault.cause.startswith("the data cannot be read further (trials made: 2): ")
    assert found.exit_code == EXIT_USAGE


def test_an_id_that_stands_twice_is_a_fault_of_the_data(tmp_path: Path) -> None:
    twice = ahead(tmp_path, task(rows=[sample("a"), sample("a")]))
    (fault,) = twice.findings
    assert (fault.kind, twice.exit_code) == ("task_file", EXIT_USAGE)
    assert "'a'" in fault.cause


def test_calls_that_are_not_made_cost_nothing_though_their_price_is_unknown(
    tmp_path: Path,
) -> None:
    run_toy(tmp_path, task(rows=2), args=MADE)
    found = ahead(tmp_path, task(rows=2), model=TOY)
    assert found.total() == NOTHING
    assert "price:" not in forecast_text(found)


def test_what_a_run_does_not_score_lacks_no_metric(tmp_path: Path) -> None:
    judged = without_judge(task(rows=2, metrics=("toy_verdict",)))
    assert [one.kind for one in ahead(tmp_path, judged).findings] == ["missing_role"]
    assert ahead(tmp_path, judged, predict_only=True).findings == ()


def test_the_document_of_a_dry_run_has_the_numbers_of_the_table_and_the_findings(
    tmp_path: Path,
) -> None:
    bad = Sample("torn", (), fault="row 2: torn")
    found = ahead(tmp_path, task(rows=[*samples(2), bad]))
    document = json.loads(json.dumps(found.to_json()))
    [of_task] = document["tasks"]
    assert (of_task["samples"], of_task["roles"]["model"]["calls"]) == (3, 2)
    assert [*map(Finding.from_json, document["findings"])] == list(found.findings)
    assert (document["usd"], document["exit_code"]) == (None, EXIT_INCOMPLETE)


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"roles": {"jugde": BackendSpec("toy")}}, UsageError),
        ({"offset": 99}, UsageError),
        ({"budget_usd": 1.0}, UsageError),
        ({"model": BackendSpec("toy", {"nonsense": 1})}, UsageError),
        ({"strict": True}, MissingError),
        ({"seed": 7}, IdentityChangedError),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_refuses_a_run_refuses_its_dry_run(
    options: dict[str, Any], error: type[Exception], tmp_path: Path
) -> None:
    toy = without_judge(task(rows=3, metrics=("exact_match", "toy_verdict")))
    run_toy(tmp_path, toy, args=MADE)
    before = files(tmp_path)
    with pytest.raises(error):
        ahead(tmp_path, toy, **{"model": TOY, **options})
    assert files(tmp_path) == before
