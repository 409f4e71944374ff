import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mmeval.metric import bind
from mmeval.metrics.image import lpips as module
from mmeval.metrics.image.lpips import lpips
from mmeval.metrics.image.networks.lpips_network import LPIPS
from mmeval.records import Score, Trial
from tests.support.models import tiny, tiny_model
from tests.support.pictures import DAMAGED, even, noise, picture_trial
from tests.support.trials import missing_weights, score_of, scored_together, trial

ONE, OTHER = noise(96, 130), noise(96, 130, 5)
STANDARD, OFFICIAL = 0.6166542768478394, 0.3729862570762634
"""The distance by lpips 0.1.4 with the same weights, given numbers from -1 to 1, and
from 0 to 1."""


@cache
def model() -> dict[str, str]:
    return tiny("lpips", LPIPS)


def scored(trial: Trial, **switches: Any) -> Score:
    return score_of(lpips, trial, model=model(), **switches)


def test_the_distance_is_that_of_the_released_package() -> None:
    pair = picture_trial(ONE, reference=(OTHER,))
    for switches, distance in (({}, STANDARD), ({"lpips_range": "official"}, OFFICIAL)):
        score = scored(pair, **switches)
        assert score.evidence["distances"] == [pytest.approx(distance, abs=1e-6)]
        assert score.value == pytest.approx(1 - distance, abs=1e-6)
    assert scored(
        picture_trial(ONE, ONE, reference=(ONE, OTHER))
    ).value == pytest.approx(1 - STANDARD / 2, abs=1e-6)


def test_a_batch_of_any_sizes_scores_as_each_answer_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_PIXELS", 20_000)  # two batches of the first size
    sizes = [(96, 130), (31, 31), (40, 200), (96, 130), (96, 130)]
    trials = [
        picture_trial(noise(*size, at), reference=(ONE,))
        for at, size in enumerate(sizes)
    ]
    trials.insert(1, picture_trial(reference=(ONE,)))
    together = [
        score.value
        for score in scored_together(lpips, trials, model=model(), size="smaller")
    ]
    alone = [scored(one, size="smaller").value for one in trials]
    assert together == pytest.approx(alone, abs=1e-6)
    assert together[1] == 0


@pytest.mark.parametrize(
    "pictures",
    [(DAMAGED,), (ONE[:30],), (ONE[:40],)],
    ids=["bad", "small", "other size"],
)
def test_an_answer_without_the_picture_is_zero_or_dropped(
    pictures: tuple[Any, ...],
) -> None:
    wrong = picture_trial(*pictures, reference=(ONE,))
    score = scored(wrong)
    assert score.value == 0
    assert list(score.evidence) == ["reason"]
    assert scored(wrong, missing="dropped").status == "inapplicable"


def test_a_fault_of_the_data_is_unscored() -> None:
    small = even(30, 99, (1, 2, 3))
    for sample in (
        picture_trial(ONE),
        *(picture_trial(ONE, reference=(bad,)) for bad in (DAMAGED, small)),
        trial(None),
    ):
        assert scored(sample, missing="dropped").status == "unscored"


def test_weights_of_another_kind_are_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_model("lpips"), tmp_path / "lpips"))
    shutil.copy(folder / "alex.pth", folder / "alexnet-owt-7be5be79.pth")
    score = score_of(lpips, picture_trial(ONE, reference=(ONE,)), model=str(folder))
    assert score.value is None
    assert score.cause == "lost"
    assert "features.0.weight" in score.reason


def test_without_the_weights_it_says_where_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", "/nowhere")
    assert "ls metrics lpips" in missing_weights(bind(lpips))
