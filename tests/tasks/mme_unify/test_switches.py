"""What decides about MME-Unify's numbers has its documented value; a default that is
changed without these fails."""

from typing import Any

import pytest

from mmeval.metric.contract import load_metric
from mmeval.task.index import TaskIndex
from mmeval.task.selection import choose

SHARED: dict[str, Any] = {
    "loader": "mme_unify",
    "placeholders": [],
    "partial_output": False,
    "missing_output": None,
    "profile": "standard",
    "repeats": 1,
    "generation_kwargs": {},
    "roles": {},
    "layout": "mme_unify",
}
UNDERSTANDING = ("sipu", "mitiu", "vpu")
GENERATION = ("civg", "fir", "tie", "tig", "tvg", "vp")
UNIFY = ("iee", "csq", "al", "sd", "vcot")
CLIP_I = ("clip_image_similarity", {"size": "smaller", "missing": "dropped"})
CLIP_T = (
    "clip_text_similarity",
    {"text_key": "Text_Prompt", "size": "smaller", "missing": "dropped"},
)
LPIPS = ("lpips", {"size": "smaller", "lpips_range": "official", "missing": "dropped"})
CLIP: list[tuple[str, dict[str, Any]]] = [
    (f"mme_unify_{name}", {}) for name in ("fvd", "fid", "clipsim")
]
CHOICE: dict[str, list[tuple[str, dict[str, Any]]]] = {
    name: [
        ("mme_unify_choice", {"script": name}),
        ("mme_unify_image", {"script": name}),
        ("mme_unify_plus", {"of": ["mme_unify_choice", "mme_unify_image"]}),
    ]
    for name in ("csq", "al", "sd")
}
LISTS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    **{
        name: [("mme_unify_choice", {"script": "understanding"})]
        for name in UNDERSTANDING
    },
    **dict.fromkeys(("civg", "tvg"), CLIP),
    "vp": CLIP[:2],
    "fir": [LPIPS, ("psnr", {"size": "smaller", "missing": "dropped"})],
    "tie": [CLIP_I, CLIP_T],
    "tig": [CLIP_I, CLIP_T, LPIPS],
    "iee": [
        ("mme_unify_explanation", {}),
        ("mme_unify_image", {"script": "iee"}),
        ("mme_unify_plus", {"of": ["mme_unify_explanation", "mme_unify_image"]}),
    ],
    **CHOICE,
    "vcot": [
        ("mme_unify_maze", {}),
        ("mme_unify_maze_image", {}),
        (
            "mme_unify_plus",
            {"of": ["mme_unify_action", "mme_unify_location", "mme_unify_maze_image"]},
        ),
    ],
}
SCORES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(UNDERSTANDING, ("mme_unify_choice",)),
    **dict.fromkeys(
        ("civg", "tvg"), ("mme_unify_fvd", "mme_unify_fid", "mme_unify_clipsim")
    ),
    "vp": ("mme_unify_fvd", "mme_unify_fid"),
    "fir": ("lpips",),
    **dict.fromkeys(("tie", "tig"), ("clip_image_similarity", "clip_text_similarity")),
    "iee": ("mme_unify_explanation", "mme_unify_image"),
    **dict.fromkeys(CHOICE, ("mme_unify_choice", "mme_unify_image")),
    "vcot": ("mme_unify_action", "mme_unify_location", "mme_unify_maze_image"),
}
ROWS = {
    **{"sipu": (1964, 1200), "mitiu": (1964, 400), "vpu": (1964, 364)},
    **{
        "civg": (1594, 200),
        "fir": (1594, 200),
        "tie": (1594, 600),
        "tig": (1594, 200),
        "tvg": (1594, 131),
    },
    **{
        "vp": (1594, 194),
        "iee": (200, 200),
        "csq": (101, 101),
        "al": (52, 52),
        "sd": (100, 100),
        "vcot": (90, 90),
    },
}
"""Rows of the question file, and how many of them are asked."""


