import json
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from mmeval.dataset import hub
from mmeval.errors import MissingDataError, UsageError
from mmeval.model_backends.hf.checkpoint import files
from mmeval.model_backends.hf.checkpoint.files import (
    PIPELINE_INDEX,
    ModelFiles,
    find_files,
    find_model,
    unneeded,
)
from mmeval.model_backends.hf.settings import HFSettings

COMMIT = "c" * 40


def model(folder: Path, **contents: str) -> Path:
    """A folder with a configuration and other files; ``__`` in a name is a dot."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in {"config__json": '{"model_type": "toy"}', **contents}.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


def fingerprint(folder: Path) -> str:
    return ModelFiles("toy", folder).fingerprint


def test_a_fingerprint_depends_neither_on_the_place_of_the_folder_nor_on_hidden_files(
    tmp_path: Path,
) -> None:
    here = model(tmp_path / "here", model__safetensors="weights")
    shutil.copytree(here, there := tmp_path / "there" / "deeper")
    (here / ".cache").mkdir()
    (here / ".cache" / "lock").write_text("")
    assert fingerprint(here) == fingerprint(there)
    assert ModelFiles("me/toy", here, COMMIT).fingerprint == COMMIT
    found = find_files(f"{model(tmp_path / 'toy')}/", "main")
    assert found.name == "toy"
    assert found.commit == ""
    assert found.model_type == "toy"
    with pytest.raises(UsageError, match="folder"):
        find_files(str(tmp_path / "toy"), "v2")


WEIGHTS = ("model.safetensors", "x" * 40)
CONFIG = ("config.json", '{"model_type": "toys!"}')


@pytest.mark.parametrize(
    ("file", "large", "at", "seen"),
    [
        *(
            (WEIGHTS, 8, at, seen)
            for at, seen in ((0, True), (9, False), (16, True), (30, False))
        ),
        (WEIGHTS, 99, 30, True),
        (CONFIG, 8, 20, True),
    ],
)
def test_a_fingerprint_has_every_byte_of_small_files_and_some_parts_of_large_weights(
    file: tuple[str, str],
    large: int,
    at: int,
    seen: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, size in (
        ("WHOLE_BYTES", large),
        ("SAMPLE_STEP", 16),
        ("SAMPLE_BYTES", 4),
    ):
        monkeypatch.setattr(files, name, size)
    name, text = file
    for written in (WEIGHTS, CONFIG):
        (tmp_path / written[0]).write_text(written[1])
    before = fingerprint(tmp_path)
    (tmp_path / name).write_text(f"{text[:at]}y{text[at + 1 :]}")
    assert (fingerprint(tmp_path) != before) == seen


@pytest.mark.parametrize(
    "given", ["./absent", "~no-such-user/absent", f"/{'a' * 300}", "a/b/c"]
)
def test_a_folder_that_is_not_there_is_not_looked_for_on_the_hub(given: str) -> None:
    with pytest.raises(MissingDataError, match="does not exist"):
        find_files(given, "main")


@pytest.mark.parametrize(
    ("there", "index", "advice"),
    [
        (PIPELINE_INDEX, "config.json", "--model diffusers"),
        ("adapter_config.json", "config.json", "its base model"),
        ("notes.md", "config.json", "save_pretrained"),
        ("config.json", PIPELINE_INDEX, "--model hf"),
    ],
)
def test_a_folder_without_a_model_is_refused_with_advice(
    there: str, index: str, advice: str, tmp_path: Path
) -> None:
    (tmp_path / there).write_text("{}")
    with pytest.raises(MissingDataError, match=rf"{index} .*{advice}"):
        find_files(str(tmp_path), "main", index=index)


@pytest.mark.parametrize(
    ("written", "word"),
    [("{", "read"), ("[" * 100_000, "read"), ("[]", "object")],
    ids=["cut", "deep", "list"],
)
def test_a_configuration_that_is_none_is_refused(
    written: str, word: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(written)
    with pytest.raises(UsageError, match=word):
        find_files(str(tmp_path), "main")


def test_a_name_that_the_hub_lacks_is_no_folder_and_there_is_an_offline_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def lacking(*args: object, **more: object) -> None:
        raise MissingDataError("no such model")

    monkeypatch.setattr(hub, "snapshot", lacking)
    with pytest.raises(MissingDataError, match=r"such model\. .*either"):
        find_files("me/toy", "main")
    with pytest.raises(MissingDataError, match=r"=FOLDER.*pretrained=tiny"):
        find_model(HFSettings())


TWICE = [
    "m/model-00001-of-00002.safetensors",
    "m/model.bf16-00001-of-00002.safetensors",
]


@pytest.mark.parametrize(
    ("names", "spare"),
    [
        (
            ["config.json", "model.safetensors", "pytorch_model.bin"],
            ["pytorch_model.bin"],
        ),
        (["pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"], []),
        (["model.safetensors", "model.fp16.safetensors"], ["model.fp16.safetensors"]),
        (["unet/a.safetensors", "vae/diffusion_pytorch_model.bin"], []),
        (
            ["model_index.json", "vae_1_0/a.safetensors", "vae_1_0/config.json"],
            ["vae_1_0/a.safetensors"],
        ),
        (
            ["model_index.json", "README.md", "v1-pruned.ckpt", "unet/a.safetensors"],
            ["README.md", "v1-pruned.ckpt"],
        ),
        (TWICE, TWICE[1:]),
    ],
)
def test_weights_are_fetched_once(names: list[str], spare: list[str]) -> None:
    assert unneeded(names, {"unet", "vae"})[len(files.OTHER_WEIGHTS) :] == spare


def snapshot_of(
    folder: Path, contents: Mapping[str, str], monkeypatch: pytest.MonkeyPatch
) -> ModelFiles:
    """A snapshot that has these files once everything is fetched."""
    for name, text in contents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    monkeypatch.setattr(hub, "file_names", lambda *args, **more: list(contents))
    monkeypatch.setattr(hub, "snapshot", lambda *args, **more: folder)
    return ModelFiles("me/toy", folder, COMMIT)


PARTS = json.dumps(
    {
        "_class_name": ["mine", "Mine"],
        "unet": ["diffusers", "UNet"],
        "vae": ["diffusers", "VAE"],
    }
)
INDEXED = json.dumps({"weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}})
VAE = {"model_index.json": PARTS, "vae/config.json": "{}", "vae/a.safetensors": ""}


@pytest.mark.parametrize(
    ("contents", "lacking"),
    [
        ({"config.json": "{}"}, "weights in"),
        (
            {
                "config.json": "{}",
                "m.safetensors.index.json": INDEXED,
                "m-1.safetensors": "",
            },
            "m-2.safetensors in",
        ),
        ({**VAE, "unet/config.json": "{}"}, "weights in unet"),
    ],
    ids=["none", "one part", "one component"],
)
def test_a_snapshot_that_is_not_whole_is_refused(
    contents: dict[str, str],
    lacking: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = snapshot_of(tmp_path, contents, monkeypatch)
    with pytest.raises(MissingDataError, match=f"me/toy at {COMMIT}: .*{lacking}"):
        found.fetch_weights()


def test_a_whole_snapshot_and_a_users_folder_lack_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = {
        "config.json": "{}",
        "m.safetensors": "",
        "m.safetensors.index.json": '{"weight_map": null}',
    }
    snapshot_of(tmp_path / "hub", contents, monkeypatch).fetch_weights()
    beside = {"vae_decoder/config.json": "{}", "old/m.safetensors.index.json": INDEXED}
    snapshot_of(tmp_path / "pipeline", VAE | beside, monkeypatch).fetch_weights()
    ModelFiles("toy", model(tmp_path / "mine")).fetch_weights()
