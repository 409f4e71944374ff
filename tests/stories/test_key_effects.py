"""What each key of a task file and of a group file changes, seen from outside, or that
it is refused."""

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest

from mmeval.task.schema import (
    ByHandKeys,
    ExpectedKeys,
    FewerInputsKeys,
    GroupKeys,
    GroupMetricKeys,
    MetricKeys,
    NumberKeys,
    PromptKeys,
    TaskKeys,
)
from tests.support import tiny_media
from tests.support.bench import Bench, Left, set_up

QUESTIONS = ["question 0", "question 1", "question 2"]
KEYS = {
    "task": ["include", *TaskKeys.model_fields],
    "prompt": list(PromptKeys.model_fields),
    "metric_list": list(MetricKeys.model_fields),
    "numbers": list(NumberKeys.model_fields),
    "expected": list(ExpectedKeys.model_fields),
    "fewer_inputs": list(FewerInputsKeys.model_fields),
    "by_hand": list(ByHandKeys.model_fields),
    "group": list(GroupKeys.model_fields),
    "aggregate_metric_list": list(GroupMetricKeys.model_fields),
}
"""The keys of each place in which keys stand, by its name."""
BOTH: dict[str, Any] = {"output_modalities": ["text", "image"]}
JUDGED = {"metric": "toy_verdict"}
UNJUDGED = [{"metric": "exact_match"}, JUDGED]
OVERALL = [{"metric": "exact_match"}, {"metric": "overall", "of": ["exact_match"]}]
HAND = {"path": "gone", "source": "a page", "note": "a form"}
ABSENT = {"dataset_name": "gone", "by_hand": [HAND]}
Seen = Callable[[Left], Any]
asked, code = attrgetter("asked"), attrgetter("code")


@pytest.fixture
def bench(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Bench]:
    """Beside ``tiny``, whose three answers are right: other data, and data of two
    levels, one of them right."""
    with set_up(tmp_path, monkeypatch, capsys) as made:
        places = (
            ("other", "test"),
            ("data/part", "test"),
            ("data", "mine"),
            ("data", "dev"),
            ("few", "test"),
        )
        for folder, split in places:
            made.rows(
                f"question of {folder} {split}", folder=f"tasks/{folder}", split=split
            )
        rows = [
            {"input": f"question {i}", "reference": f"answer {i if i < 3 else 9}"}
            for i in range(6)
        ]
        levels = [
            {**row, "level": "right" if i < 3 else "wrong"}
            for i, row in enumerate(rows)
        ]
        made.rows(*levels, folder="tasks/levels")
        made.rows("oui", folder="tasks/oui")
        made.rows("silence", folder="tasks/silence")
        made.rows({"input": " padded words\n"}, folder="tasks/padded")
        made.rows({"input": "before <GEN_0> after"}, folder="tasks/placed")
        made.rows({"input": "question 0", "reference": "no"}, folder="tasks/wrong_data")
        seen = {"image1": "a.png", "image2": "b.png", "video1": "c.mp4"}
        made.rows(
            {"input": "question 0 <<video1>> <<image1>> <<image2>>", "media": seen},
            folder="tasks/seen",
        )
        for name, content in (
            ("a.png", tiny_media.picture()),
            ("b.png", tiny_media.picture()),
            ("c.mp4", tiny_media.clip()),
        ):
            (made.tasks / "seen" / name).write_bytes(content)
        made.task("wrong", dataset_path="wrong_data")
        made.task("twice", repeats=2)
        made.task("models", output_modalities=["text", "3d"])
        made.task("many", metric_list=[{"metric": "toy_pair"}])
        monkeypatch.setattr(
            "mmeval.dataset.hub.snapshot",
            lambda repo, revision: made.tasks / repo / revision,
        )
        yield made


def wants(left: Left) -> Any:
    return [request.wants for request in left.requests]


def first(left: Left) -> Any:
    return left.asked[0]