def test_the_tasks_ask_and_score_as_the_documentation_says() -> None:
    files = {
        name.removeprefix("mme_unify_"): file
        for name, file in choose(["mme_unify"], TaskIndex()).tasks.items()
    }
    assert list(files) == [*UNDERSTANDING, *GENERATION, *UNIFY]
    for name, file in files.items():
        keys = file.keys
        assert {key: getattr(keys, key) for key in SHARED} == SHARED, name
        assert (keys.fewer_inputs.video_frames, keys.fewer_inputs.first_picture) == (
            6,
            True,
        )
        assert [(one.metric, one.switches) for one in keys.metric_list] == LISTS[
            name
        ], name
        (number,) = keys.numbers
        assert (number.number, tuple(number.of), number.combine) == (
            "mme_unify_score",
            SCORES[name],
            "mean",
        )
        assert number.missing == ("inapplicable" if name == "tvg" else "unknown")
        assert (keys.expected.rows, keys.expected.samples) == ROWS[name]
        aggregations = {
            one.aggregation.name
            for one in keys.metric_list
            if one.metric != "mme_unify_plus"
        }
        assert aggregations == {"mme_unify_steps" if name == "vcot" else "mean"}
        assert keys.protocol.name == ("maze" if name == "vcot" else "single")
        assert (keys.cluster_key == "question_key") == (name in UNDERSTANDING)
    assert files["tvg"].keys.filter == {"mme_unify_task": "tvg", "usable": True}


def test_the_groups_are_plain_means_in_which_what_a_model_cannot_do_is_zero() -> None:
    groups = choose(["mme_unify"], TaskIndex()).groups
    assert set(groups) == {
        "mme_unify",
        *(f"mme_unify_{part}" for part in ("understanding", "generation", "unify")),
    }
    for group in groups.values():
        (number,) = group.metrics
        assert (number.metric, number.weight_by_size, number.counts_absent) == (
            "mme_unify_score",
            False,
            True,
        )


L14, B32 = "openai/clip-vit-large-patch14", "openai/clip-vit-base-patch32"
SHOWN = {"model": B32, "tie": "wrong", "vectors": ""}
METRICS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mme_unify_choice": (
        {"script": "understanding", "reading": "letter"},
        {"reading": "released"},
    ),
    "mme_unify_maze": ({"vcot": "paper"}, {"vcot": "official"}),
    "clip_image_similarity": (
        {"model": L14, "size": "own", "missing": "zero", "vectors": ""},
        {},
    ),
    "clip_text_similarity": (
        {"model": L14, "text_key": "", "size": "own", "missing": "zero", "vectors": ""},
        {},
    ),
    "lpips": (
        {
            "model": "richzhang/PerceptualSimilarity",
            "size": "own",
            "lpips_range": "standard",
            "missing": "zero",
        },
        {},
    ),
    "psnr": ({"size": "own", "most": 100.0, "missing": "zero"}, {}),
    "mme_unify_image": (
        {**SHOWN, "script": "csq", "files": "strict"},
        {"tie": "first", "files": "released"},
    ),
    "mme_unify_explanation": (
        {**SHOWN, "letters": "written", "sides": "alone"},
        {"tie": "first", "letters": "places", "sides": "both"},
    ),
    "mme_unify_maze_image": (
        {**SHOWN, "vcot": "paper", "step_images": "before"},
        {"vcot": "official", "tie": "first"},
    ),
    "mme_unify_plus": ({"of": ()}, {}),
    "mme_unify_fvd": ({"model": "timm/resnet50.tv_in1k", "missing": "dropped"}, {}),
    "mme_unify_fid": (
        {
            "model": "timm/inception_v3.tv_in1k",
            "tvg_fid": "first_ref_frame",
            "missing": "dropped",
        },
        {"tvg_fid": "none"},
    ),
    "mme_unify_clipsim": (
        {"model": L14, "text_key": "Text_Prompt", "missing": "dropped", "vectors": ""},
        {},
    ),
}


@pytest.mark.parametrize("name", METRICS)
def test_each_metric_has_its_documented_switches_in_each_profile(name: str) -> None:
    metric = load_metric(name)
    standard, official = METRICS[name]
    assert (dict(metric.switches), dict(metric.profiles)) == (
        standard,
        {"official": official} if official else {},
    )
