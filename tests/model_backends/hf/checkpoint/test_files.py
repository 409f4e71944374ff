from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from mmeval.dataset import hub
from mmeval.errors import MissingDataError, UsageError
from mmeval.model_backends.hf.checkpoint import files
from mmeval.model_backends.hf.checkpoint.files import PIPELINE_INDEX, ModelFiles, find_files, find_model, unneeded
from mmeval.model_backends.hf.settings import Settings

COMMIT = "c" * 40


def model(folder: Path, **contents: str) -> Path:
    """A folder with a configuration and what else is given; ``__`` in a name is a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"config__json": '{"model_type": "toy"}', **contents}.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def fingerprint(folder: Path) -> str:
    return ModelFiles("toy", folder).fingerprint


def test_a_fingerprint_does_not_depend_on_the_place_of_the_folder(tmp_path: Path) -> None:
    here = model(tmp_path / "here", model__safetensors="weights")
    shutil.copytree(here, there := tmp_path / "there" / "deeper")
    assert fingerprint(here) == fingerprint(there)


def test_a_folder_has_no_revisions(tmp_path: Path) -> None:
    model(tmp_path)
    with pytest.raises(UsageError, match="is a folder"):
        find_files(str(tmp_path), "v2")


def test_what_is_hidden_is_no_part_of_a_fingerprint(tmp_path: Path) -> None:
    before = fingerprint(model(tmp_path, model__safetensors="weights"))
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "lock").write_text("")
    assert fingerprint(tmp_path) == before


@pytest.mark.parametrize("changed", ["config.json", "model.safetensors"])
def test_a_fingerprint_changes_with_one_byte(changed: str, tmp_path: Path) -> None:
    before = fingerprint(model(tmp_path, model__safetensors="weights"))
    path = tmp_path / changed
    path.write_bytes(path.read_bytes()[:-1] + b"!")
    assert fingerprint(tmp_path) != before


@pytest.mark.parametrize(("at", "seen"), [(0, True), (9, False), (16, True), (30, False)])
def test_of_large_weights_some_parts_are_taken(
    at: int, seen: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "WHOLE_BYTES", 8)
    monkeypatch.setattr(files, "SAMPLE_STEP", 16)
    monkeypatch.setattr(files, "SAMPLE_BYTES", 4)
    before = fingerprint(model(tmp_path, model__safetensors="x" * 40))
    (tmp_path / "model.safetensors").write_text("x" * at + "y" + "x" * (39 - at))
    assert (fingerprint(tmp_path) != before) == seen


def test_of_large_weights_the_small_files_beside_them_are_taken_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "WHOLE_BYTES", 8)
    monkeypatch.setattr(files, "SAMPLE_BYTES", 4)
    before = fingerprint(model(tmp_path, model__safetensors="x" * 40))
    (tmp_path / "config.json").write_text('{"model_type": "boy"}')
    assert fingerprint(tmp_path) != before


def test_the_fingerprint_of_a_snapshot_is_its_commit(tmp_path: Path) -> None:
    assert ModelFiles("me/toy", tmp_path, COMMIT).fingerprint == COMMIT


def test_a_folder_is_a_model_of_its_own_name(tmp_path: Path) -> None:
    found = find_files(f"{model(tmp_path / 'toy')}/", "main")
    assert (found.name, found.commit, found.model_type) == ("toy", "", "toy")


@pytest.mark.parametrize(
    "given", ["./absent", "/absent/model", "~/absent", "~no-such-user/absent", f"/{'a' * 300}", "a/b/c"]
)
def test_a_folder_that_is_not_there_is_not_looked_for_on_the_hub(given: str) -> None:
    with pytest.raises(MissingDataError, match=r"there is no such folder; give one with config\.json"):
        find_files(given, "main")


@pytest.mark.parametrize(
    ("there", "advice"),
    [
        (PIPELINE_INDEX, "run it with --model diffusers"),
        ("adapter_config.json", "merge it into its base model"),
        ("notes.md", "give the folder that save_pretrained has written"),
    ],
)
def test_a_folder_without_a_model_says_what_it_holds(there: str, advice: str, tmp_path: Path) -> None:
    (tmp_path / there).write_text("{}")
    with pytest.raises(MissingDataError, match=rf"config\.json: there is no such file; .*{advice}"):
        find_files(str(tmp_path), "main")


def test_a_folder_with_a_model_where_a_pipeline_is_wanted_says_so(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="run it with --model hf"):
        find_files(str(model(tmp_path)), "main", index=PIPELINE_INDEX)


@pytest.mark.parametrize(
    ("written", "message"),
    [("{", "it cannot be read"), ("[" * 100_000, "it cannot be read"), ("[]", "a JSON object is expected")],
    ids=["cut", "deep", "a list"],
)
def test_a_configuration_that_is_none_is_refused(written: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(written)
    with pytest.raises(UsageError, match=message):
        find_files(str(tmp_path), "main")


def test_what_the_hub_does_not_have_is_not_a_folder_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        hub, "snapshot", lambda *args, **more: _raise(MissingDataError("me/toy at main: no such model"))
    )
    with pytest.raises(MissingDataError, match=r"no such model\. A folder of that name is not here either"):
        find_files("me/toy", "main")


def test_a_bare_model_that_cannot_be_had_says_whose_it_is_and_what_else_there_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hub, "snapshot", lambda *args, **more: _raise(MissingDataError("not in the cache")))
    with pytest.raises(MissingDataError, match=r"bare --model hf.*=FOLDER.*pretrained=tiny needs no download"):
        find_model(Settings())


def _raise(error: Exception) -> None:
    raise error


@pytest.mark.parametrize(
    ("names", "spare"),
    [
        (["config.json", "model.safetensors", "pytorch_model.bin"], ["pytorch_model.bin"]),
        (["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"], []),
        (["model.safetensors", "spk_dict.pt", "vocab.bpe"], []),
        (["model.safetensors", "model.fp16.safetensors"], ["model.fp16.safetensors"]),
        (["model.fp16.safetensors"], []),
        (["unet/a.safetensors", "vae/diffusion_pytorch_model.bin"], []),
        (["model_index.json", "vae_1_0/a.safetensors", "vae_1_0/config.json"], ["vae_1_0/a.safetensors"]),
        (["model_index.json", "README.md", "v1-pruned.ckpt", "unet/a.safetensors"], ["README.md", "v1-pruned.ckpt"]),
        (
            ["m/model-00001-of-00002.safetensors", "m/model.bf16-00001-of-00002.safetensors"],
            ["m/model.bf16-00001-of-00002.safetensors"],
        ),
    ],
    ids=[
        "old format",
        "only old",
        "beside weights",
        "variant",
        "only variant",
        "by folder",
        "beside parts",
        "pipeline",
        "parts",
    ],
)
def test_weights_are_fetched_once(names: list[str], spare: list[str]) -> None:
    assert unneeded(names, {"unet", "vae"})[len(files.OTHER_WEIGHTS) :] == spare


def snapshot_of(folder: Path, contents: Mapping[str, str], monkeypatch: pytest.MonkeyPatch) -> ModelFiles:
    """A snapshot that has these files once everything is fetched."""
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(hub, "file_names", lambda *args, **more: list(contents))
    monkeypatch.setattr(hub, "snapshot", lambda *args, **more: folder)
    return ModelFiles("me/toy", folder, COMMIT)


PARTS = json.dumps({"_class_name": ["mine", "Mine"], "unet": ["diffusers", "UNet"], "vae": ["diffusers", "VAE"]})
INDEXED = json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})


@pytest.mark.parametrize(
    ("contents", "lacking"),
    [
        ({"config.json": "{}"}, "no weights in what"),
        (
            {"config.json": "{}", "m.safetensors.index.json": INDEXED, "m-1.safetensors": ""},
            "no weights m-2.safetensors in what",
        ),
        (
            {"model_index.json": PARTS, "unet/config.json": "{}", "vae/config.json": "{}", "vae/a.safetensors": ""},
            "no weights in unet in what",
        ),
    ],
    ids=["none", "one part", "one component"],
)
def test_a_snapshot_that_is_not_whole_is_said(
    contents: dict[str, str], lacking: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = snapshot_of(tmp_path, contents, monkeypatch)
    with pytest.raises(MissingDataError, match=f"me/toy at {COMMIT}: there are {lacking}"):
        found.fetch_weights()


def test_a_whole_snapshot_and_a_folder_of_the_user_lack_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {"config.json": "{}", "m.safetensors": "", "m.safetensors.index.json": '{"weight_map": null}'}
    snapshot_of(tmp_path / "hub", contents, monkeypatch).fetch_weights()
    parts = {"model_index.json": PARTS, "vae/config.json": "{}", "vae/a.safetensors": ""}
    beside = {"vae_decoder/config.json": "{}", "old/m.safetensors.index.json": INDEXED}
    snapshot_of(tmp_path / "pipeline", parts | beside, monkeypatch).fetch_weights()
    ModelFiles("toy", model(tmp_path / "mine")).fetch_weights()