def names(left: Left) -> Any:
    return set(left.values)


def tokens(left: Left) -> Any:
    return {request.params.max_tokens for request in left.requests}


def sent(left: Left) -> Any:
    """The kinds of part of each request, and the routes that the answer names in its
    warnings."""
    kinds = [
        [part.kind for part in request.messages[0].content.parts]
        for request in left.requests
    ]
    (warnings,) = left.samples()[0].get("warnings", [None])
    return kinds, warnings and [warning.partition(":")[0] for warning in warnings]


def row(left: Left) -> Mapping[str, Any]:
    found: Mapping[str, Any] = left.results["mmeval"]["results"][0]
    return found


TASK: dict[str, tuple[dict[str, Any], str, Seen, Any]] = {
    "task.include": ({"include": "twice.yaml"}, "", lambda left: len(left.requests), 6),
    "task.task": ({}, "", names, {"tiny.exact_match"}),
    "task.task_alias": (
        {"task_alias": "A Tiny One"},
        "",
        lambda left: "A Tiny One, " in left.out,
        True,
    ),
    "task.tag": ({"tag": ["small"]}, "--tasks small", names, {"tiny.exact_match"}),
    "task.dataset_path": (
        {"dataset_path": "other"},
        "",
        asked,
        ["question of other test"],
    ),
    "task.dataset_name": (
        {"dataset_name": "part"},
        "",
        asked,
        ["question of data/part test"],
    ),
    "task.dataset_kwargs": (
        {"dataset_kwargs": {"data_file": "mine.jsonl"}},
        "",
        asked,
        ["question of data mine"],
    ),
    "task.test_split": ({"test_split": "dev"}, "", asked, ["question of data dev"]),
    "task.revision": ({"dataset_path": "data/part", "revision": "."}, "", code, 0),
    "task.bundled": (
        {"bundled": "few"},
        "--data bundled",
        asked,
        ["question of few test"],
    ),
    "task.loader": ({"loader": "one_row"}, "", asked, ["question of its own"]),
    "task.columns": (
        {"columns": {"input": "q"}},
        "",
        lambda left: (left.code, "loader: datasets" in left.err),
        (2, True),
    ),
    "task.prompt": ({"prompt": "Say: {{ input }}"}, "", first, "Say: question 0"),
    "task.prompt_fields": (
        {"prompt": "{{ level }}: {{ input }}", "prompt_fields": ["level"]},
        "",
        first,
        "l0: question 0",
    ),
    "task.protocol": (
        {**BOTH, "protocol": "independent_passes"},
        "--limit 1",
        wants,
        [("text",), ("image",)],
    ),
    "task.output_modalities": (
        {"output_modalities": ["image"]},
        "",
        wants,
        [("image",)] * 3,
    ),
    "task.partial_output": (
        {**BOTH, "partial_output": True},
        "--model_args gives=text",
        wants,
        [("text",)] * 3,
    ),
    "task.fewer_inputs": ({"dataset_path": "seen"}, "--log_samples", sent, ([], None)),
    "fewer_inputs.video_frames": (
        {"dataset_path": "seen", "fewer_inputs": {"video_frames": 3}},
        "--log_samples",
        sent,
        (
            [["text", *["image"] * 3, "text", "image", "text", "image"]],
            ["video->3_frames"],
        ),
    ),
    "fewer_inputs.first_picture": (
        {"dataset_path": "seen", "fewer_inputs": {"first_picture": True}},
        "--log_samples --model_args pictures=1",
        sent,
        ([["text", "image", "text", "text"]], ["video->first_frame", "image->first"]),
    ),
    "task.placeholders": (
        {**BOTH, "dataset_path": "placed", "placeholders": ["generated"]},
        "--log_samples",
        lambda left: [part["type"] for part in left.samples()[0]["parts"][0]],
        ["text", "image", "text"],
    ),
    "task.blocks": (
        {"dataset_path": "padded", "blocks": True},
        "--log_samples",
        lambda left: [part["text"] for part in left.samples()[0]["parts"][0]],
        ["padded words"],
    ),
    "task.filter": ({"filter": {"level": "l1"}}, "", asked, ["question 1"]),
    "task.breakdown": (
        {"breakdown": ["level"], "dataset_path": "levels"},
        "",
        lambda left: {
            row["slice"]: row["value"] for row in left.results["mmeval"]["results"]
        },
        {"": 0.5, "level=right": 1.0, "level=wrong": 0.0},
    ),
    "task.roles": (
        {"metric_list": [JUDGED], "roles": {"judge": {"max_tokens": 7}}},
        "--role judge=noting,model=j",
        tokens,
        {None, 7},
    ),
    "task.profile": (
        {
            "metric_list": [{"metric": "toy_yes"}],
            "profile": "official",
            "dataset_path": "oui",
        },
        "",
        lambda left: (left.value, left.results["configs"]["tiny"]["profile"]),
        (1.0, "official"),
    ),
    "task.filter_list": (
        {"filter_list": [{"name": "large", "filter": [{"function": "uppercase"}]}]},
        "",
        lambda left: left.values["tiny.exact_match"],
        0,
    ),
    "task.missing_output": (
        {"missing_output": 0.25, "dataset_path": "silence"},
        "",
        lambda left: left.value,
        0.25,
    ),
    "task.cluster_key": (
        {"cluster_key": "level", "dataset_path": "levels"},
        "",
        lambda left: row(left)["clusters"],
        2,
    ),
    "task.requires_mmeval": (
        {"requires_mmeval": ">=999"},
        "",
        lambda left: (left.code, left.asked),
        (2, []),
    ),
    "task.generation_kwargs": (
        {"generation_kwargs": {"max_tokens": 5}},
        "",
        tokens,
        {5},
    ),
    "task.repeats": ({"repeats": 2}, "", asked, sorted(QUESTIONS * 2)),
    "task.metric_list": (
        {"metric_list": [{"metric": "toy_pair"}]},
        "",
        names,
        {"tiny.toy_first", "tiny.toy_second"},
    ),
    "task.numbers": (
        {"numbers": [{"number": "all", "of": ["exact_match"]}]},
        "",
        names,
        {"tiny.exact_match", "tiny.all"},
    ),
    "task.metadata": (
        {"metadata": {"version": "7.5"}},
        "",
        lambda left: left.results["versions"],
        {"tiny": "7.5"},
    ),
    "prompt.system": (
        {"prompt": {"system": "be brief", "user": "{{ input }}"}},
        "--limit 1",
        lambda left: [
            (one.role, one.content.text) for one in left.requests[0].messages
        ],
        [("system", "be brief"), ("user", "question 0")],
    ),
    "prompt.user": (
        {"prompt": {"user": "Say: {{ input }}"}},
        "",
        first,
        "Say: question 0",
    ),
    "prompt.function": (
        {"prompt": {"function": "shouted", "mark": "!!"}},
        "",
        first,
        "question 0!!",
    ),
    "metric_list.metric": (
        {"metric_list": [{"metric": "toy_yes"}]},
        "",
        names,
        {"tiny.toy_yes"},
    ),
    "metric_list.aggregation": (
        {
            "metric_list": [
                {"metric": "exact_match", "aggregation": {"name": "median"}}
            ],
            "dataset_path": "levels",
        },
        "",
        lambda left: (left.value, row(left)["bootstrap_iters"]),
        (0.5, 1000),
    ),
    "metric_list.higher_is_better": (
        {"metric_list": [{"metric": "exact_match", "higher_is_better": False}]},
        "",
        lambda left: left.results["higher_is_better"],
        {"tiny": {"exact_match": False}},
    ),
    "numbers.number": (
        {
            "numbers": [{"number": "mine", "of": ["exact_match"]}],
            "dataset_path": "levels",
        },
        "",
        lambda left: left.values["tiny.mine"],
        0.5,
    ),
    "numbers.of": (
        {
            "metric_list": [{"metric": "toy_pair"}],
            "numbers": [{"number": "mine", "of": ["toy_second"]}],
        },
        "",
        lambda left: left.results["mmeval"]["metrics"]["tiny"]["mine"]["pieces"],
        ["toy_second"],
    ),
    "numbers.combine": (
        {"numbers": [{"number": "mine", "of": ["exact_match"], "combine": "mode"}]},
        "",
        lambda left: (left.code, "combine" in left.err),
        (2, True),
    ),
    "numbers.missing": (
        {
            "metric_list": UNJUDGED,
            "numbers": [
                {"number": "m", "of": ["exact_match", "toy_verdict"], "missing": "skip"}
            ],
        },
        "",
        lambda left: left.values["tiny.m"],
        1.0,
    ),
    "metric_list.asks": (
        {"metric_list": [{**JUDGED, "asks": {"judge": "gemini"}}]},
        "--role gemini=noting,model=g",
        lambda left: (
            left.value,
            [served["role"] for served in left.results["mmeval"]["judges"]["tiny"]],
        ),
        (1.0, ["gemini"]),
    ),
}
"""The keys of the task ``tiny``, the flags of its run, what is looked at, and what it
is."""

