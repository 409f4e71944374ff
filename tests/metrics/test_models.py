import pickle
import shutil
from pathlib import Path

import pytest

from mmeval.metric import WeightsError, loaded
from mmeval.metric.model import bound_model
from mmeval.metric.model_files import WEIGHTS_DIR
from mmeval.metrics.audio.speech.voices import VOICE, _speaker_model
from mmeval.metrics.models import network_of, opening
from tests.support.models import tiny_model

KINDS = {"wavlm_sv": "WavLMForXVector", "clap": "ClapModel"}


def changed(name: str, folder: Path, *, without: int = 0, flat: int = 0) -> Path:
    """A copy of a tiny model that lacks some of its weights, or has some in another
    shape."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(tiny_model(name), folder)
    weights = load_file(folder / "model.safetensors")
    for key in [
        key
        for key in sorted(weights)
        if "masked_spec_embed" not in key and weights[key].ndim
    ][:without]:
        del weights[key]
    for key in [key for key in sorted(weights) if weights[key].ndim > 1][:flat]:
        weights[key] = weights[key].flatten().clone()
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    return folder


@pytest.mark.parametrize(
    ("change", "words"),
    [({"without": 4}, r"\d+ more"), ({"flat": 1}, r"1 of .* \[\d+\] instead of \[")],
)
def test_weights_that_lack_or_have_another_shape_are_fatal(
    change: dict[str, int], words: str, tmp_path: Path
) -> None:
    with pytest.raises(WeightsError, match=words) as caught:
        network_of(
            "WavLMForXVector",
            changed("wavlm_sv", tmp_path / "changed", **change),
            "cpu",
        )
    assert caught.value.folder == tmp_path / "changed"
    assert caught.value.model == ""


@pytest.mark.parametrize("name", KINDS)
def test_whole_weights_under_the_names_of_older_files_are_used(
    name: str, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    folder = changed(name, tmp_path / "older")
    weights = load_file(folder / "model.safetensors")
    older = {
        "parametrizations.weight.original0": "weight_g",
        "parametrizations.weight.original1": "weight_v",
    }
    for new, old in older.items():
        weights = {key.replace(new, old): tensor for key, tensor in weights.items()}
    unused = [
        key
        for key in weights
        if key.endswith(("masked_spec_embed", "num_batches_tracked"))
    ]
    kept = {key: tensor for key, tensor in weights.items() if key not in unused}
    save_file(
        {**kept, "unknown": kept[min(kept)].clone()},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    assert not network_of(KINDS[name], folder, "cpu").training


def test_a_damaged_file_and_a_model_of_another_kind_are_refused(tmp_path: Path) -> None:
    file = changed("wavlm_sv", tmp_path / "cut") / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises(WeightsError, match=r"model\.safetensors .*damaged"):
        network_of("WavLMForXVector", file.parent, "cpu")
    with pytest.raises(WeightsError, match=r"'whisper'.* 'wavlm'"):
        network_of("WavLMForXVector", tiny_model("whisper"), "cpu")


def test_memory_that_runs_out_while_files_are_read_is_no_fault_of_them(
    tmp_path: Path,
) -> None:
    with pytest.raises(RuntimeError, match="out of memory"), opening(tmp_path):
        raise RuntimeError("CUDA out of memory")


def test_a_model_of_the_hub_is_named_with_the_file_to_delete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = changed("wavlm_sv", tmp_path / "microsoft" / "wavlm-base-sv", without=2)
    monkeypatch.setenv(WEIGHTS_DIR, str(tmp_path))
    value = bound_model("microsoft/wavlm-base-sv", VOICE)
    with pytest.raises(WeightsError) as first:
        loaded(value, _speaker_model)
    assert first.value.name == "microsoft/wavlm-base-sv"
    assert f"delete {folder}/model.safetensors" in first.value.how_to_fix
    shutil.rmtree(folder)
    with pytest.raises(
        WeightsError
    ) as second:  # it is not opened again for each answer
        loaded(value, _speaker_model)
    assert str(pickle.loads(pickle.dumps(second.value))) == str(first.value)
