from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.media import Media, Part, PartKind
from mmeval.media.decode import DecodeLimits
from mmeval.model_backends.hf.conversation.literals import Literals
from mmeval.model_backends.hf.conversation.messages import InputSpec, to_chat
from mmeval.model_backends.hf.failures import RowError
from mmeval.records import message
from tests.support.models import asked, chat_of, drawn
from tests.support.tiny_media import clip, picture, wav

ALL = InputSpec(
    frozenset(("text", "code", "image", "audio", "video")), Literals(["</s>"])
)


def test_order_is_kept_and_neighbouring_words_are_one_item() -> None:
    code = Part("code", text="print(1)", raw="```print(1)```")
    chat = to_chat(
        asked("Run ", code, "!", drawn(), "And this?", system="Be kind."), ALL
    )
    kinds = [
        (item["type"], item.get("text"))
        for turn in chat.messages
        for item in turn["content"]
    ]
    assert kinds == [
        ("text", "Be kind."),
        ("text", "Run print(1)!"),
        ("image", None),
        ("text", "And this?"),
    ]
    assert [turn["role"] for turn in chat.messages] == ["system", "user"]
    before = (message("user", "1"), message("assistant", Part("reasoning", text="hmm")))
    assert to_chat(asked("2", before=before), ALL).messages[1]["content"] == [
        {"type": "text", "text": ""}
    ]
    chat = to_chat(asked("a</s>", system="b</s>"), ALL)
    assert [turn["content"][0]["text"] for turn in chat.messages] == [
        "b<\u200b/s>",
        "a<\u200b/s>",
    ]
    assert ["</s>" in warning for warning in chat.warnings] == [True]


def test_pictures_are_rgb_on_white_and_small_ones_grow_within_limits() -> None:
    clear = Media.from_bytes(picture(mode="RGBA", size=(8, 8), colour=(255, 0, 0, 0)))
    grey = Media.from_bytes(picture(mode="L", size=(8, 8), colour=7))
    shown = to_chat(asked("Look", clear, grey), ALL).objects("image")
    assert [(one.mode, one.getpixel((0, 0))) for one in shown] == [
        ("RGB", (255, 255, 255)),
        ("RGB", (7, 7, 7)),
    ]
    chat = to_chat(
        asked("Look", drawn(size=(2, 6)), drawn(size=(105, 24))),
        replace(ALL, least_side=28),
    )
    assert [one.size for one in chat.objects("image")] == [(28, 84), (122, 28)]
    for warning, (before, after) in zip(
        chat.warnings, [("2x6", "28x84"), ("105x24", "122x28")], strict=True
    ):
        assert before in warning
        assert after in warning
    with pytest.raises(RowError, match="max_pixels = 10"):
        to_chat(
            asked("Look", drawn()), replace(ALL, limits=DecodeLimits(max_pixels=10))
        )


def test_a_video_is_even_frames_of_one_size_at_their_rate_and_its_sound_is_heard() -> (
    None
):
    (film,) = to_chat(asked("Look", Media.from_bytes(clip(frames=40))), ALL).objects(
        "video"
    )
    assert film.frames.shape == (16, 16, 32, 3)
    assert film.rate == pytest.approx(16 / 4.0, rel=0.1)
    light = film.frames.mean(axis=(1, 2, 3))
    assert (light[1:] > light[:-1]).all()  # in order
    sounding = Part("audio", media=Media.from_bytes(clip(with_sound=True)))
    (heard,) = to_chat(asked("Hear", sounding), ALL).objects("audio")
    assert heard.ndim == 1


def of(kind: PartKind, data: bytes) -> Part:
    return Part(kind, media=Media.from_bytes(data))


BAD = {
    "no kind of its own": (asked(of("3d", b"solid a\nendsolid a\n")), "unsupported"),
    "a kind that is not taken": (asked(of("document", b"%PDF-1.4")), "unsupported"),
    "broken bytes": (asked(of("audio", wav()[:50])), "bad_request"),
    "another kind of bytes": (asked(of("image", wav())), "bad_request"),
    "no words": (asked(" ", system="\n"), "bad_request"),
    "gone": (
        asked(
            Part("image", media=Media(path=Path("gone.png"), mime="image/png", size=9))
        ),
        "internal",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_part_that_cannot_be_read_is_a_typed_error(case: str) -> None:
    request, kind = BAD[case]
    with pytest.raises(RowError) as caught:
        to_chat(request, ALL)
    assert caught.value.kind == kind


def test_the_intake_of_a_processor_is_read_off_it() -> None:
    patches = InputSpec.of(chat_of("qwen2_5_vl").processor, frozenset(), Literals(()))
    ears = InputSpec.of(chat_of("qwen2_audio").processor, frozenset(), Literals(()))
    assert patches.least_side == 8
    assert ears.sound_rate == 16000
    assert ears.longest_sound == 30.0
