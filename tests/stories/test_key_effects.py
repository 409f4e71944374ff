"""What each key of a task file and of a group file changes, seen from outside, or that it is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.task.schema import (
    REFUSED,
    ByHandKeys,
    ExpectedKeys,
    GroupKeys,
    GroupMetricKeys,
    MetricKeys,
    PromptKeys,
    TaskKeys,
)
from tests.support.bench import Bench, Left, set_up
from tests.support.log_level import restored_log

QUESTIONS = ["question 0", "question 1", "question 2"]
KEYS = {
    "task": ["include", *TaskKeys.model_fields],
    "prompt": list(PromptKeys.model_fields),
    "metric_list": list(MetricKeys.model_fields),
    "expected": list(ExpectedKeys.model_fields),
    "by_hand": list(ByHandKeys.model_fields),
    "group": list(GroupKeys.model_fields),
    "aggregate_metric_list": list(GroupMetricKeys.model_fields),
}
"""The keys of each place in which keys stand, by its name."""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Bench]:
    with restored_log(), set_up(tmp_path, monkeypatch, capsys) as made:
        yield made


Case = Callable[[Bench], None]
EFFECTS: dict[tuple[str, str], Case] = {}


def of(place: str, key: str) -> Callable[[Case], Case]:
    """Marks a function as the case of a key."""

    def mark(case: Case) -> Case:
        EFFECTS[place, key] = case
        return case

    return mark


def wrong_by_half(bench: Bench) -> None:
    """Rows in two levels; the answers of one are right, those of the other wrong."""
    rows = [{"input": f"question {i}", "level": "right" if i < 3 else "wrong"} for i in range(6)]
    bench.rows(*({**row, "reference": f"answer {i}" if i < 3 else "no"} for i, row in enumerate(rows)))


# --- a task -----------------------------------------------------------------------------------------------------------


@of("task", "include")
def include(bench: Bench) -> None:
    bench.task("tiny", repeats=2)
    bench.file("more", {"include": "tiny.yaml", "task": "more"})
    assert len(bench.run(tasks="more").requests) == 6


@of("task", "task")
def name(bench: Bench) -> None:
    bench.task("other")
    assert set(bench.run(tasks="other").values) == {"other.exact_match"}


@of("task", "task_alias")
def task_alias(bench: Bench) -> None:
    bench.task(task_alias="A Tiny One")
    assert "|A Tiny One|" in bench.run().out


@of("task", "tag")
def tag(bench: Bench) -> None:
    bench.task(tag=["small"])
    assert set(bench.run(tasks="small").values) == {"tiny.exact_match"}


@of("task", "dataset_path")
def dataset_path(bench: Bench) -> None:
    bench.rows("question elsewhere", folder="tasks/other")
    bench.task(dataset_path="other")
    assert bench.run().asked == ["question elsewhere"]


@of("task", "dataset_name")
def dataset_name(bench: Bench) -> None:
    bench.rows("question of a part", folder="tasks/data/part")
    bench.task(dataset_name="part")
    assert bench.run().asked == ["question of a part"]


@of("task", "dataset_kwargs")
def dataset_kwargs(bench: Bench) -> None:
    bench.rows("question by name", split="mine")
    bench.task(dataset_kwargs={"data_file": "mine.jsonl"})
    assert bench.run().asked == ["question by name"]


@of("task", "test_split")
def split(bench: Bench) -> None:
    bench.rows("question to develop on", split="dev")
    bench.task(test_split="dev")
    assert bench.run().asked == ["question to develop on"]


@of("task", "revision")
def revision(bench: Bench) -> None:
    fetched: list[str] = []

    def snapshot(repo: str, revision: str) -> Path:
        fetched.append(f"{repo} at {revision}")
        return bench.tasks / "data"

    bench.patch.setattr("mmeval.dataset.hub.snapshot", snapshot)
    bench.task(dataset_path="owner/name", revision="abc")
    assert bench.run().code == 0
    assert set(fetched) == {"owner/name at abc"}


@of("task", "bundled")
def bundled(bench: Bench) -> None:
    bench.rows("question of a few", folder="tasks/few")
    bench.task(bundled="few")
    assert bench.run("--data", "bundled").asked == ["question of a few"]


@of("task", "expected")
def expected(bench: Bench) -> None:
    bench.task(expected={"rows": 3})
    assert prepared(bench).code == 0


@of("expected", "rows")
def expected_rows(bench: Bench) -> None:
    bench.task(expected={"rows": 4})
    assert "3 rows are there, the task file expects 4" in unready(bench)


@of("expected", "samples")
def expected_samples(bench: Bench) -> None:
    wrong_by_half(bench)
    bench.task(expected={"rows": 6, "samples": 6}, filter={"level": "right"})
    assert "3 samples are there, the task file expects 6" in unready(bench)


@of("expected", "media")
def expected_media(bench: Bench) -> None:
    bench.task(expected={"media": {"image": 1}})
    assert "0 image files are there, the task file expects 1" in unready(bench)


@of("expected", "files")
def expected_files(bench: Bench) -> None:
    bench.task(expected={"files": {"test.jsonl": "0" * 64}})
    assert "its content is not what the task file expects" in unready(bench)


@of("task", "by_hand")
def by_hand(bench: Bench) -> None:
    by_hand_note(bench)


@of("by_hand", "path")
def by_hand_path(bench: Bench) -> None:
    bench.task(dataset_path="data", dataset_name="gone", by_hand=[{"path": "gone", "source": "a page"}])
    assert f"put it at {bench.tasks / 'data' / 'gone'}" in unready(bench)


@of("by_hand", "source")
def by_hand_source(bench: Bench) -> None:
    bench.task(dataset_name="gone", by_hand=[{"path": "gone", "source": "the page of the authors"}])
    assert "gone is fetched by hand: take the page of the authors" in unready(bench)


@of("by_hand", "note")
def by_hand_note(bench: Bench) -> None:
    bench.task(dataset_name="gone", by_hand=[{"path": "gone", "source": "a page", "note": "after signing a form"}])
    assert "take a page (after signing a form)" in unready(bench)


def unready(bench: Bench, name: str = "tiny") -> str:
    """What ``mmeval prepare`` says of a task or group, which is not ready."""
    left = prepared(bench, name)
    assert left.code == 4
    return left.out


def prepared(bench: Bench, name: str = "tiny") -> Left:
    return bench.mmeval("prepare", name, "--include_path", str(bench.tasks))


@of("task", "loader")
def loader(bench: Bench) -> None:
    bench.task(loader="one_row")
    assert bench.run().asked == ["question of its own"]


@of("task", "prompt")
def prompt(bench: Bench) -> None:
    bench.task(prompt="Say: {{ input }}")
    assert bench.run("--limit", "1").asked == ["Say: question 0"]


@of("task", "prompt_fields")
def prompt_fields(bench: Bench) -> None:
    bench.task(prompt="{{ level }}: {{ input }}")
    assert bench.run().code == 2
    bench.task(prompt="{{ level }}: {{ input }}", prompt_fields=["level"])
    assert bench.run("--limit", "1").asked == ["l0: question 0"]


@of("task", "protocol")
def protocol(bench: Bench) -> None:
    bench.task(output_modalities=["text", "image"], protocol="independent_passes")
    assert [request.wants for request in bench.run("--limit", "1").requests] == [("text",), ("image",)]


@of("task", "input_modalities")
def input_modalities(bench: Bench) -> None:
    bench.task(input_modalities=["image"])
    left = bench.mmeval("validate", str(bench.tasks / "tiny.yaml"))
    assert "holds text, which input_modalities leaves out" in left.out


@of("task", "output_modalities")
def output_modalities(bench: Bench) -> None:
    bench.task(output_modalities=["image"])
    assert {request.wants for request in bench.run().requests} == {("image",)}


@of("task", "partial_output")
def partial_output(bench: Bench) -> None:
    bench.task(output_modalities=["text", "image"])
    assert bench.run("--model_args", "gives=text").asked == []
    bench.task(output_modalities=["text", "image"], partial_output=True)
    assert {request.wants for request in bench.run("--model_args", "gives=text").requests} == {("text",)}


@of("task", "placeholders")
def placeholders(bench: Bench) -> None:
    def kinds(**keys: Any) -> list[str]:
        bench.task(output_modalities=["text", "image"], **keys)
        (row,) = bench.run("--log_samples").samples()
        return [part["type"] for part in row["parts"][0]]

    bench.rows({"input": "before <GEN_0> after"})
    assert kinds() == ["text", "image"]
    assert kinds(placeholders=["generated"]) == ["text", "image", "text"]


@of("task", "filter")
def filter_(bench: Bench) -> None:
    bench.task(filter={"level": "l1"})
    assert bench.run().asked == ["question 1"]


@of("task", "breakdown")
def breakdown(bench: Bench) -> None:
    wrong_by_half(bench)
    bench.task(breakdown=["level"])
    results = bench.run().results["mmeval"]["results"]
    assert {row.get("slice", ""): row["value"] for row in results} == {"": 0.5, "level=right": 1.0, "level=wrong": 0.0}


@of("task", "roles")
def roles(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_verdict"}], roles={"judge": {"max_tokens": 7}})
    left = bench.run("--role", "judge=noting,model=j")
    assert {request.params.max_tokens for request in left.requests} == {None, 7}


@of("task", "profile")
def profile(bench: Bench) -> None:
    bench.rows("oui")
    bench.task(metric_list=[{"metric": "toy_yes"}], profile="official")
    left = bench.run()
    assert left.value == 1.0
    assert left.results["configs"]["tiny"]["profile"] == "official"


@of("task", "missing_output")
def missing_output(bench: Bench) -> None:
    bench.rows("silence")
    bench.task(missing_output=0.25)
    assert bench.run().value == 0.25


@of("task", "cluster_key")
def cluster_key(bench: Bench) -> None:
    def stderr(**keys: Any) -> float:
        bench.task(**keys)
        return float(bench.run().results["results"]["tiny"]["exact_match_stderr,none"])

    wrong_by_half(bench)
    assert stderr(cluster_key="level") > stderr()


@of("task", "requires_mmeval")
def requires_mmeval(bench: Bench) -> None:
    bench.task(requires_mmeval=">=999")
    left = bench.run()
    assert (left.code, "needs mmeval >=999" in left.err) == (2, True)


@of("task", "generation_kwargs")
def generation_kwargs(bench: Bench) -> None:
    bench.task(generation_kwargs={"max_tokens": 5})
    assert {request.params.max_tokens for request in bench.run().requests} == {5}


@of("task", "repeats")
def repeats(bench: Bench) -> None:
    bench.task(repeats=2)
    assert bench.run().asked == sorted(QUESTIONS * 2)


@of("task", "metric_list")
def metric_list(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_pair"}])
    assert set(bench.run().values) == {"tiny.toy_first", "tiny.toy_second"}


OVERALL = [{"metric": "exact_match"}, {"metric": "overall", "of": ["exact_match"]}]


@of("task", "layout")
def task_layout(bench: Bench) -> None:
    bench.task("mmmg_object_count", metric_list=OVERALL, layout="mmmg")
    assert "MMMG, image: tasks" in bench.run(tasks="mmmg_object_count").out


@of("task", "metadata")
def metadata(bench: Bench) -> None:
    bench.task(metadata={"version": "7.5"})
    assert bench.run().results["versions"] == {"tiny": "7.5"}


# --- a prompt ---------------------------------------------------------------------------------------------------------


@of("prompt", "system")
def prompt_system(bench: Bench) -> None:
    bench.task(prompt={"system": "be brief", "user": "{{ input }}"})
    messages = bench.run("--limit", "1").requests[0].messages
    assert [(message.role, message.content.text) for message in messages] == [
        ("system", "be brief"),
        ("user", "question 0"),
    ]


@of("prompt", "user")
def prompt_user(bench: Bench) -> None:
    bench.task(prompt={"user": "Say: {{ input }}"})
    assert bench.run("--limit", "1").asked == ["Say: question 0"]


@of("prompt", "function")
def prompt_function(bench: Bench) -> None:
    bench.task(prompt={"function": "shouted", "mark": "!!"})
    assert bench.run("--limit", "1").asked == ["question 0!!"]


# --- an entry of metric_list ------------------------------------------------------------------------------------------


@of("metric_list", "metric")
def metric(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_yes"}])
    assert set(bench.run().values) == {"tiny.toy_yes"}


@of("metric_list", "aggregation")
def aggregation(bench: Bench) -> None:
    bench.rows(*({"input": f"question {i}", "reference": f"answer {i}" if i else "no"} for i in range(3)))
    bench.task(metric_list=[{"metric": "exact_match", "aggregation": "median"}])
    assert bench.run().value == 1.0
    _its_options(bench)


def _its_options(bench: Bench) -> None:
    def bootstrap_iters(interval: str) -> int:
        aggregation = {"name": "mean", "interval": interval}
        bench.task(metric_list=[{"metric": "exact_match", "aggregation": aggregation}])
        return int(bench.run().results["mmeval"]["results"][0]["bootstrap_iters"])

    bench.rows(*({"input": f"question {i}", "reference": f"answer {i % 2 * i}"} for i in range(9)))
    assert (bootstrap_iters("analytic"), bootstrap_iters("bootstrap")) == (0, 1000)
    bench.task(metric_list=[{"metric": "exact_match", "aggregation": {"name": "mean", "interval": "bootstrp"}}])
    left = bench.run()
    assert (left.code, 'did you mean "bootstrap"' in left.err) == (2, True)


@of("metric_list", "higher_is_better")
def higher_is_better(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "exact_match", "higher_is_better": False}])
    assert bench.run().results["higher_is_better"] == {"tiny": {"exact_match": False}}


@of("metric_list", "asks")
def metric_asks(bench: Bench) -> None:
    bench.task(metric_list=[{"metric": "toy_verdict", "asks": {"judge": "gemini"}}])
    left = bench.run("--role", "gemini=noting,model=g")
    assert left.value == 1.0
    assert [served["role"] for served in left.results["mmeval"]["judges"]["tiny"]] == ["gemini"]


# --- a group ----------------------------------------------------------------------------------------------------------


def grouped(bench: Bench, **keys: Any) -> None:
    """A group of ``tiny`` (three right answers) and ``wrong`` (one wrong answer)."""
    bench.rows({"input": "question 0", "reference": "no"}, folder="tasks/wrong_data")
    bench.task("wrong", dataset_path="wrong_data")
    averaged = [{"metric": "exact_match"}]
    bench.file("both", {"group": "both", "task": ["tiny", "wrong"], "aggregate_metric_list": averaged, **keys})


@of("group", "group")
def group(bench: Bench) -> None:
    grouped(bench)
    assert "both.exact_match" in bench.run(tasks="both").values


@of("group", "group_alias")
def group_alias(bench: Bench) -> None:
    grouped(bench, group_alias="Both of Them")
    assert "|Both of Them|" in bench.run(tasks="both").out


@of("group", "task")
def group_task(bench: Bench) -> None:
    grouped(bench, task=["wrong"])
    assert set(bench.run(tasks="both").values) == {"wrong.exact_match", "both.exact_match"}


@of("group", "tag")
def group_tag(bench: Bench) -> None:
    grouped(bench, tag=["pair"])
    assert "both.exact_match" in bench.run(tasks="pair").values


@of("group", "aggregate_metric_list")
def aggregate_metric_list(bench: Bench) -> None:
    grouped(bench, aggregate_metric_list=[])
    assert set(bench.run(tasks="both").values) == {"tiny.exact_match", "wrong.exact_match"}


@of("group", "layout")
def group_layout(bench: Bench) -> None:
    grouped(bench, layout="mmgm")
    assert "both.yaml:4: layout: unknown layout 'mmgm'; did you mean \"mmmg\"?" in bench.run(tasks="both").err
    bench.task("mmmg_object_count", dataset_path="data", metric_list=OVERALL)
    grouped(bench, task=["mmmg_object_count"], aggregate_metric_list=[{"metric": "overall"}], layout="mmmg")
    assert "MMMG, image: tasks" in bench.run(tasks="both").out


@of("group", "expected")
def group_expected(bench: Bench) -> None:
    grouped(bench, expected={"rows": 4})
    assert "\nready  both as a whole: 4 different rows" in prepared(bench, "both").out
    grouped(bench, expected={"rows": 5})
    assert "4 rows are there, the task file expects 5" in unready(bench, "both")


@of("group", "requires_mmeval")
def group_requires_mmeval(bench: Bench) -> None:
    grouped(bench, requires_mmeval=">=999")
    assert bench.run(tasks="both").code == 2


@of("group", "metadata")
def group_metadata(bench: Bench) -> None:
    grouped(bench, metadata={"version": "7.5"})
    assert bench.run(tasks="both").results["versions"]["both"] == "7.5"


@of("aggregate_metric_list", "metric")
def aggregated_metric(bench: Bench) -> None:
    grouped(bench)
    assert bench.run(tasks="both").values["both.exact_match"] == 0.5


@of("aggregate_metric_list", "aggregation")
def aggregated_how(bench: Bench) -> None:
    grouped(bench, aggregate_metric_list=[{"metric": "exact_match", "aggregation": "median"}])
    left = bench.run(tasks="both")
    assert (left.code, "aggregation" in left.err) == (2, True)


@of("aggregate_metric_list", "weight_by_size")
def weight_by_size(bench: Bench) -> None:
    grouped(bench, aggregate_metric_list=[{"metric": "exact_match", "weight_by_size": True}])
    assert bench.run(tasks="both").values["both.exact_match"] == 0.75


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("place", "key"), [(place, key) for place, keys in KEYS.items() for key in keys])
def test_each_key_has_an_effect(place: str, key: str, bench: Bench) -> None:
    EFFECTS[place, key](bench)


def test_no_effect_is_claimed_for_what_is_no_key() -> None:
    assert set(EFFECTS) == {(place, key) for place, keys in KEYS.items() for key in keys}


@pytest.mark.parametrize("key", sorted(REFUSED))
def test_each_key_known_from_elsewhere_is_refused_with_what_to_do(key: str, bench: Bench) -> None:
    bench.task(**{key: "x"})

    left = bench.run()

    assert (left.code, left.asked) == (2, [])
    assert REFUSED[key].split(";")[0] in left.err
