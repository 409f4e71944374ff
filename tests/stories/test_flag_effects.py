"""What each flag changes, seen from outside: a request, a file, a number, a message or the exit code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.metric.device import asked_device
from mmeval.settings.flags import FLAGS
from tests.support.bench import Bench, Noting, NotingLocal, set_up
from tests.support.log_level import restored_log

QUESTIONS = ["question 0", "question 1", "question 2"]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    with restored_log(), set_up(tmp_path, monkeypatch, capsys) as made:
        yield made


def model(bench: Bench) -> None:
    assert bench.run("--model", "reference").value == 1.0
    assert bench.run("--model", "empty").value == 0.0


def model_args(bench: Bench) -> None:
    assert bench.run("--model_args", "model=other").record("other")["identity"]["model"]["model"] == "other"


def tasks(bench: Bench) -> None:
    bench.task("second")
    assert set(bench.run("--tasks", "second").values) == {"second.exact_match"}


def include_path(bench: Bench) -> None:
    assert bench.run("--include_path", str(bench.tasks)).code == 0
    assert "unknown task" in bench.run("--include_path", str(bench.folder / "site")).err


def config(bench: Bench) -> None:
    (bench.folder / "run.yaml").write_text("limit: 1\n")
    assert bench.run("--config", str(bench.folder / "run.yaml")).asked == QUESTIONS[:1]


def limit(bench: Bench) -> None:
    assert bench.run("--limit", "2").asked == QUESTIONS[:2]


def offset(bench: Bench) -> None:
    assert bench.run("--offset", "2").asked == QUESTIONS[2:]


def samples(bench: Bench) -> None:
    assert bench.run("--samples", '{"tiny": [1]}').asked == QUESTIONS[1:2]


def sample_shuffle(bench: Bench) -> None:
    drawn = {tuple(bench.run("--limit", "1", "--sample_shuffle", seed, "--run_id", seed).asked) for seed in "123456789"}
    assert drawn == {("question 0",), ("question 1",), ("question 2",)}


def stratify(bench: Bench) -> None:
    bench.rows(*({"input": f"question {i}", "kind": "rare" if i == 9 else "usual"} for i in range(10)))
    left = bench.run("--limit", "6", "--stratify", "kind")
    assert (len(left.asked), "question 9" in left.asked) == (6, True)
    assert "subset: 6 of 10" in left.out


def repeats(bench: Bench) -> None:
    assert bench.run("--repeats", "2").asked == sorted(QUESTIONS * 2)


def seed(bench: Bench) -> None:
    usual = bench.run("--run_id", "a").requests
    other = bench.run("--run_id", "b", "--seed", "7").requests
    assert not {request.seed for request in usual} & {request.seed for request in other}


def gen_kwargs(bench: Bench) -> None:
    assert {request.params.max_tokens for request in bench.run("--gen_kwargs", "max_tokens=5").requests} == {5}


def system_instruction(bench: Bench) -> None:
    first = bench.run("--system_instruction", "be brief").requests[0].messages[0]
    assert (first.role, first.content.text) == ("system", "be brief")


def protocol(bench: Bench) -> None:
    bench.task(output_modalities=["text", "image"])
    left = bench.run("--protocol", "independent_passes")
    assert sorted(request.wants for request in left.requests) == [("image",)] * 3 + [("text",)] * 3
    assert left.results["mmeval"]["protocols"] == {"tiny": "independent_passes"}


def data(bench: Bench) -> None:
    bench.rows("bundled question", folder="tasks/bundled")
    left = bench.run("--data", "bundled")
    assert left.asked == ["bundled question"]
    assert "not comparable" in left.out


def data_dir(bench: Bench) -> None:
    bench.rows("question of mine", folder="mine")
    assert bench.run("--data_dir", str(bench.folder / "mine")).asked == ["question of mine"]


def profile(bench: Bench) -> None:
    bench.rows("oui")
    bench.task(metric_list=[{"metric": "toy_yes"}])
    assert (bench.run().value, bench.run("--profile", "official").value) == (0.0, 1.0)


def metric_args(bench: Bench) -> None:
    bench.rows({"input": "YES", "reference": "yes"})
    switch = '{"exact_match": {"ignore_case": true}}'
    assert (bench.run().value, bench.run("--metric_args", switch).value) == (0.0, 1.0)


def skip_metric(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "exact_match"}, {"metric": "toy_yes"}])
    assert set(bench.run("--skip_metric", "toy_yes").values) == {"tiny.exact_match"}


def trust_remote_code(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "consented"}])
    assert (bench.run().code, bench.run("--trust_remote_code").value) == (3, 1.0)
    bench.run("--trust_remote_code", model="noting_local")
    assert NotingLocal.made == ("cpu", True)


def predict_only(bench: Bench) -> None:
    left = bench.run("--predict_only")
    assert (len(left.requests), left.values) == (3, {})


def score_workers(bench: Bench) -> None:
    bench.run("--score_workers", "0", "--run_id", "a")
    inside = Noting.processes
    bench.run("--score_workers", "2", "--run_id", "b")
    assert (inside, Noting.processes) == (0, 2)


def metric_device(bench: Bench) -> None:
    for run_id, flags, device in (("a", (), "auto"), ("b", ("--metric_device", "cpu"), "cpu")):
        record = bench.run("--run_id", run_id, *flags).record("noting", run_id)
        assert (record["sessions"][-1]["provenance"]["metric_device"], asked_device()) == (device, device)
        assert device not in str(record["identity"])


def reasoning_tags(bench: Bench) -> None:
    bench.rows({"input": "<x>hm</x>yes", "reference": "yes"})
    assert bench.run("--run_id", "a").value == 0.0
    assert bench.run("--run_id", "b", "--reasoning_tags", "<x>,</x>").value == 1.0


def max_unscored(bench: Bench) -> None:
    bench.rows("question 0", "failing")
    assert (bench.run().code, bench.run("--max_unscored", "1").code) == (3, 0)


def bootstrap_iters(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "exact_match", "aggregation": "median"}])
    bench.rows(*({"input": f"question {i}", "reference": f"answer {i % 2 * i}"} for i in range(9)))
    without, resampled = (bench.run("--bootstrap_iters", n).results for n in ("0", "200"))
    assert without["results"]["tiny"]["exact_match_stderr,none"] == "N/A"
    assert resampled["results"]["tiny"]["exact_match_stderr,none"] > 0
    assert [found["config"]["bootstrap_iters"] for found in (without, resampled)] == [0, 200]


def strict(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_verdict"}])
    assert (bench.run().code, bench.run("--strict").code) == (0, 4)


def output_path(bench: Bench) -> None:
    bench.run("--output_path", str(bench.folder / "elsewhere"))
    assert list((bench.folder / "elsewhere" / "noting" / "default").glob("results_*.json"))


def run_id(bench: Bench) -> None:
    assert bench.run("--run_id", "nightly").record(run_id="nightly")


def model_tag(bench: Bench) -> None:
    assert bench.run("--model_tag", "mine").record("mine")["options"]["model_name"] == "mine"


def fresh(bench: Bench) -> None:
    bench.run()
    assert bench.run().asked == []
    assert bench.run("--fresh").asked == QUESTIONS


def use_cache(bench: Bench) -> None:
    cache = ("--use_cache", str(bench.folder / "cache"))
    bench.run(*cache, "--run_id", "a")
    assert bench.run(*cache, "--run_id", "b").asked == []


def log_samples(bench: Bench) -> None:
    assert [row["resps"] for row in bench.run("--log_samples").samples()] == [[[f"answer {i}"]] for i in range(3)]


def report(bench: Bench) -> None:
    page = bench.runs / "noting" / "default" / "report" / "index.html"
    bench.run("--report", "false")
    assert not page.exists()
    assert "report/index.html" in bench.run().err
    assert page.exists()


def metadata(bench: Bench) -> None:
    assert bench.run("--metadata", '{"note": "x"}').results["config"]["note"] == "x"


def wandb_args(bench: Bench) -> None:
    logged(bench, "wandb", "--wandb_args", "project=p")


def trackio_args(bench: Bench) -> None:
    logged(bench, "trackio", "--trackio_args", "project=p")


def logger(bench: Bench) -> None:
    logged(bench, "trackio", "--logger", "trackio,project=p")


def logged(bench: Bench, name: str, *words: str) -> None:
    taken: list[tuple[Any, int]] = []
    module = f"mmeval.report.loggers.{name}"
    bench.patch.setattr(f"{module}.need_package", lambda package, extra: None)
    bench.patch.setattr(
        f"{module}.{name.capitalize()}Logger.log",
        lambda self, outcome, published: taken.append((self._init, outcome.exit_code)),
    )
    assert (bench.run(*words).code, taken) == (0, [({"project": "p"}, 0)])


def role(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_verdict"}])
    left = bench.run("--role", "judge=noting,model=j")
    assert left.value == 1.0
    assert "answer 0 met?" in left.asked


def judge(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_verdict"}])
    left = bench.run("--judge", "noting,model=j")
    assert (left.value, "answer 0 met?" in left.asked) == (1.0, True)


def judge_args(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_verdict"}])
    left = bench.run("--judge", "noting", "--judge_args", "model=j")
    assert [served["asked"] for served in left.results["mmeval"]["judges"]["tiny"]] == ["j"]


def judge_base_url(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_verdict"}])
    assert "base_url" in bench.run("--judge", "noting", "--judge_base_url", "http://localhost:1/v1").err


def captioner(bench: Bench) -> None:
    bench.task(roles={"captioner": {"max_tokens": 5}})
    assert bench.run("--captioner", "noting").code == 0
    assert "unknown backend" in bench.run("--captioner", "notting").err


def judge_prompts(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "judge_yes_no"}])
    (bench.folder / "mine").mkdir()
    (bench.folder / "mine" / "judge_yes_no.txt").write_text("{{ answer }}, met? {{ form }}")
    left = bench.run("--judge", "noting,model=j", "--judge_prompts", str(bench.folder / "mine"))
    assert all(any(said.startswith(f"answer {i}, met? {{") for said in left.asked) for i in range(3))


def max_connections(bench: Bench) -> None:
    bench.run("--run_id", "a")
    usual = Noting.most
    bench.run("--run_id", "b", "--max_connections", "1")
    assert (usual, Noting.most) == (3, 1)


def retry_on_error(bench: Bench) -> None:
    bench.rows("failing")
    assert len(bench.run("--retry_on_error", "2").requests) == 3


def prices(bench: Bench) -> list[str]:
    """The flag that names a file in which an answer costs a dollar."""
    (bench.folder / "prices.yaml").write_text("models:\n  noting: {input: 0, output: 0, per_call: 1}\n")
    return ["--model_cost_config", str(bench.folder / "prices.yaml")]


def budget_usd(bench: Bench) -> None:
    left = bench.run("--budget_usd", "2", *prices(bench))
    assert (left.code, len(left.asked)) == (3, 2)


def budget_tokens(bench: Bench) -> None:
    left = bench.run("--budget_tokens", "0")
    assert (left.code, left.asked) == (3, [])


def budget_calls(bench: Bench) -> None:
    left = bench.run("--budget_calls", "1")
    assert (left.code, len(left.asked)) == (3, 1)


def model_cost_config(bench: Bench) -> None:
    assert bench.run("--run_id", "a").results["mmeval"]["spent"]["usd"] is None
    assert bench.run("--run_id", "b", *prices(bench)).results["mmeval"]["spent"]["usd"] == 3.0


def batch_size(bench: Bench) -> None:
    bench.run("--run_id", "a", model="noting_local")
    usual = list(NotingLocal.sizes)
    bench.run("--run_id", "b", "--batch_size", "1", model="noting_local")
    assert (max(usual) > 1, NotingLocal.sizes) == (True, [1, 1, 1])


def device(bench: Bench) -> None:
    assert bench.run("--device", "cuda:1", model="noting_local").results["config"]["device"] == "cuda:1"
    assert NotingLocal.made == ("cuda:1", False)
    refused = bench.run("--device", "cuda:1")
    assert (refused.code, "--device has no effect here: the backend 'noting' runs no model" in refused.err) == (2, True)


def dry_run(bench: Bench) -> None:
    left = bench.run("--dry_run")
    assert (left.code, left.asked, bench.runs.exists()) == (0, [], False)
    assert "question 0\n" in left.out


def baseline(bench: Bench) -> None:
    bench.run("--model", "reference")
    left = bench.run("--model", "empty", "--baseline", str(bench.runs / "reference" / "default"))
    assert "|reference|" in left.out
    assert "--baseline" in bench.run("--baseline", str(bench.folder / "nowhere")).err


def write_out(bench: Bench) -> None:
    assert "[user]\nquestion 0\n" in bench.run("--write_out").err


def show_config(bench: Bench) -> None:
    left = bench.run("--show_config")
    assert "model: noting\n" in left.out
    assert not bench.runs.exists()


def verbosity(bench: Bench) -> None:
    assert "results: " in bench.run().err
    assert "results: " not in bench.run("--verbosity", "WARNING").err


CASES: tuple[Callable[[Bench], None], ...] = (
    *(model, model_args, tasks, include_path, config),
    *(limit, offset, samples, sample_shuffle, stratify, repeats, seed, gen_kwargs, system_instruction, protocol, data),
    data_dir,
    *(profile, metric_args, skip_metric, trust_remote_code, predict_only, score_workers, metric_device, reasoning_tags),
    *(
        max_unscored,
        bootstrap_iters,
        strict,
        output_path,
        run_id,
        model_tag,
        fresh,
        use_cache,
        log_samples,
        report,
        metadata,
        wandb_args,
        trackio_args,
        logger,
    ),
    *(
        role,
        judge,
        judge_args,
        judge_base_url,
        captioner,
        judge_prompts,
        max_connections,
        retry_on_error,
        budget_usd,
        budget_tokens,
        budget_calls,
        model_cost_config,
        batch_size,
        device,
        dry_run,
        baseline,
        write_out,
        show_config,
        verbosity,
    ),
)
EFFECTS = {case.__name__: case for case in CASES}


@pytest.mark.parametrize("name", [flag.name for flag in FLAGS])
def test_each_flag_has_an_effect(name: str, bench: Bench) -> None:
    EFFECTS[name](bench)


def test_no_effect_is_claimed_for_what_is_no_flag() -> None:
    assert set(EFFECTS) <= {flag.name for flag in FLAGS}


@pytest.mark.parametrize(
    "words",
    [
        ("--data", "bundled", "--data_dir", "x"),
        ("--role", "jugde=empty"),
        ("--offset", "99"),
        ("--samples", json.dumps({"tiny": []})),
        ("--sample_shuffle", "1"),
        ("--stratify", "level"),
        ("--limit", "1", "--stratify", "levle"),
    ],
    ids=" ".join,
)
def test_a_flag_that_could_have_no_effect_is_refused_before_anything_is_asked(
    words: tuple[str, ...], bench: Bench
) -> None:
    left = bench.run(*words)

    assert (left.code, left.asked, bench.runs.exists()) == (2, [], False)
