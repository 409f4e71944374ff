"""ResNet-50 and Inception-v3 against torchvision 0.28 with the same weights, for the
same pictures."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from mmeval.metric import WeightsError
from mmeval.metrics.image.networks.convolutions import squeezed
from mmeval.metrics.image.networks.inception_v3 import (
    inception_v3,
    inception_v3_features,
)
from mmeval.metrics.image.networks.resnet50 import resnet50, resnet50_features
from tests.support.models import tiny_model
from tests.support.pictures import noise

PICTURES = (noise(120, 160), noise(90, 90, 5))
Load = Callable[[Path, str], Any]
NETWORKS: list[Any] = [
    pytest.param("resnet50", resnet50, id="resnet50"),
    pytest.param("inception_v3", inception_v3, id="inception_v3"),
]


def test_resnet50_gives_the_features_of_torchvision() -> None:
    found = np.stack(
        resnet50_features(
            resnet50(tiny_model("resnet50"), "cpu"),
            [squeezed(p, 224) for p in PICTURES],
        )
    )
    first = [
        [0.1039791, 0.7058823, 1.2799715, 5.9312925],
        [0.1314005, 0.5924405, 1.1071359, 6.1835270],
    ]
    np.testing.assert_allclose(found[:, :4], first, atol=1e-5)
    np.testing.assert_allclose(found.sum(1), [136.2917786, 134.1752319], atol=1e-3)


def test_inception_v3_gives_the_features_of_torchvision() -> None:
    network = inception_v3(tiny_model("inception_v3"), "cpu")
    found = np.stack(
        inception_v3_features(network, [squeezed(p, 299) for p in PICTURES])
    )
    np.testing.assert_allclose(found[:, 1], [0.1880731, 0.1861928], atol=1e-6)
    np.testing.assert_allclose(found.sum(1), [0.5750120, 0.6048523], atol=1e-5)


@pytest.mark.parametrize(("name", "load"), NETWORKS)
def test_a_checkpoint_of_torch_is_the_same_network(
    name: str, load: Load, tmp_path: Path
) -> None:
    torch.save(
        load_file(tiny_model(name) / "model.safetensors"),
        tmp_path / "pytorch_model.bin",
    )
    one, other = load(tiny_model(name), "cpu"), load(tmp_path, "cpu")
    assert one.convolutions.keys() == other.convolutions.keys()
    assert all(
        torch.equal(one[layer].weight, other[layer].weight)
        for layer in one.convolutions
    )


@pytest.mark.parametrize(("name", "load"), NETWORKS)
def test_incomplete_and_damaged_weights_are_refused(
    name: str, load: Load, tmp_path: Path
) -> None:
    weights = load_file(tiny_model(name) / "model.safetensors")
    lacking = next(layer for layer in sorted(weights) if layer.endswith("running_var"))
    save_file(
        {layer: tensor for layer, tensor in weights.items() if layer != lacking},
        tmp_path / "model.safetensors",
    )
    with pytest.raises(WeightsError, match=lacking):
        load(tmp_path, "cpu")
    (tmp_path / "model.safetensors").write_bytes(b"\x00" * 100)
    with pytest.raises(WeightsError):
        load(tmp_path, "cpu")


def test_no_code_of_a_checkpoint_is_run(tmp_path: Path) -> None:
    class Harmful:
        def __reduce__(self) -> tuple[Any, ...]:
            return shutil.rmtree, (str(tmp_path / "kept"),)

    (tmp_path / "kept").mkdir()
    torch.save({"conv1.weight": Harmful()}, tmp_path / "pytorch_model.bin")
    with pytest.raises(WeightsError):
        resnet50(tmp_path, "cpu")
    assert (tmp_path / "kept").is_dir()
