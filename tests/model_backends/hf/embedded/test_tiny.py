import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import pytest
from safetensors import SafetensorError

from mmeval.content.parts import PartKind
from mmeval.errors import MmevalError, StorageError
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.embedded import builder as tiny_builder
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


@pytest.fixture
def builder(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """A builder that copies what was built once, and notes where."""
    built: list[Path] = []
    made = embedded_tiny()

    def copy(folder: Path) -> None:
        built.append(folder)
        shutil.copytree(made, folder, ignore=shutil.ignore_patterns(tiny._MANIFEST), dirs_exist_ok=True)

    monkeypatch.setattr(tiny, "_build_apart", copy)
    yield built


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-1])


def changed(file: Path) -> None:
    file.write_bytes(b"x" + file.read_bytes()[1:])


@pytest.mark.parametrize(
    ("damage", "name"), [(Path.unlink, "config.json"), (cut, tiny._MANIFEST), (changed, "model.safetensors")]
)
def test_only_damage_remakes_it(damage: Callable[[Path], None], name: str, tmp_path: Path, builder: list[Path]) -> None:
    assert tiny_model(tmp_path) == tiny_model(tmp_path)
    assert len(builder) == 1
    damage(tiny_model(tmp_path) / name)
    again = tiny_model(tmp_path)
    assert len(builder) == 2
    assert (again / "model.safetensors").read_bytes() == (embedded_tiny() / "model.safetensors").read_bytes()


@pytest.mark.usefixtures("builder")
def test_many_may_ask_for_it_and_each_version_makes_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(8) as pool:
        (folder,) = set(pool.map(lambda _: tiny_model(tmp_path), range(8)))
    assert tiny._whole(folder)
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    before = tiny_model(tmp_path)
    monkeypatch.setattr(tiny, "VERSION", tiny.VERSION + 1)
    assert tiny_model(tmp_path) != before


def test_another_process_may_be_first(tmp_path: Path, builder: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model(tmp_path)
    made = shutil.copytree(folder, tmp_path / "made")
    monkeypatch.setattr(Path, "exists", lambda _path: False)  # as it was when it was looked for
    tiny._replace(folder, made)
    assert tiny._whole(folder)


class Full:
    def save_pretrained(self, folder: Path) -> None:
        raise SafetensorError("No space left on device (os error 28)")


def die(folder: Path) -> None:
    (folder / "config.json").write_text("{}")
    raise MmevalError("died")


@pytest.mark.parametrize(
    ("build", "error", "word"),
    [(die, MmevalError, "died"), (lambda folder: tiny_builder._save(Full(), folder), StorageError, "No space left")],
    ids=["failed", "full disk"],
)
def test_a_broken_attempt_leaves_nothing(
    build: Callable[[Path], None], error: type[MmevalError], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny, "_build_apart", build)
    with pytest.raises(error, match=word):
        tiny_model(tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="MMEVAL_CACHE_DIR"):
        tiny_model(tmp_path / "file")
