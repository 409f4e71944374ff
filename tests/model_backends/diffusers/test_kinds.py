from collections.abc import Callable
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.diffusers.kinds import (
    call_parameters,
    has_own_code,
    pipeline_class,
)


@pytest.mark.parametrize("name", ["FluxPipeline", "QwenImagePipeline"])
def test_a_pipeline_that_draws_from_words_is_known_by_its_index(name: str) -> None:
    for given, own in ((name, False), (["mine", name], True)):
        assert pipeline_class({"_class_name": given}, "here") == name
        assert has_own_code({"_class_name": given}) == own


def test_a_pipeline_for_something_else_and_an_index_without_one_are_refused_before_anything_is_loaded() -> (
    None
):
    for kind in ("Inpaint", "Edit"):
        with pytest.raises(
            UsageError, match=rf"pretrained=here: .* Stable{kind}Pipeline .* {kind}\)"
        ):
            pipeline_class({"_class_name": f"Stable{kind}Pipeline"}, "here")
    indices: list[dict[str, Any]] = [
        {},
        {"_class_name": []},
        {"_class_name": ["mine", None]},
    ]
    for index in indices:
        with pytest.raises(UsageError, match="_class_name"):
            pipeline_class(index, "here")


class Painter:
    def __call__(
        self, prompt: Any = None, height: Any = None, generator: Any = None
    ) -> None: ...


def test_the_parameters_of_a_call_are_known_of_a_class_and_of_an_instance() -> None:
    assert "height" in call_parameters(Painter, "here")
    assert "height" in call_parameters(Painter(), "here")


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda self, prompt=None, num_frames=16, generator=None: None, "videos"),
        (lambda self, prompt, photo, generator=None: None, "photo"),
        (lambda self, batch_size=1, generator=None: None, "prompt"),
        (lambda self, prompt=None: None, "prompt"),
    ],
    ids=["films", "retouches", "takes no words", "is not drawn by chance"],
)
def test_a_call_that_shows_another_purpose_is_refused(
    call: Callable[..., None], reason: str
) -> None:
    with pytest.raises(UsageError, match=rf"Other.*{reason}"):
        call_parameters(type("Other", (), {"__call__": call}), "here")
