"""What each flag changes, seen from outside: a request, a file, a number or the exit
code."""

import json
from collections.abc import Callable, Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from mmeval.metric.device import asked_device
from mmeval.settings.flags import FLAGS
from tests.support.bench import Bench, Left, Noting, NotingLocal, set_up

QUESTIONS = ["question 0", "question 1", "question 2"]
JUDGED: dict[str, Any] = {"metric_list": [{"metric": "toy_verdict"}]}
JUDGES: dict[str, Any] = {"metric_list": [{"metric": "judge_yes_no"}]}
BOTH: dict[str, Any] = {"output_modalities": ["text", "image"]}
AGENT = "--model toy_agent --role helper=toy,tokens=10"
MEDIAN = {"metric_list": [{"metric": "exact_match", "aggregation": "median"}]}
Seen = Callable[[Left], Any]
asked, value, code = attrgetter("asked"), attrgetter("value"), attrgetter("code")


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    with set_up(tmp_path, monkeypatch, capsys) as made:
        yield made


ONE_RUN: dict[str, tuple[str, Seen, Any]] = {
    "limit": ("--limit 2", asked, QUESTIONS[:2]),
    "offset": ("--offset 2", asked, QUESTIONS[2:]),
    "samples": ('--samples {"tiny":[1]}', asked, QUESTIONS[1:2]),
    "shard": ("--shard 1/2", asked, QUESTIONS[::2]),
    "repeats": ("--repeats 2", asked, sorted(QUESTIONS * 2)),
    "config": ("--config FOLDER/run.yaml", asked, QUESTIONS[:1]),
    "data": ("--data bundled", asked, ["bundled question"]),
    "include_path": ("--include_path FOLDER/mine", asked, ["question of mine"]),
    "captioner": (
        "--tasks told --captioner noting,model=c",
        lambda left: "answer 0 met?" in left.asked,
        True,
    ),
    "data_dir": ("--data_dir FOLDER/mine", asked, ["question of mine"]),
    "gen_kwargs": (
        "--gen_kwargs max_tokens=5",
        lambda left: {one.params.max_tokens for one in left.requests},
        {5},
    ),
    "system_instruction": (
        "--system_instruction brief",
        lambda left: [
            (one.messages[0].role, one.messages[0].content.text)
            for one in left.requests
        ],
        [("system", "brief")] * 3,
    ),
    "model_args": (
        "--model_args model=other",
        lambda left: left.record("other")["options"]["model_name"],
        "other",
    ),
    "tasks": ("--tasks second", lambda left: set(left.values), {"second.exact_match"}),
    "predict_only": (
        "--predict_only",
        lambda left: (len(left.requests), left.values),
        (3, {}),
    ),
    "output_path": (
        "--output_path FOLDER/x",
        lambda left: len([*left.runs.parent.glob("x/*/*/results_*.json")]),
        1,
    ),
    "run_id": (
        "--run_id nightly",
        lambda left: left.record(run_id="nightly")["options"]["model_name"],
        "noting",
    ),
    "model_tag": (
        "--model_tag mine",
        lambda left: left.record("mine")["options"]["model_name"],
        "mine",
    ),
    "log_samples": (
        "--log_samples",
        lambda left: [row["resps"] for row in left.samples()],
        [[[f"answer {i}"]] for i in range(3)],
    ),
    "metadata": (
        '--metadata {"note":"x"}',
        lambda left: left.results["config"]["note"],
        "x",
    ),
    "budget_calls": (
        "--budget_calls 1",
        lambda left: (left.code, len(left.asked)),
        (3, 1),
    ),
    "budget_tokens": (
        "--budget_tokens 0",
        lambda left: (left.code, left.asked),
        (3, []),
    ),
    "budget_usd": (
        "--budget_usd 2 --model_cost_config FOLDER/p.yaml",
        lambda left: (left.code, len(left.asked)),
        (3, 2),
    ),
    "model_cost_config": (
        "--model_cost_config FOLDER/p.yaml",
        lambda left: left.results["mmeval"]["spent"]["usd"],
        3.0,
    ),
    "dry_run": (
        "--dry_run",
        lambda left: (left.code, left.asked, left.runs.exists()),
        (0, [], False),
    ),
    "format": (
        "--dry_run --format json",
        lambda left: json.loads(left.out)["exit_code"],
        0,
    ),
    "write_out": (
        "--write_out",
        lambda left: (left.code, "[user]\nquestion 0\n" in left.err),
        (0, True),
    ),
    "show_config": (
        "--show_config",
        lambda left: ("model: noting\n" in left.out, left.runs.exists()),
        (True, False),
    ),
    "engine": ("--engine ray,gpus=0", lambda left: (left.code, left.asked), (2, [])),
    "retry_on_error": ("--retry_on_error 2 --tasks failing", asked, ["failing"] * 3),
    "protocol": (
        "--protocol independent_passes --tasks both",
        lambda left: (
            sorted(one.wants for one in left.requests),
            left.results["mmeval"]["protocols"],
        ),
        ([("image",)] * 3 + [("text",)] * 3, {"both": "independent_passes"}),
    ),
    "skip_metric": (
        "--skip_metric toy_yes --tasks pair",
        lambda left: set(left.values),
        {"pair.exact_match"},
    ),
    "role": (
        "--role judge=noting,model=j --tasks judged",
        lambda left: "answer 0 met?" in left.asked,
        True,
    ),
    "judge": ("--judge noting,model=j --tasks judged", value, 1.0),
    "judge_args": (
        "--judge noting --judge_args model=j --tasks judged",
        lambda left: [
            served["asked"] for served in left.results["mmeval"]["judges"]["judged"]
        ],
        ["j"],
    ),
    "prompts": (
        "--judge noting,model=j --prompts FOLDER/prompts --tasks judges",
        lambda left: sorted({text[:14] for text in left.asked if "{" in text}),
        [f"answer {i}, met?"[:14] for i in range(3)],
    ),
    "judge_prompts": (
        "--judge noting,model=j --judge_prompts FOLDER/prompts --tasks judges",
        lambda left: sorted({text[:14] for text in left.asked if "{" in text}),
        [f"answer {i}, met?"[:14] for i in range(3)],
    ),
}
"""The words of a run, what is looked at, and what it is."""