PREPARED: dict[str, tuple[dict[str, Any], int, str]] = {
    "task.expected": ({"expected": {"rows": 3}}, 0, "3 of 3"),
    "expected.rows": ({"expected": {"rows": 4}}, 4, "3 of 4"),
    "expected.samples": (
        {"expected": {"rows": 3, "samples": 2}, "filter": {"level": "l1"}},
        4,
        "1 of 2",
    ),
    "expected.media": ({"expected": {"media": {"image": 7}}}, 4, "0 of 7"),
    "expected.totals": ({"expected": {"totals": {"criteria": 7}}}, 4, "0 of 7"),
    "expected.files": ({"expected": {"files": {"gone.txt": "0" * 64}}}, 4, "gone.txt"),
    "task.by_hand": (ABSENT, 4, "by hand"),
    "by_hand.path": (ABSENT, 4, "data/gone"),
    "by_hand.source": (ABSENT, 4, "by hand: a page"),
    "by_hand.note": (ABSENT, 4, "(a form)"),
}
"""Keys, the exit code of ``mmeval prepare``, and what it then says."""

GROUP: dict[str, tuple[dict[str, Any], Seen, Any]] = {
    "group.group": ({}, lambda left: left.values["both.exact_match"], 0.5),
    "group.group_alias": (
        {"group_alias": "Both of Them"},
        lambda left: "Both of Them, " in left.out,
        True,
    ),
    "group.task": (
        {"task": ["wrong"]},
        names,
        {"wrong.exact_match", "both.exact_match"},
    ),
    "group.tag": ({"tag": ["pair"]}, lambda left: left.values["both.exact_match"], 0.5),
    "group.aggregate_metric_list": (
        {"aggregate_metric_list": []},
        names,
        {"tiny.exact_match", "wrong.exact_match"},
    ),
    "group.layout": (
        {"layout": "mmgm"},
        lambda left: (left.code, left.asked, "mmgm" in left.err),
        (2, [], True),
    ),
    "group.requires_mmeval": (
        {"requires_mmeval": ">=999"},
        lambda left: (left.code, ">=999" in left.err),
        (2, True),
    ),
    "group.metadata": (
        {"metadata": {"version": "7"}},
        lambda left: left.results["versions"]["both"],
        "7",
    ),
    "aggregate_metric_list.metric": (
        {"task": ["many"], "aggregate_metric_list": [{"metric": "toy_second"}]},
        names,
        {"many.toy_first", "many.toy_second", "both.toy_second"},
    ),
    "aggregate_metric_list.aggregation": (
        {"aggregate_metric_list": [{"metric": "exact_match", "aggregation": "median"}]},
        lambda left: (left.code, "aggregation" in left.err),
        (2, True),
    ),
    "aggregate_metric_list.weight_by_size": (
        {"aggregate_metric_list": [{"metric": "exact_match", "weight_by_size": True}]},
        lambda left: left.values["both.exact_match"],
        0.75,
    ),
    "aggregate_metric_list.absent": (
        {
            "task": ["tiny", "models"],
            "aggregate_metric_list": [{"metric": "exact_match", "absent": "zero"}],
        },
        lambda left: left.values["both.exact_match"],
        0.5,
    ),
}
"""The keys of a group of ``tiny`` (three right answers) and ``wrong`` (one wrong
answer), what is seen."""


