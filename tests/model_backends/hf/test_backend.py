from __future__ import annotations

import asyncio
import gc
import weakref
from pathlib import Path

import pytest

from mmeval.backend import create_backend
from mmeval.errors import UnknownNameError, UsageError
from mmeval.media import Media
from mmeval.model_backends.hf import HFBackend
from tests.support.local_models import answers, asked, drawn, loaded, says, started
from tests.support.tiny_media import clip, pdf
from tests.support.tiny_models import tiny_model

CLIP = Media.from_bytes(clip(frames=20))


def test_a_video_is_given_as_frames_where_the_user_says_so_and_the_answer_says_it_too() -> None:
    backend = started(tiny_model("llava"), convert="video->frames")
    assert backend.capabilities.missing(asked("See", CLIP)) == []
    plain, shown = answers(backend, [asked("Hi"), asked("See", CLIP)])
    assert plain.text == says(loaded("llava"), asked("Hi")).text
    assert plain.warnings == ()
    assert shown.error is None
    assert shown.warnings == ("video->frames: 8 frames, without sound, instead of the video",)


def test_a_medium_that_cannot_be_converted_fails_its_row_and_no_other() -> None:
    backend = started(tiny_model("llava"), convert="video->frames+document->text")
    broken = asked("See", Media.from_bytes(clip()[:400]))
    first, failed, last = answers(backend, [asked("Hi"), broken, asked("Look", drawn())])
    assert failed.error is not None
    assert (failed.error.kind, failed.output) == ("bad_request", None)
    assert first.error is last.error is None


def test_a_batch_of_which_nothing_is_left_is_answered() -> None:
    backend = started(tiny_model("llm"), convert="document->text")
    (failed,) = answers(backend, [asked("Read", Media.from_bytes(pdf("")))])
    assert failed.error is not None
    assert "holds no text" in failed.error.message


def test_converters_are_part_of_the_identity() -> None:
    plain, other = (
        HFBackend(pretrained=str(tiny_model("llava"))),
        HFBackend(pretrained=str(tiny_model("llava")), convert="video->frames"),
    )
    assert "convert" not in plain.identity
    assert other.identity["convert"] == ["video->frames"]


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"convert": "video->frame"}, UnknownNameError, "did you mean"),
        ({"convert": "video->frames"}, UsageError, "does not take either"),
        ({"inputs": "text+pictures"}, UnknownNameError, "kind in inputs"),
        ({"outputs": "text+image"}, UsageError, "never image"),
    ],
    ids=str,
)
def test_arguments_that_mean_nothing_are_refused_before_anything_is_loaded(
    arguments: dict[str, str], error: type[UsageError], words: str
) -> None:
    with pytest.raises(error, match=words):
        create_backend("hf", {"pretrained": str(tiny_model("llm")), **arguments})


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe\x00\x80", "cannot be read as a text"), (b" \n", "is empty")],
    ids=["binary", "empty"],
)
def test_a_file_that_holds_no_template_is_refused_before_anything_is_loaded(
    content: bytes, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "template.jinja"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        HFBackend(pretrained=str(tiny_model("llm")), chat_template=str(file))


def test_a_template_is_part_of_the_identity_by_its_words_and_not_its_place(tmp_path: Path) -> None:
    names = ("one.jinja", "two.jinja", "other.jinja")
    for name in names:
        (tmp_path / name).write_text("[{{ messages }}]" if name == "other.jinja" else "{{ messages }}")
    one, two, other = (
        HFBackend(pretrained=str(tiny_model("llm")), chat_template=str(tmp_path / name)).identity for name in names
    )
    (tmp_path / "one.jinja").unlink()
    assert one == two != other


@pytest.mark.parametrize("name", ["llm", "janus", "vits", "emu3", "chameleon", "qwen2_5_omni"])
def test_closing_gives_the_weights_back(name: str) -> None:
    backend = started(tiny_model(name))
    model = weakref.ref(backend.adapter.model)  # type: ignore[attr-defined]  # every adapter of ours has one
    asyncio.run(backend.close())
    gc.collect()
    assert model() is None


@pytest.mark.parametrize("kind", ["image", "video", "document"])
def test_a_kind_that_no_part_of_the_processor_reads_would_be_left_out_and_is_refused(kind: str) -> None:
    with pytest.raises(UsageError, match=f"no part that reads {kind}"):
        started(tiny_model("llm"), inputs=f"text+{kind}")


def test_inputs_are_what_the_user_says_and_reach_the_adapter() -> None:
    blind = started(tiny_model("llava"), inputs="text")
    assert blind.capabilities.missing(asked("Look", drawn())) == ["takes no image"]
    refused = says(blind, asked("Look", drawn()))
    assert refused.error is not None
    assert refused.error.kind == "unsupported"
