from __future__ import annotations

import asyncio
import gc
import importlib
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.backend.create import create_backend
from mmeval.content.media import Media
from mmeval.errors import UnknownNameError, UsageError
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
        ({"device": "cudda"}, UnknownNameError, "unknown device 'cudda'; did you mean \"cuda\""),
        ({"device": "cuda:x"}, UnknownNameError, "unknown device 'cuda:x'"),
        ({"device": "meta"}, UnknownNameError, "unknown device 'meta'. Known: cpu, cuda"),
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
    [
        (b"\xff\xfe\x00\x80", "cannot be read as a text"),
        (b" \n", "is empty"),
        (b"{{ messages }}\n{% for x %}", r"chat_template=.*template\.jinja:2: it is no chat template \(Jinja\): "),
    ],
    ids=["binary", "empty", "no jinja"],
)
def test_a_file_that_holds_no_template_is_refused_before_anything_is_loaded(
    content: bytes, words: str, tmp_path: Path
) -> None:
    file = tmp_path / "template.jinja"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=words):
        HFBackend(pretrained=str(tiny_model("llm")), chat_template=str(file))


def test_an_adapter_that_does_not_fit_the_model_is_named_with_what_the_library_says() -> None:
    with pytest.raises(UsageError, match=r"adapter=emu3 does not fit .*, a model of type 'llava' \(AttributeError: "):
        started(tiny_model("llava"), adapter="emu3")


OTHER_ADAPTER = """
from mmeval.model_backends.hf.adapters.chat import ChatAdapter

class Other(ChatAdapter):
    \"\"\"Says {word}.\"\"\"
"""


def test_an_adapter_that_is_not_ours_belongs_to_the_identity_by_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(plugins._of_script, "mmeval.hf_adapters", {})
    file = tmp_path / "other_adapter_of_a_test.py"
    file.write_text(OTHER_ADAPTER.format(word="one"))
    plugins.register("mmeval.hf_adapters", "other", importlib.import_module(file.stem).Other)

    def identity(adapter: str) -> Mapping[str, Any]:
        return HFBackend(pretrained=str(tiny_model("llm")), adapter=adapter).identity

    before, again = identity("other"), identity("other")
    file.write_text(OTHER_ADAPTER.format(word="two"))

    assert before == again
    assert identity("other") == {**before, "adapter_source": identity("other")["adapter_source"]} != before
    assert "adapter_source" not in identity("chat")


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
