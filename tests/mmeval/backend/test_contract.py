from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.capabilities import Capabilities, Limit, OutputMode
from mmeval.backend.contract import BatchBackend, ModelBackend, ProgramBackend, SampleBackend
from mmeval.backend.create import create_backend
from mmeval.content.parts import PartKind
from mmeval.errors import UnknownNameError, UsageError
from mmeval.model_backends.empty import EmptyBackend
from mmeval.records.request import GenerationParams, Request
from mmeval.records.sample import user
from tests.support.toy import Toy, ToyAgent, ToyLocal, picture, registered

SEES = Capabilities.of(("text", "image"), ("text",))


def asked(*wants: PartKind, pictures: int = 0, text: str = "look") -> Request:
    media = [picture(i) for i in range(pictures)]
    return Request((user(text, *media),), GenerationParams(), wants or ("text",))


@pytest.mark.parametrize(
    ("capabilities", "request_", "gaps"),
    [
        (SEES, asked(pictures=1), []),
        (Capabilities(), asked(pictures=1), ["takes no image"]),
        (SEES, asked("text", "audio"), ["gives no audio"]),
        (Capabilities(), asked("image", pictures=1), ["takes no image", "gives no image"]),
    ],
    ids=["fits", "input", "output", "both"],
)
def test_what_is_missing_is_said_kind_by_kind(capabilities: Capabilities, request_: Request, gaps: list[str]) -> None:
    assert capabilities.missing(request_) == gaps


def test_a_kind_that_may_be_declared_is_told_with_the_argument_for_it() -> None:
    capabilities = replace(Capabilities.of(("text",), ("text",), "single"), declarable=frozenset(("text", "audio")))

    assert capabilities.missing(asked("audio")) == [
        "gives no audio",
        "if it does, say so among its arguments: outputs=text+audio",
    ]
    assert capabilities.missing(asked("video")) == ["gives no video"]


@pytest.mark.parametrize(
    ("mode", "wants", "fits"),
    [
        ("single", ("text",), True),
        ("single", ("text", "code"), True),
        ("single", ("text", "image"), False),
        ("exclusive", ("text", "image"), False),
        ("exclusive", ("code", "image"), False),
        ("exclusive", ("code",), True),
        ("parallel", ("text", "image"), True),
        ("interleaved", ("text", "image"), True),
    ],
)
def test_several_kinds_in_one_answer_need_a_mode_that_gives_them(
    mode: OutputMode, wants: tuple[PartKind, ...], fits: bool
) -> None:
    capabilities = Capabilities.of(("text",), ("text", "image"), mode)

    assert (capabilities.missing(asked(*wants)) == []) is fits


def test_a_model_of_one_kind_a_call_names_the_protocol_that_asks_it_for_more() -> None:
    capabilities = Capabilities.of(("text",), ("text", "image"), "exclusive")

    assert capabilities.missing(asked("text", "image")) == [
        "gives one kind a call, text+image wanted; --protocol text_then_media asks for one after the other"
    ]
    assert "--protocol" not in "; ".join(capabilities.missing(asked("text", "audio")))


@pytest.mark.parametrize(
    ("limit", "gaps"),
    [
        (Limit(max_items=2), []),
        (Limit(max_items=1), ["takes at most 1 image items, 2 given"]),
        (Limit(max_bytes=10), [f"takes at most 10 bytes of image, {picture().size} given"]),
        (Limit(max_bytes=picture().size), []),
    ],
    ids=["items fit", "too many", "too large", "bytes fit"],
)
def test_limits_of_number_and_size_hold(limit: Limit, gaps: list[str]) -> None:
    capabilities = Capabilities({"text": Limit(), "image": limit}, {"text": Limit()})

    assert capabilities.missing(asked(pictures=2)) == gaps


def test_a_placeholder_without_a_medium_is_words_and_hidden_reasoning_is_no_input() -> None:
    assert Capabilities().missing(asked(text="describe <image1>")) == []


def test_code_travels_with_text() -> None:
    assert "code" in SEES.inputs
    assert "code" in SEES.outputs