@pytest.mark.parametrize("name", TASK)
def test_a_key_of_a_task_has_its_effect(name: str, bench: Bench) -> None:
    keys, flags, seen, expected = TASK[name]
    bench.task(**keys)
    assert seen(bench.run(*flags.split())) == expected


def grouped(bench: Bench, **keys: Any) -> None:
    averaged = [{"metric": "exact_match"}]
    bench.file(
        "both",
        {
            "group": "both",
            "task": ["tiny", "wrong"],
            "aggregate_metric_list": averaged,
            **keys,
        },
    )


@pytest.mark.parametrize("name", GROUP)
def test_a_key_of_a_group_has_its_effect(name: str, bench: Bench) -> None:
    keys, seen, expected = GROUP[name]
    grouped(bench, **keys)
    assert seen(bench.run(tasks="pair" if "tag" in keys else "both")) == expected


@pytest.mark.parametrize("name", PREPARED)
def test_a_key_about_the_data_is_checked_when_they_are_prepared(
    name: str, bench: Bench
) -> None:
    keys, code, words = PREPARED[name]
    bench.task(**keys)
    left = bench.mmeval("prepare", "tiny", "--include_path", str(bench.tasks))
    assert (left.code, words in left.out) == (code, True), left.out


def input_modalities(bench: Bench) -> None:
    bench.task(input_modalities=["image"])
    assert bench.mmeval("check", str(bench.tasks / "tiny.yaml")).code == 3


