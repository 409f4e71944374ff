import pytest
import torch

from mmeval.metric import device


def test_models_of_metrics_keep_all_digits_of_float32_on_cuda(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "_used", "")
    monkeypatch.setattr(device, "_requested", device.AUTO)
    for name, kept in (("cpu", False), ("cuda", True)):
        monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", True)
        monkeypatch.setattr(device, "_usual", lambda name=name: name)
        assert (device.metric_device(), not torch.backends.cudnn.allow_tf32) == (
            name,
            kept,
        )
