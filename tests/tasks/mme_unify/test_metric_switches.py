"""What decides about the numbers of MME-Unify has its documented value in each profile."""

from typing import Any

import pytest

from mmeval.metric.contract import load_metric

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