TWO_RUNS: dict[str, tuple[str, str, Seen, Any]] = {
    "model": ("--model reference", "--model empty", value, (1.0, 0.0)),
    "metric_args": (
        "",
        '--metric_args {"exact_match":{"ignore_case":true}}',
        value,
        (0.0, 1.0),
    ),
    "profile": ("", "--profile official", value, (0.0, 1.0)),
    "refusals": ("", "--refusals unscored", value, (0.5, 1.0)),
    "reasoning_tags": ("", "--reasoning_tags <x>,</x> --run_id b", value, (0.0, 1.0)),
    "max_unscored": ("", "--max_unscored 1", code, (3, 0)),
    "strict": ("--tasks judged", "--tasks judged --strict", code, (0, 4)),
    "trust_remote_code": (
        "",
        "--trust_remote_code",
        lambda left: (left.code, left.value),
        ((3, None), (0, 1.0)),
    ),
    "use_cache": (
        "--use_cache FOLDER/c --run_id a",
        "--use_cache FOLDER/c --run_id b",
        asked,
        (QUESTIONS, []),
    ),
    "fresh": ("", "--fresh", asked, (QUESTIONS, QUESTIONS)),
    "score_workers": (
        "--score_workers 0",
        "--score_workers 2 --run_id b",
        lambda left: Noting.processes,
        (0, 2),
    ),
    "max_connections": (
        "",
        "--max_connections 1 --run_id b",
        lambda left: Noting.most,
        (3, 1),
    ),
    "judge_base_url": (
        "--tasks judged",
        "--tasks judged --judge noting --judge_base_url http://h",
        code,
        (0, 2),
    ),
    "baseline": (
        "--model reference",
        "--model empty --baseline FOLDER/runs/reference/default",
        lambda left: "worse" in left.out,
        (False, True),
    ),
    "table": (
        "--table full",
        "--table none",
        lambda left: "|Tasks" in left.out,
        (True, False),
    ),
    "verbosity": (
        "--table none",
        "--table none --verbosity WARNING",
        lambda left: "results: " in left.err,
        (True, False),
    ),
    "report": (
        "--report false",
        "--report true",
        lambda left: [*left.runs.rglob("index.html")] != [],
        (False, True),
    ),
    "batch_size": (
        "--model noting_local",
        "--model noting_local --run_id b --batch_size 1",
        lambda left: max(NotingLocal.sizes) > 1,
        (True, False),
    ),
    "device": (
        "--device cuda:1",
        "--device cuda:1 --model noting_local",
        lambda left: (left.code, NotingLocal.made[0]),
        ((2, "cpu"), (0, "cuda:1")),
    ),
    "max_calls_per_answer": (
        AGENT,
        f"{AGENT} --max_calls_per_answer 1 --run_id b",
        code,
        (0, 3),
    ),
    "max_tokens_per_answer": (
        AGENT,
        f"{AGENT} --max_tokens_per_answer 20 --run_id b",
        code,
        (0, 3),
    ),
    "metric_device": (
        "",
        "--metric_device cpu --run_id b",
        lambda left: asked_device(),
        ("auto", "cpu"),
    ),
    "seed": (
        "--run_id a",
        "--run_id b --seed 7",
        lambda left: {one.seed for one in left.requests},
        None,
    ),
    "bootstrap_iters": (
        "--bootstrap_iters 0",
        "--bootstrap_iters 200",
        lambda left: left.results["mmeval"]["results"][0]["stderr"] is None,
        (True, False),
    ),
}
"""The words of two runs, one after the other, what is looked at, and what it is in
each."""

