import json
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mmeval.errors import UsageError
from mmeval.metric import WeightsError, bind
from mmeval.metrics.image import dreamsim_network
from mmeval.metrics.image.dreamsim import DREAMSIM, dreamsim
from mmeval.metrics.image.dreamsim_network import embeddings, loaded_ensemble
from mmeval.metrics.image.pictures import picture
from mmeval.records import Score, Trial
from tests.support.models import tiny, tiny_model
from tests.support.pictures import DAMAGED, even, noise, painted, picture_trial
from tests.support.trials import missing_weights, score_of, scored_together, trial

RED = even(64, 64, (255, 0, 0))
EDITED = painted(noise(120, 160), slice(20, 60), slice(30, 90), (0, 0, 255))


@cache
def ensemble() -> dict[str, str]:
    return tiny("dreamsim", DREAMSIM)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the ensemble, to be changed."""
    return Path(shutil.copytree(tiny_model("dreamsim"), tmp_path / "dreamsim"))


def scored(trial: Trial, **switches: Any) -> Score:
    return score_of(dreamsim, trial, model=ensemble(), **switches)


def test_the_distance_is_that_of_the_released_package() -> None:
    """dreamsim 0.2.1 with the same weights."""
    pairs = [
        (noise(120, 160), noise(90, 90, 5)),
        (noise(120, 160), RED),
        (noise(120, 160), EDITED),
    ]
    scores = [scored(picture_trial(one, reference=(other,))) for one, other in pairs]
    distances = [0.1780338, 1.0050216, 0.0083393]
    assert [score.evidence["distance"] for score in scores] == pytest.approx(
        distances, abs=1e-5
    )
    assert [score.value for score in scores] == pytest.approx(
        [1 - distance for distance in distances], abs=1e-5
    )
    trials = [
        picture_trial(one, reference=(EDITED,))
        for one in (EDITED, RED, noise(20, 300), even(1, 1, (9, 9, 9)))
    ]
    trials.insert(1, picture_trial(reference=(EDITED,)))
    together = [
        score.value for score in scored_together(dreamsim, trials, model=ensemble())
    ]
    assert together[:2] == [pytest.approx(1), 0]
    assert together == pytest.approx([scored(one).value for one in trials], abs=1e-6)


def test_the_only_or_the_last_picture_or_a_padded_box_of_it_is_compared() -> None:
    two = picture_trial(RED, EDITED, given=(EDITED,), reference=(RED,))
    assert list(scored(two).evidence) == ["reason"]
    assert scored(two, pictures="last").value != pytest.approx(1, abs=0.1)
    assert scored(two, pictures="last", against="input").value == pytest.approx(1)
    elsewhere = painted(EDITED, slice(100, 120), slice(130, 160), (255, 255, 0))
    asked = picture_trial(
        elsewhere,
        given=(RED,),
        reference=(EDITED,),
        bbox=[30, 20, 90, 60],
        other=[99, 99, 140, 110],
    )
    resized = picture_trial(
        np.repeat(np.repeat(EDITED, 2, 0), 2, 1),
        reference=(EDITED,),
        bbox=[30, 20, 90, 60],
    )
    assert scored(asked, region="bbox").value == pytest.approx(1)
    assert scored(resized, region="bbox").value == pytest.approx(1, abs=0.02)
    changed: list[dict[str, Any]] = [
        {"region": "whole"},
        {"margin": 2},
        {"bbox_key": "other"},
        {"against": "input"},
    ]
    for switches in changed:
        changed_score = scored(asked, **{"region": "bbox", **switches})
        assert changed_score.value != pytest.approx(1, abs=1e-6), switches


def test_without_the_picture_it_is_zero_or_unscored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for answer, pictures in (([], "only"), ([], "last"), ([DAMAGED], "last")):
        score = scored(
            picture_trial(*answer, reference=(RED,)),
            pictures=pictures,
        )
        assert score.value == 0
        assert list(score.evidence) == ["reason"]
    assert scored(trial(None), pictures="last").status == "unscored"
    no_box = picture_trial(RED, reference=(RED,))
    assert scored(picture_trial(RED)).status == "unscored"
    assert scored(picture_trial(RED, reference=(DAMAGED,))).status == "unscored"
    reason = scored(no_box, region="bbox").reason
    assert (
        reason == bind(dreamsim, {"region": "bbox"}).sample_fault(no_box.sample) != ""
    )
    assert bind(dreamsim).sample_fault(no_box.sample) == ""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", "/nowhere")
    assert missing_weights(bind(dreamsim)).startswith("ssundaram21/dreamsim: ")


def test_the_transformer_of_dino_may_be_inside_the_full_checkpoint_but_not_its_head_alone(
    folder: Path,
) -> None:
    import torch

    own = folder / "checkpoints" / "dino_vitbase16_pretrain.pth"
    weights = torch.load(own, weights_only=True)
    teacher = {f"backbone.{name}": tensor for name, tensor in weights.items()}
    torch.save({"teacher": teacher, "student": {}}, folder / "dino_vitb16_pretrain.pth")
    before = embeddings(loaded_ensemble(folder, "cpu"), [picture(EDITED)])
    own.unlink()
    assert (
        embeddings(loaded_ensemble(folder, "cpu"), [picture(EDITED)]).tolist()
        == before.tolist()
    )
    torch.save(
        {"student": {"module.head.mlp.0.bias": torch.zeros(1)}},
        folder / "dino_vitb16_pretrain.pth",
    )
    with pytest.raises(UsageError, match=r"dino_vitbase16_pretrain\.pth .*checkpoints"):
        loaded_ensemble(folder, "cpu")


def test_corrections_are_added_and_none_may_lack(folder: Path) -> None:
    before = embeddings(loaded_ensemble(folder, "cpu"), [picture(EDITED)])
    settings = folder / "ensemble_lora" / "adapter_config.json"
    settings.write_text(
        json.dumps({**json.loads(settings.read_text()), "lora_alpha": 0.1})
    )
    assert (
        embeddings(loaded_ensemble(folder, "cpu"), [picture(EDITED)]).tolist()
        != before.tolist()
    )
    (folder / "ensemble_lora" / "adapter_model.safetensors").write_bytes(
        b"\x02\0\0\0\0\0\0\0{}"
    )
    with pytest.raises(WeightsError, match="corrections"):
        loaded_ensemble(folder, "cpu")
    with pytest.raises(ValueError, match="towers"):
        dreamsim_network._corrected_layer("towers.0.lora_A.weight")


def test_a_transformer_without_some_of_its_weights_is_refused(folder: Path) -> None:
    import torch

    own = folder / "checkpoints" / "dino_vitbase16_pretrain.pth"
    weights = torch.load(own, weights_only=True)
    del weights["blocks.0.norm1.bias"]
    torch.save(weights, own)
    with pytest.raises(WeightsError, match="norm1"):
        loaded_ensemble(folder, "cpu")