def layout(bench: Bench) -> None:
    bench.task("mmmg_object_count", metric_list=OVERALL, layout="mmmg")
    assert (
        "MMMG, table 9: image"
        in bench.run("--table", "full", tasks="mmmg_object_count").out
    )
    grouped(
        bench,
        task=["mmmg_object_count"],
        aggregate_metric_list=[{"metric": "overall"}],
        layout="mmmg",
    )
    assert "MMMG, table 9: image" in bench.run("--table", "full", tasks="both").out


def expected_of_a_group(bench: Bench) -> None:
    codes = []
    for rows in (4, 5):
        grouped(bench, expected={"rows": rows})
        codes.append(
            bench.mmeval("prepare", "both", "--include_path", str(bench.tasks)).code
        )
    assert codes == [0, 4]


OTHERS: dict[str, Callable[[Bench], None]] = {
    "task.input_modalities": input_modalities,
    "task.layout": layout,
    "group.expected": expected_of_a_group,
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_key_is_seen_otherwise(name: str, bench: Bench) -> None:
    OTHERS[name](bench)


def test_every_key_has_an_effect_that_is_tested() -> None:
    every = {f"{place}.{key}" for place, keys in KEYS.items() for key in keys}
    assert {*TASK, *GROUP, *PREPARED, *OTHERS} == every


def test_a_task_that_is_not_partial_is_not_asked_of_a_model_that_gives_a_part(
    bench: Bench,
) -> None:
    bench.task(**BOTH)
    assert bench.run("--model_args", "gives=text").asked == []
