"""What decides about ISG-Bench's numbers has its documented value; a default that is
changed without these fails."""

import inspect
from typing import Any

import pytest

from mmeval.metric.contract import load_metric
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose
from mmeval.tasks.isg.graph.protocol import isg_graph
from mmeval.tasks.isg.graph.stages import FORMS
from mmeval.tasks.isg.subtasks import CATEGORIES, TASKS

PAIRS = {
    f"{kind}_prompt": f"isg_block_{kind}" for kind in ("images", "texts", "text_image")
}
JUDGED = {"reading": "robust", "lost": "unscored", "analyze_first": False}
OFFICIAL = {"reading": "official"}
METRICS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "isg_structural": ({"reading": "robust"}, OFFICIAL),
    "isg_block": ({**JUDGED, **PAIRS}, OFFICIAL),
    "isg_image": (
        {**JUDGED, "dependencies": "followed", "prompt": "isg_image"},
        {**OFFICIAL, "dependencies": "never_asked"},
    ),
    "isg_holistic": (
        {**JUDGED, "with_golden": True, "prompt": "isg_holistic"},
        OFFICIAL,
    ),
    "isg_recorded": ({"reading": "robust"}, OFFICIAL),
}
TASK: dict[str, Any] = {
    "loader": "isg",
    "dataset_path": "shuaishuaicdp/ISG-Bench",
    "output_modalities": ["text", "image"],
    "partial_output": True,
    "prompt": None,
    "placeholders": [],
    "blocks": True,
    "missing_output": None,
    "profile": "standard",
    "repeats": 1,
    "generation_kwargs": {},
    "roles": {"judge": {"temperature": 0}},
    "layout": "isg",
}
LEVELS = ["isg_structural", "isg_block", "isg_image", "isg_holistic"]


@pytest.mark.parametrize("name", METRICS)
def test_each_metric_has_its_documented_switches_in_each_profile(name: str) -> None:
    metric = load_metric(name)
    assert (metric.switches, metric.profiles) == (
        METRICS[name][0],
        {"official": METRICS[name][1]},
    )


def test_the_21_tasks_ask_and_score_alike() -> None:
    files = choose(["isg"], TaskIndex()).tasks
    assert list(files) == [*TASKS]
    for name, file in files.items():
        keys = file.keys
        assert {key: getattr(keys, key) for key in TASK} == TASK, name
        assert keys.filter == {"category": TASKS[name]}
        assert [(one.metric, one.switches) for one in keys.metric_list] == [
            (level, {}) for level in LEVELS
        ]
    samples = [file.keys.expected.samples for file in files.values()]
    assert (
        sum(filter(None, samples)),
        {file.keys.expected.rows for file in files.values()},
    ) == (1150, {1150})


def test_samples_count_in_a_category_and_categories_in_the_whole() -> None:
    chosen = choose(["isg"], TaskIndex())
    for group, weighted in [
        ("isg", False),
        *((f"isg_{name}", True) for name in CATEGORIES),
    ]:
        keys = chosen.group_files[group].keys
        assert [
            (one.metric, one.weight_by_size) for one in keys.aggregate_metric_list
        ] == [(level, weighted) for level in LEVELS]
        assert keys.layout == "isg"
    for name, names in CATEGORIES.items():
        assert list(choose([f"isg_{name}"], TaskIndex()).tasks) == [
            f"isg_{task}" for task in names.subtasks.values()
        ]


def test_a_judge_file_is_read_by_a_task_of_its_own() -> None:
    (file,) = choose(["isg_recorded"], TaskIndex()).tasks.values()
    assert [one.metric for one in file.keys.metric_list] == ["isg_recorded"]
    assert (file.keys.dataset_kwargs, file.keys.filter) == (
        {"judge_file": "*_judge.jsonl"},
        {},
    )


def test_questions_are_written_by_a_task_of_its_own() -> None:
    (file,) = choose(["isg_graph"], TaskIndex()).tasks.values()
    keys = file.keys
    assert ([one.metric for one in keys.metric_list], keys.protocol.name) == (
        ["isg_graph"],
        "isg_graph",
    )
    assert (keys.output_modalities, keys.generation_kwargs, keys.layout) == (
        ["text"],
        {"temperature": 0},
        "",
    )
    assert load_metric("isg_graph").switches == {"alike": 0.5}
    options = {
        name: one.default
        for name, one in inspect.signature(isg_graph).parameters.items()
        if name != "ask"
    }
    prompts = {f"{name}_prompt": f"isg_graph_{name}" for name in (*FORMS, "caption")}
    assert options == {
        "block_pictures": False,
        "image_pictures": True,
        "examples": 2,
        **prompts,
    }