ROWS: dict[str, list[dict[str, Any]]] = {
    "metric_args": [{"input": "YES", "reference": "yes"}],
    "profile": [{"input": "oui", "reference": "oui"}],
    "refusals": [{"input": "yes", "reference": "yes"}, {"input": "refusing"}],
    "reasoning_tags": [{"input": "<x>hm</x>yes", "reference": "yes"}],
    "max_unscored": [{"input": "question 0"}, {"input": "failing"}],
    "bootstrap_iters": [
        {"input": f"question {i}", "reference": f"answer {i % 2 * i}"} for i in range(9)
    ],
}
KEYS: dict[str, dict[str, Any]] = {
    # its scores are too dear for the process of the run
    "score_workers": {"metric_list": [{"metric": "toy_yes"}]},
    "profile": {"metric_list": [{"metric": "toy_yes"}]},
    "max_unscored": {},
    "trust_remote_code": {"metric_list": [{"metric": "consented"}]},
    "bootstrap_iters": MEDIAN,
}


def prepared(bench: Bench, name: str) -> None:
    """The task ``tiny`` as the flag needs it, and other tasks and files that flags
    name."""
    if name in ROWS:
        bench.rows(*({"reference": row["input"], **row} for row in ROWS[name]))
    bench.task(**KEYS.get(name, {}))
    bench.rows("failing", folder="tasks/failing_data")
    bench.rows("question of mine", folder="mine")
    bench.rows("bundled question", folder="tasks/bundled")
    bench.task("failing", dataset_path="failing_data")
    for task, keys in (
        ("second", {}),
        ("both", BOTH),
        ("judged", JUDGED),
        ("judges", JUDGES),
    ):
        bench.task(task, **keys)
    bench.task("pair", metric_list=[{"metric": "exact_match"}, {"metric": "toy_yes"}])
    bench.task(
        "told", metric_list=[{"metric": "toy_verdict", "asks": {"judge": "captioner"}}]
    )
    files = {
        "run.yaml": "limit: 1\n",
        "mine/tiny.yaml": "task: tiny\ndataset_path: .\nmetric_list: [{metric: "
        "exact_match}]\nmetadata: {version: 1}\n",
        "p.yaml": "models:\n  noting: {input: 0, output: 0, per_call: 1}\n",
        "prompts/judge_yes_no.txt": "{{ answer }}, met? {{ form }}",
    }
    for file, text in files.items():
        (bench.folder / file).parent.mkdir(exist_ok=True)
        (bench.folder / file).write_text(text)


