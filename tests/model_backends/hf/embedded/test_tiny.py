import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Barrier

import pytest
from safetensors import SafetensorError

from mmeval.content.parts import PartKind
from mmeval.errors import StorageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.embedded import tiny
from mmeval.model_backends.hf.embedded.tiny import tiny_model
from mmeval.records import GenerationParams, Request, Response, user
from tests.support.embedded import embedded_cache, embedded_tiny
from tests.support.local_models import answers, drawn, started

BOTH: tuple[PartKind, ...] = ("text", "image")
WHOLE = ["text", "image", "text"]


@cache
def model() -> HFBackend:
    return started(embedded_tiny())


def request(text: str, *, seed: int = 0, temperature: float | None = None, pictures: int = 0) -> Request:
    shown = [drawn((seed * 9 % 256, 90, 40), (30 + 8 * n, 50)) for n in range(pictures)]
    return Request((user(*shown, text),), GenerationParams(temperature=temperature), BOTH, seed)


def shape(response: Response) -> list[str]:
    assert response.output is not None, response.error
    return [part.kind if part.media is not None or part.text else f"no {part.kind}" for part in response.output.parts]


@pytest.mark.parametrize(("length", "pictures"), [(1, 0), (700, 3)])
def test_any_prompt_is_answered_with_text_a_picture_and_text(length: int, pictures: int) -> None:
    text = ("the quick brown fox, 6*8 times: jumps! " * 200)[:length]
    temperature = 0.0 if length == 700 else None
    (response,) = answers(model(), [request(text, pictures=pictures, temperature=temperature)])
    assert (shape(response), response.finish_reason) == (WHOLE, "stop")


def test_it_is_called_tiny_and_warned_of(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(embedded_cache()))
    backend = HFBackend(pretrained="tiny")
    assert (backend.identity["model"], backend.adapter_name) == ("tiny", "emu3")
    assert backend.identity["weights"] == f"builder {tiny.VERSION}"  # its last digits are another machine's
    assert any("mean nothing" in message for message in caplog.messages)


def test_many_may_ask_for_it_and_each_version_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[Path] = []
    together, made = Barrier(4), embedded_tiny()

    def copy(folder: Path) -> None:
        built.append(folder)
        shutil.copytree(made, folder)
        together.wait()

    monkeypatch.setattr(tiny, "build", copy)
    with ThreadPoolExecutor(4) as pool:
        (folder,) = set(pool.map(lambda _: tiny_model(tmp_path), range(4)))
    assert ([path.name for path in folder.parent.iterdir()], tiny_model(tmp_path), len(built)) == (
        [folder.name],
        folder,
        4,
    )
    together = Barrier(1)
    monkeypatch.setattr(tiny, "VERSION", tiny.VERSION + 1)
    assert tiny_model(tmp_path) != folder


def full(_model: object, folder: Path) -> None:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    raise SafetensorError("No space left on device (os error 28)")


def test_a_broken_attempt_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transformers.PreTrainedModel.save_pretrained", full)
    with pytest.raises(StorageError, match="No space left"):
        tiny_model(tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="MMEVAL_CACHE_DIR"):
        tiny_model(tmp_path / "file")
