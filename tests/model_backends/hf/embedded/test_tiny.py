import ast
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from safetensors import SafetensorError

from mmeval.errors import StorageError
from mmeval.media import PART_KINDS, Media, PartKind
from mmeval.media.decode import document_text, video_info
from mmeval.model_backends.hf import HFBackend
from mmeval.model_backends.hf.embedded import tiny
from mmeval.model_backends.hf.embedded.tiny import tiny_model
from mmeval.records import GenerationParams, Request, Response, user
from tests.support.models import (
    answers,
    drawn,
    embedded_cache,
    embedded_tiny,
    only,
    started,
)
from tests.support.tiny_media import clip, glb, pdf, wav

MEDIA = {
    "image": drawn(),
    "audio": Media.from_bytes(wav(800)),
    "video": Media.from_bytes(clip(frames=2)),
    "document": Media.from_bytes(pdf()),
    "3d": Media.from_bytes(glb()),
}


@cache
def model() -> HFBackend:
    return started(embedded_tiny())


def request(
    *parts: Media | str, wants: tuple[PartKind, ...], seed: int = 0, **params: Any
) -> Request:
    return Request((user(*parts, "a day"),), GenerationParams(**params), wants, seed)


def shape(response: Response) -> list[str]:
    assert response.output is not None, response.error
    return [
        part.kind if part.media is not None or part.text else f"no {part.kind}"
        for part in response.output.parts
    ]


@pytest.mark.parametrize(
    ("wants", "answer"),
    {
        ("text",): "text",
        ("audio",): "audio",
        ("text", "image", "audio"): "text image text audio text",
        ("audio", "text", "image"): "audio text image text",
        ("text", "image", "audio", "code"): "text image text audio text code text",
        ("video",): "video",
        ("text", "video", "document"): "text video text document text",
    }.items(),
)
def test_an_answer_holds_each_wanted_kind_in_the_order_of_the_request(
    wants: tuple[PartKind, ...], answer: str
) -> None:
    (response,) = answers(model(), [request("6*8 hares <|end|> ", wants=wants)])
    assert shape(response) == answer.split()
    assert response.finish_reason == "stop"


def test_it_takes_all_kinds_and_each_medium_changes_the_answer() -> None:
    assert {"reasoning", *model().capabilities.inputs} == {*PART_KINDS}
    asked = [
        request("see: ", medium, wants=("image",), temperature=0.0)
        for medium in MEDIA.values()
    ]
    assert len(
        {only("image", response).sha256 for response in answers(model(), asked)}
    ) == len(MEDIA)


def test_a_film_is_six_frames_in_one_second() -> None:
    (response,) = answers(model(), [request(wants=("video",))])

    info = video_info(only("video", response))
    assert (info.width, info.height) == (32, 24)
    assert (info.rate, info.seconds) == (6, 1)


def test_a_document_is_a_title_with_lines_of_words() -> None:
    (response,) = answers(model(), [request(wants=("document",))])

    page = only("document", response)
    title, *lines = document_text(page).split("\n\n")
    assert page.mime == "text/markdown"
    assert title.startswith("# ")
    assert [len(line.split()) for line in lines] == [6, 6]


@pytest.mark.parametrize("kind", ["image", "video"])
def test_another_picture_leads_to_another_picture_or_film(kind: PartKind) -> None:
    pictures = [drawn((200, 30, 30)), drawn((30, 30, 200))]
    requests = [request("edit: ", medium, wants=(kind,)) for medium in pictures]

    red, blue = answers(model(), requests)

    assert only(kind, red).sha256 != only(kind, blue).sha256


def test_without_the_package_for_films_it_outputs_none(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "mmeval.model_backends.hf.adapters.tiny.find_spec", lambda _: None
    )

    backend = HFBackend(pretrained=str(embedded_tiny()))

    assert "video" not in backend.capabilities.outputs
    assert "document" in backend.capabilities.outputs


@pytest.mark.parametrize("kind", ["image", "audio", "video", "document"])
def test_a_medium_that_is_cut_off_is_a_gap_with_a_warning(kind: PartKind) -> None:
    (cut,) = answers(model(), [request(wants=("text", kind), max_tokens=9)])

    assert shape(cut) == ["text", f"no {kind}"]
    assert cut.finish_reason == "length"
    assert len(cut.warnings) == 1


def test_its_code_is_a_part_fenced_in_the_raw_text() -> None:
    (code,) = answers(model(), [request(wants=("code",))])

    assert code.output is not None
    (part,) = code.output.parts
    assert part.raw == f"```python\n{part.text}```\n"
    assert ast.parse(str(part.text))


def test_it_is_called_tiny_and_warned_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MMEVAL_CACHE_DIR", str(embedded_cache()))
    backend = HFBackend(pretrained="tiny")
    assert backend.identity["model"] == "tiny"
    assert backend.adapter_name == "tiny"
    # its last digits are another machine's
    assert backend.identity["weights"] == f"builder {tiny.VERSION}"
    assert any("mean nothing" in message for message in caplog.messages)


def test_many_may_ask_for_it_and_each_version_makes_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Path] = []
    together, made = Barrier(4), embedded_tiny()

    def copy(folder: Path) -> None:
        built.append(folder)
        shutil.copytree(made, folder)
        together.wait()

    monkeypatch.setattr(tiny, "build", copy)
    with ThreadPoolExecutor(4) as pool:
        (folder,) = set(pool.map(lambda _: tiny_model(tmp_path), range(4)))
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]
    assert tiny_model(tmp_path) == folder
    assert len(built) == 4
    together = Barrier(1)
    monkeypatch.setattr(tiny, "VERSION", tiny.VERSION + 1)
    assert tiny_model(tmp_path) != folder


def full(_model: object, folder: Path) -> None:
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    raise SafetensorError("No space left on device (os error 28)")


def test_a_broken_attempt_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transformers.PreTrainedModel.save_pretrained", full)
    with pytest.raises(StorageError, match="No space left"):
        tiny_model(tmp_path)
    assert list((tmp_path / "models").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_refused_with_advice(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="MMEVAL_CACHE_DIR"):
        tiny_model(tmp_path / "file")