def test_a_kind_that_does_not_exist_is_refused_with_a_near_name() -> None:
    with pytest.raises(UnknownNameError, match="unknown kind of part 'imge'; did you mean \"image\""):
        Capabilities.of(("imge",), ("text",))


@pytest.mark.parametrize(
    ("backend", "kind"),
    [(Toy(), ModelBackend), (ToyLocal(), BatchBackend), (ToyAgent(), ProgramBackend), (EmptyBackend(), SampleBackend)],
    ids=["model", "batch", "program", "sample"],
)
def test_each_kind_of_backend_is_told_by_its_methods(backend: Any, kind: type) -> None:
    kinds = (ModelBackend, BatchBackend, ProgramBackend, SampleBackend)

    assert [isinstance(backend, one) for one in kinds] == [one is kind for one in kinds]


@pytest.fixture
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield


@pytest.mark.usefixtures("_toys")
def test_a_backend_is_made_from_its_name_and_arguments() -> None:
    assert create_backend("toy", {"model": "toy-9"}).identity == {"backend": "toy", "model": "toy-9"}


@pytest.mark.usefixtures("_toys")
def test_an_argument_that_it_does_not_take_is_refused_with_a_near_name() -> None:
    with pytest.raises(
        UnknownNameError, match=r"argument of the backend 'toy' 'modle'; did you mean \"model\".*It takes: "
    ):
        create_backend("toy", {"modle": "x"})


def test_an_argument_that_is_missing_is_named_with_the_flag() -> None:
    with pytest.raises(
        UsageError, match=r"missing a required .*argument: 'model'; give it with --model_args NAME=VALUE"
    ):
        create_backend("openai", {})


def test_an_unknown_backend_is_refused_with_a_near_name() -> None:
    with pytest.raises(UnknownNameError, match="unknown model backend 'openia'; did you mean \"openai\""):
        create_backend("openia", {})


@pytest.mark.usefixtures("_toys")
def test_a_text_that_looks_like_a_number_stays_a_text() -> None:
    assert create_backend("toy", {"model": 1234567}).identity["model"] == "1234567"


@pytest.mark.usefixtures("_toys")
def test_a_text_whose_spelling_a_number_has_lost_is_refused_with_the_way_to_write_it() -> None:
    with pytest.raises(UsageError, match=r"model is a text and was read as the number 1.234e\+59; write it in quotes"):
        create_backend("toy", {"model": 1234e56})


@pytest.mark.parametrize(
    ("name", "args", "complaint"),
    [
        ("toy_local", {"memory": "much"}, "the backend 'toy_local': memory must be a whole number, not 'much'"),
        ("toy_local", {"memory": True}, "memory must be a whole number, not True"),
        ("openai", {"model": "m", "timeout": "soon"}, "the backend 'openai': timeout must be a number, not 'soon'"),
        ("openai", {"model": "m", "send_seed": "yes"}, "send_seed must be true or false, not 'yes'"),
    ],
)
@pytest.mark.usefixtures("_toys")
def test_an_argument_of_another_type_than_the_backend_declares_is_refused(
    name: str, args: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        create_backend(name, args)


def test_a_backend_without_arguments_says_so() -> None:
    with pytest.raises(UnknownNameError, match=r"'empty' 'model'\. It takes no arguments\.$"):
        create_backend("empty", {"model": "x"})


@pytest.mark.parametrize("name", ["hf-auto", "hf-multimodal", "huggingface"])
def test_a_name_that_other_harnesses_have_for_a_local_model_leads_to_hf(name: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"unknown model backend '{name}'\. .*--model hf "):
        create_backend(name, {})


def test_the_size_of_batches_among_the_arguments_leads_to_its_flag() -> None:
    with pytest.raises(UnknownNameError, match=r"'batch_size'\. It is a flag of its own: --batch_size N"):
        create_backend("hf", {"batch_size": 8})


@pytest.mark.parametrize("name", ["local-chat-completions", "openai-chat-completions", "vllm"])
def test_a_name_that_other_harnesses_have_for_a_server_leads_to_the_backend_for_it(name: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"unknown model backend '{name}'\. .*--model openai"):
        create_backend(name, {})
