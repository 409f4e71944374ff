from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from mmeval.media import decode
from mmeval.model_backends.hf.adapters.janus import JanusAdapter
from mmeval.model_backends.hf.conversation.encoding import placed
from mmeval.records import Message, Request, message
from tests.support.models import (
    adapter_of,
    answers,
    asked,
    changed,
    drawn,
    fault,
    loaded,
    only,
    says,
    started,
    tiny_model,
)

janus = partial(loaded, "janus", "auto")
adapter = partial(adapter_of, JanusAdapter, "janus", "auto")
picture = partial(only, "image")


def drawing(*parts: Any, **more: Any) -> Request:
    """A request for a picture."""
    return replace(asked(*parts, **more), wants=("image",))


def test_a_call_gives_a_picture_or_words_drawn_by_the_seed_of_their_row() -> None:
    made, worded = says(janus(), drawing("a hare")), says(janus(), asked("a hare"))
    assert decode.image(picture(made)).size == (32, 32)
    assert made.usage.output_tokens == 16
    assert made.finish_reason == "stop"
    assert made.text == ""
    assert worded.output is not None
    assert worded.output.media() == ()
    assert worded.text
    one, again, other = (
        picture(r)
        for r in answers(janus(), [drawing("a hare", seed=s) for s in (1, 1, 2)])
    )
    assert one == again != other
    greedy = [
        picture(says(janus(), drawing("a hare", seed=s, temperature=0.0)))
        for s in (1, 2)
    ]
    assert greedy[0] == greedy[1] != one
    texts = [
        says(janus(), asked("a hare", seed=seed, temperature=1.0)).text
        for seed in (1, 1, 2)
    ]
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_pictures_of_a_batch_are_those_of_single_rows_to_the_last_bit(
    temperature: float | None,
) -> None:
    texts = ("a hare", "what the two of them did before the race began", "one")
    requests = [
        drawing(text, seed=seed, temperature=temperature)
        for seed, text in enumerate(texts)
    ]
    together = [picture(response) for response in answers(janus(), requests)]
    assert together == [picture(says(janus(), request)) for request in requests]
    assert len(set(together)) == 3


def test_pictures_in_a_prompt_are_left_out_with_a_warning() -> None:
    turns: list[Message] = [
        message("user", "a hare"),
        message("assistant", "here ", drawn()),
    ]
    seen = says(janus(), drawing("a hare ", drawn(), "running"))
    bare = says(janus(), drawing("a hare ", "running"))
    assert picture(seen) == picture(bare)
    warnings = [
        r.warnings for r in (seen, says(janus(), drawing("again", before=turns)), bare)
    ]
    assert [["left out" in one for one in found] for found in warnings] == [
        [True],
        [True],
        [],
    ]
    assert (
        says(janus(), asked("a hare ", drawn(), "running")).text
        != says(janus(), asked("a hare running")).text
    )
    assert fault(says(janus(), drawing(drawn())))[0] == "unsupported"


def test_guidance_changes_a_picture_and_its_checkpoint_may_set_it(
    tmp_path: Path,
) -> None:
    scales = (1, 5.0, 50)
    guided = [
        picture(
            says(janus(), drawing("a hare", options={"image.guidance_scale": scale}))
        )
        for scale in scales
    ]
    assert len(set(guided)) == 3
    assert guided[1] == picture(says(janus(), drawing("a hare")))
    own = changed("janus", tmp_path, "generation_config.json", guidance_scale=50)
    assert picture(says(own, drawing("a hare"))) == guided[2]
    assert says(own, asked("a hare")).text == says(janus(), asked("a hare")).text
    assert (
        fault(says(janus(), drawing("a hare", options={"image.guidance_scale": -1})))[0]
        == "bad_request"
    )


def test_pictures_are_those_of_the_library_s_own_way() -> None:
    inner = adapter()
    row = inner.row(0, drawing("a hare", temperature=0.0))
    with torch.inference_mode():
        given = placed(inner.encode([row]), inner.model)
        codes = type(inner.model).generate(
            inner.model,
            **given,
            generation_mode="image",
            guidance_scale=5,
            max_length=200,
        )
    [ours] = inner.generate([row], inner.encode([row]), 99)
    assert codes[0].tolist() == ours.ids  # type: ignore[union-attr]  # a stream: the prompt is sound


def test_black_and_white_are_those_of_the_processor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    look = adapter().processor.image_processor

    def decoded(_codes: Any) -> Any:
        grey = (
            torch.tensor([-9.0, 0.0, 0.5, 1.0]).reshape(1, 1, 4, 1).expand(1, 8, 4, 3)
        )
        return (grey - torch.tensor(look.image_mean)) / torch.tensor(look.image_std)

    monkeypatch.setattr(adapter().model, "decode_image_tokens", decoded)
    shown = decode.image(picture(says(janus(), drawing("a hare"))))
    assert [shown.getpixel((x, 0)) for x in range(4)] == [
        (0,) * 3,
        (0,) * 3,
        (128,) * 3,
        (255,) * 3,
    ]


def test_a_prompt_that_leaves_no_room_for_a_picture_is_too_long_and_harms_no_neighbour() -> (
    None
):
    backend = started(tiny_model("janus"), max_length=60)
    short, long = answers(backend, [drawing("a hare"), drawing("a hare " * 6)])
    assert picture(short) == picture(says(janus(), drawing("a hare")))
    kind, text = fault(long)
    assert kind == "too_long"
    assert "picture is 44" in text
