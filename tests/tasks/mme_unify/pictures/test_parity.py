"""The cases of the specification in both profiles: metrics through the verb ``metric``,
and the plain functions."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from mmeval.metrics.image.smaller import at_smaller_size
from mmeval.tasks.mme_unify.video import (
    even_indices,
    feature_distance,
    usable,
    video_score,
)
from tests.support.cli import mmeval

CASES = Path(os.environ["MMEVAL_MME_UNIFY_CASES"])
METRICS = ("psnr", "mme_unify_explanation", "mme_unify_image", "mme_unify_maze_image")
EXPECTED: dict[str, Any] = json.loads((CASES / "expected.json").read_text("utf-8"))
ARITHMETIC: dict[str, Any] = json.loads((CASES / "arithmetic.json").read_text("utf-8"))


@pytest.mark.parametrize("profile", ["standard", "official"])
@pytest.mark.parametrize("metric", METRICS)
def test_each_case_has_its_value(metric: str, profile: str) -> None:
    done = mmeval(
        "try",
        "metric",
        metric,
        "--cases",
        CASES / f"{metric}.jsonl",
        "--json",
        "--profile",
        profile,
    )
    found = {
        row["name"]: row["value"] for row in map(json.loads, done.out.splitlines())
    }
    wanted = {
        name: by[profile][metric]
        for name, by in EXPECTED[metric].items()
        if profile in by
    }
    assert wanted
    assert {name: found[name] for name in wanted} == pytest.approx(
        wanted, abs=1e-3 if metric == "psnr" else 1e-6
    )


def test_scores_distances_indices_and_usable_rows() -> None:
    for case in ARITHMETIC["video_scores"]:
        assert video_score(
            case["raw"], equal_means_100=case["equal_means_100"]
        ) == pytest.approx(case["scores"])
    for case in ARITHMETIC["feature_distance"].values():
        assert feature_distance(*case["in"]) == pytest.approx(case["out"], abs=1e-6)
    for name, indices in ARITHMETIC["even_indices"].items():
        frames, _, wanted = name.partition("x")
        assert even_indices(int(frames), int(wanted)) == indices
    for case in ARITHMETIC["usable_rows"]:
        assert (usable(case["item"], "tvg"), usable(case["item"], "civg")) == (
            case["t2v"],
            case["i2v"],
        )


def test_pictures_at_the_smaller_size() -> None:
    for case in ARITHMETIC["smaller"]:
        pictures = [
            np.asarray(Image.open(CASES / case[side]).convert("RGB"))
            for side in ("one", "other")
        ]
        one, other = at_smaller_size(*pictures)
        assert [*one.shape[:2]] == [*other.shape[:2]] == case["size_hw"]
        assert np.abs(one - other).mean() == pytest.approx(
            case["mean_abs_difference"], abs=1e-6
        )
        assert -10 * np.log10(((one - other) ** 2).mean()) == pytest.approx(
            case["psnr"], abs=1e-3
        )
