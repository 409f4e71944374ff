"""What decides about UEval's numbers has its documented value; a default that is
changed without these fails."""

from typing import Any

from mmeval.metric.contract import load_metric
from mmeval.program.protocols import until_all_kinds
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose

DEFAULTS = {
    "reading": "robust",
    "without_media": "not_met",
    "kinds": "labels",
    "lost": "unscored",
    "text_prompt": "ueval_text",
    "image_open_prompt": "ueval_image_open",
    "image_closed_prompt": "ueval_image_closed",
}
OFFICIAL = {"reading": "official", "without_media": "asked", "kinds": "released"}
TASK: dict[str, Any] = {
    "loader": "ueval",
    "dataset_path": "zlab-princeton/UEval",
    "test_split": "test",
    "output_modalities": ["text", "image"],
    "partial_output": True,
    "prompt": None,
    "placeholders": [],
    "missing_output": None,
    "profile": "standard",
    "repeats": 1,
    "generation_kwargs": {},
    "roles": {},
    "layout": "ueval",
}
CLOSED = ["ueval_space", "ueval_textbook", "ueval_diagram", "ueval_paper"]
OPEN = ["ueval_art", "ueval_life", "ueval_tech", "ueval_exercise"]


def test_the_metric_has_its_documented_switches_in_each_profile() -> None:
    metric = load_metric("ueval_rubric")
    assert (metric.switches, metric.profiles, metric.roles) == (
        DEFAULTS,
        {"official": OFFICIAL},
        ("judge",),
    )
    assert (metric.outputs, metric.range) == (("ueval_text", "ueval_image"), (0, 1))


def test_the_eight_tasks_ask_and_score_alike() -> None:
    files = choose(["ueval"], TaskIndex()).tasks
    assert list(files) == [*CLOSED, *OPEN]
    for name, file in files.items():
        keys = file.keys
        assert {key: getattr(keys, key) for key in TASK} == TASK, name
        assert keys.filter == {"ueval_task": name.removeprefix("ueval_")}
        assert (
            keys.protocol.name,
            [(one.metric, one.switches) for one in keys.metric_list],
        ) == (
            "single",
            [("ueval_rubric", {})],
        )
        (number,) = keys.numbers
        assert number.number == "ueval_score"
        assert number.of == ["ueval_image", "ueval_text"]
        assert number.combine == "mean"
        assert number.missing == "skip"
        assert (keys.expected.rows, keys.expected.totals) == (1000, {"criteria": 10417})


def test_each_task_counts_the_same_in_the_three_groups() -> None:
    for group, members in (
        ("ueval", [*CLOSED, *OPEN]),
        ("ueval_closed", CLOSED),
        ("ueval_open", OPEN),
    ):
        chosen = choose([group], TaskIndex())
        keys = chosen.group_files[group].keys
        assert (list(chosen.tasks), keys.layout) == (members, "ueval")
        metrics = [
            (one.metric, one.weight_by_size) for one in keys.aggregate_metric_list
        ]
        assert metrics == [
            ("ueval_score", False),
            ("ueval_image", False),
            ("ueval_text", False),
        ]


def test_the_published_retry_asks_a_hundred_times_and_is_never_the_default() -> None:
    assert until_all_kinds.__kwdefaults__ == {"tries": 100}
