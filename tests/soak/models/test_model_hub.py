"""Models of the hub on the command line: what is fetched and when, what is pinned, what
is said when it cannot be."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.cli import Ended, environment, mmeval_process, run_folder
from tests.support.models import tiny_model
from tests.support.questions import write_benchmark
from tests.support.servers import FakeHub, Files, Repositories

COMMIT, OTHER = "a" * 40, "b" * 40
DECOYS: Files = {
    "pytorch_model.bin": b"the same once more",
    "model.onnx": b"and again",
    "optimizer.pt": b"left over",
}

UNET = "unet/diffusion_pytorch_model"
EXTRA: Files = {
    "checkpoint.safetensors": b"once more",
    f"{UNET}.fp16.safetensors": b"and again",
    f"{UNET}.bin": b"!",
    "vae_decoder/model.onnx": b"for another library",
}


def files_of(name: str) -> Files:
    folder = tiny_model(name)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeHub]:
    models: Repositories = {
        "me/tiny": {COMMIT: {**files_of("llm"), **DECOYS}},
        "me/pipeline": {
            COMMIT: {**files_of("sd"), **EXTRA, "vae_decoder/config.json": b"{}"}
        },
        "me/gated": {COMMIT: {}},
    }
    with FakeHub(models=models, gated=frozenset({"me/gated"})) as running:
        yield running


def asked(
    hub_url: str, folder: Path, model: str, *flags: str, backend: str = "hf", **env: str
) -> Ended:
    """A run of a task that wants words, or of diffusers a picture; its cache of the hub
    is in the folder."""
    benchmark = write_benchmark(folder / "tasks")
    if backend == "diffusers":
        task = benchmark / "tiny.yaml"
        task.write_text(task.read_text().replace("[text]", "[image]"))
    settings = {
        "HF_ENDPOINT": hub_url,
        "HF_HOME": str(folder / "home"),
        "HF_HUB_OFFLINE": "0",
        "NO_PROXY": "*",
        **env,
    }
    return mmeval_process(
        "--tasks",
        str(benchmark / "tiny.yaml"),
        "--model",
        backend,
        "--model_args",
        f"pretrained={model}",
        "--output_path",
        str(folder / "runs"),
        "--gen_kwargs",
        "max_gen_toks=4",
        *flags,
        env=environment(**settings),
    )


def test_weights_come_with_the_first_request_and_a_later_run_needs_no_hub(
    hub: FakeHub, tmp_path: Path
) -> None:
    hub.paths.clear()
    planned = asked(hub.url, tmp_path, "me/tiny", "--dry_run")
    described = hub.fetched
    hub.paths.clear()
    first = asked(hub.url, tmp_path, "me/tiny", "--limit", "1")
    later = asked(
        "http://127.0.0.1:9", tmp_path, "me/tiny", "--limit", "2", HF_HUB_OFFLINE="1"
    )

    assert [done.code for done in (planned, first, later)] == [0, 0, 0], (
        planned.err + first.err + later.err
    )
    assert "config.json" in described
    assert not [name for name in described if name.endswith(".safetensors")]
    assert "model.safetensors" in hub.fetched
    assert not DECOYS.keys() & set(hub.fetched)
    assert "kept" in later.err
    (record,) = tmp_path.glob("runs/*/*/run.json")
    assert json.loads(record.read_text())["identity"]["model"]["weights"] == COMMIT


MISSING: dict[str, tuple[str, dict[str, str], str]] = {
    "absent": ("me/absent", {}, "no such model"),
    "gated": ("me/gated", {}, "gated"),
    "revision": (f"me/tiny,revision={OTHER}", {}, "no such revision"),
    "models offline": (
        "me/tiny",
        {"HF_HUB_OFFLINE": "", "TRANSFORMERS_OFFLINE": "1"},
        "TRANSFORMERS_OFFLINE=0",
    ),
}


@pytest.mark.parametrize(("model", "env", "words"), MISSING.values(), ids=MISSING)
def test_a_model_that_cannot_be_had_is_one_message(
    hub: FakeHub, tmp_path: Path, model: str, env: dict[str, str], words: str
) -> None:
    done = asked(hub.url, tmp_path, model, **env)
    assert (done.code, words in done.error, "data set" in done.error) == (
        4,
        True,
        False,
    ), done.error
    assert not run_folder(tmp_path / "runs").exists()


def test_of_a_pipeline_its_components_are_fetched_and_nothing_twice(
    hub: FakeHub, tmp_path: Path
) -> None:
    hub.paths.clear()
    done = asked(
        hub.url,
        tmp_path,
        "me/pipeline,num_inference_steps=1",
        "--limit",
        "1",
        backend="diffusers",
    )
    assert done.code == 0, done.err
    assert "torchvision" not in done.err, "the library's advice is not ours"
    assert f"{UNET}.safetensors" in hub.fetched
    assert not EXTRA.keys() & set(hub.fetched)