def run(bench: Bench, words: str) -> Left:
    return bench.run(*words.replace("FOLDER", str(bench.folder)).split())


@pytest.mark.parametrize("name", ONE_RUN)
def test_a_flag_has_its_effect(name: str, bench: Bench) -> None:
    words, seen, expected = ONE_RUN[name]
    prepared(bench, name)
    assert seen(run(bench, words)) == expected


@pytest.mark.parametrize("name", TWO_RUNS)
def test_a_flag_makes_another_run(name: str, bench: Bench) -> None:
    first, second, seen, expected = TWO_RUNS[name]
    prepared(bench, name)
    NotingLocal.made = ("cpu", False)
    found = seen(run(bench, first)), seen(run(bench, second))
    if expected is None:
        assert not found[0] & found[1]
    else:
        assert found == expected


def sample_shuffle(bench: Bench) -> None:
    drawn = {
        tuple(
            bench.run("--limit", "1", "--sample_shuffle", seed, "--run_id", seed).asked
        )
        for seed in "123456789"
    }
    assert drawn == {("question 0",), ("question 1",), ("question 2",)}


def stratify(bench: Bench) -> None:
    bench.rows(
        *(
            {"input": f"question {i}", "kind": "rare" if i == 9 else "usual"}
            for i in range(10)
        )
    )
    left = bench.run("--limit", "6", "--stratify", "kind")
    assert (len(left.asked), "question 9" in left.asked) == (6, True)
    assert left.results["mmeval"]["subset"]["tiny"]["of"] == 10


def logger(
    bench: Bench,
    flags: tuple[str, str] = ("--logger", "trackio,project=p"),
    name: str = "trackio",
) -> None:
    taken: list[tuple[Any, int]] = []
    module = f"mmeval.report.loggers.{name}"
    bench.patch.setattr(f"{module}.need_package", lambda package: None)
    bench.patch.setattr(
        f"{module}.{name.capitalize()}Logger.log",
        lambda self, outcome, published: taken.append((self._init, outcome.exit_code)),
    )
    assert (bench.run(*flags).code, taken) == (0, [({"project": "p"}, 0)])


def wandb_args(bench: Bench) -> None:
    logger(bench, ("--wandb_args", "project=p"), "wandb")


def trackio_args(bench: Bench) -> None:
    logger(bench, ("--trackio_args", "project=p"))


OTHERS: dict[str, Callable[[Bench], None]] = {
    one.__name__: one
    for one in (sample_shuffle, stratify, logger, wandb_args, trackio_args)
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_flag_is_seen_otherwise(name: str, bench: Bench) -> None:
    OTHERS[name](bench)


OF_SERVERS = ("probe", "judge_patience")
"""Flags whose effect needs a server: tests/stories/test_handshake.py shows it."""
OF_MODELS = ("only", "jobs")
"""Flags for several models: tests/stories/test_several_models.py shows the effect."""


def test_every_flag_has_an_effect_that_is_tested() -> None:
    names = {*ONE_RUN, *TWO_RUNS, *OTHERS, *OF_SERVERS, *OF_MODELS}
    assert names == {flag.name for flag in FLAGS}


def test_trust_reaches_local_models_and_devices_are_recorded_outside_of_the_identity(
    bench: Bench,
) -> None:
    bench.run("--trust_remote_code", "--run_id", "trusted", model="noting_local")
    assert NotingLocal.made == ("cpu", True)
    record = bench.run("--metric_device", "cpu").record()
    assert (
        record["sessions"][-1]["provenance"]["metric_device"],
        "cpu" in str(record["identity"]),
    ) == ("cpu", False)
    assert (
        bench.run("--device", "cuda:1", model="noting_local").results["config"][
            "device"
        ]
        == "cuda:1"
    )
