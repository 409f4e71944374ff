import asyncio
import gc
import importlib
import threading
import weakref
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from mmeval import plugins
from mmeval.errors import UsageError
from mmeval.media.media import Media
from mmeval.model_backends.hf import HFBackend
from tests.support.models import (
    answers,
    asked,
    drawn,
    fault,
    loaded,
    says,
    started,
    tiny_model,
)
from tests.support.tiny_media import clip

CLIP = Media.from_bytes(clip(frames=20))


def made(name: str = "llm", **arguments: Any) -> HFBackend:
    return HFBackend(pretrained=str(tiny_model(name)), **arguments)


def test_a_video_is_given_as_frames_where_the_user_wants_it_with_a_warning_and_a_broken_one_fails_alone() -> (
    None
):
    backend = started(tiny_model("llava"), convert="video->frames+document->text")
    assert backend.capabilities.missing(asked("See", CLIP)) == []
    broken = asked("See", Media.from_bytes(clip()[:400]))
    plain, shown, failed, last = answers(
        backend, [asked("Hi"), asked("See", CLIP), broken, asked("Look", drawn())]
    )
    assert plain.text == says(loaded("llava"), asked("Hi")).text
    assert plain.warnings == ()
    assert shown.error is None
    assert last.error is None
    assert failed.output is None
    assert fault(failed)[0] == "bad_request"
    assert [
        ("video->frames" in warning, "8 frames" in warning)
        for warning in shown.warnings
    ] == [(True, True)]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"\xff\xfe\x00\x80", "text"),
        (b" \n", "is empty"),
        (b"{{ messages }}\n{% for x %}", r"template\.jinja:2: "),
    ],
    ids=["binary", "empty", "no jinja"],
)
def test_a_file_without_a_template_is_refused_before_loading(
    content: bytes, word: str, tmp_path: Path
) -> None:
    file = tmp_path / "template.jinja"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=word):
        made(chat_template=str(file))


def test_inputs_or_adapters_that_do_not_fit_are_refused_by_name() -> None:
    for kind in ("image", "video", "document"):
        with pytest.raises(UsageError, match=f"cannot read {kind}"):
            started(tiny_model("llm"), inputs=f"text+{kind}")
    with pytest.raises(UsageError, match=r"adapter=emu3 .* 'llava' \(AttributeError: "):
        started(tiny_model("llava"), adapter="emu3")
    blind = started(tiny_model("llava"), inputs="text")
    assert blind.capabilities.missing(asked("Look", drawn())) == ["takes no image"]
    assert fault(says(blind, asked("Look", drawn())))[0] == "unsupported"


OTHER_ADAPTER = """
from mmeval.model_backends.hf.adapters.chat import ChatAdapter

class Other(ChatAdapter):
    \"\"\"Says {word}.\"\"\"
"""


def test_converters_templates_and_adapters_are_identity(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "convert" not in made("llava").identity
    assert made("llava", convert="video->frames").identity["convert"] == [
        "video->frames"
    ]
    for name in ("one", "two", "other"):
        (tmp_path / name).write_text(
            "[{{ messages }}]" if name == "other" else "{{ messages }}"
        )
    one, two, other = (
        made(chat_template=str(tmp_path / name)) for name in ("one", "two", "other")
    )
    (tmp_path / "one").unlink()
    assert one.identity == two.identity != other.identity
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(plugins._of_script, "mmeval.hf_adapters", {})
    file = tmp_path / "other_adapter_of_a_test.py"
    file.write_text(OTHER_ADAPTER.format(word="one"))
    plugins.register(
        "mmeval.hf_adapters", "other", importlib.import_module(file.stem).Other
    )

    def identity(adapter: str) -> Mapping[str, Any]:
        return made(adapter=adapter).identity

    before, again = identity("other"), identity("other")
    file.write_text(OTHER_ADAPTER.format(word="two"))
    assert before == again
    assert (
        identity("other")
        == {**before, "adapter_source": identity("other")["adapter_source"]}
        != before
    )
    assert "adapter_source" not in identity("chat")


@pytest.mark.parametrize("name", ["llm", "vits"])
def test_closing_gives_the_weights_back(name: str) -> None:
    backend = started(tiny_model(name))
    model = weakref.ref(backend.adapter.model)  # type: ignore[attr-defined]  # every adapter of ours has one
    asyncio.run(backend.close())
    gc.collect()
    assert model() is None


def test_models_of_several_threads_load_one_after_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Loading changes settings of the whole process."""
    others_came = threading.Event()
    loading: list[int] = []
    most: list[int] = []

    def load(_adapter: object) -> None:
        loading.append(1)
        most.append(len(loading))
        others_came.wait(0.05)
        loading.pop()

    backends = [made() for _ in range(3)]
    monkeypatch.setattr(type(backends[0].adapter), "load", load)
    with ThreadPoolExecutor(3) as threads:
        list(threads.map(HFBackend.start, backends))
    assert most == [1, 1, 1]
