import numpy as np
import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.routes import FRAMES, checked_routes, convert, even_frames, widened
from mmeval.errors import (
    CorruptMediaError,
    MediaLimitError,
    MissingExtraError,
    UnknownNameError,
    UsageError,
)
from mmeval.media import decode
from mmeval.media.decode import DecodeLimits, VideoInfo, image
from mmeval.media.media import Media
from mmeval.media.parts import Part
from mmeval.records.request import Request
from mmeval.records.sample import message, user
from tests.support.tiny_media import clip, pdf, picture

CLIP = Media.from_bytes(clip(frames=40))
PAGES = Media.from_bytes(pdf("Hello there", pages=2))


def kinds(request: Request) -> list[str]:
    return [part.kind for message in request.messages for part in message.content.parts]


def test_a_video_becomes_frames_in_its_place_and_the_answer_will_note_it() -> None:
    request = Request(
        (message("system", "Be kind."), user("See ", CLIP, " now")), seed=7
    )
    converted, done = convert(request, ["video->frames"])
    assert kinds(converted) == ["text", "text", *["image"] * FRAMES, "text"]
    assert ([one.partition(",")[0] for one in done], FRAMES) == (
        ["video->frames: 8 frames"],
        8,
    )
    assert (converted.params, converted.wants, converted.seed) == (
        request.params,
        request.wants,
        7,
    )
    light = [
        np.asarray(image(medium)).mean()
        for medium in converted.messages[1].content.media()
    ]
    assert (light, len(set(light))) == (sorted(light), FRAMES)
    other = Request(
        (
            user(
                "See ",
                Media.from_bytes(picture()),
                Part("video", raw="<video1>", label="video1"),
            ),
        )
    )
    assert convert(other, ["video->frames"])[0] is other
    assert convert(Request((user(CLIP),)), [])[1] == ()


def test_a_document_becomes_its_words_or_pictures_of_its_pages() -> None:
    request, words = Request((user("Read ", PAGES),)), "Hello there\n"
    converted, (done,) = convert(request, ["document->text"])
    assert (converted.messages[0].content.text, done[:29]) == (
        f"Read \n{2 * words}",
        "document->text: 23 characters",
    )
    converted, (done,) = convert(request, ["document->page_images"])
    assert (kinds(converted), done[:33]) == (
        ["text", "image", "image"],
        "document->page_images: 2 pictures",
    )
    for pages, limits, most in (
        (2, DecodeLimits(max_pages=1), 1),
        (65, DecodeLimits(), 64),
    ):
        with pytest.raises(MediaLimitError, match=f"max_pages = {most}"):
            convert(
                Request((user(Media.from_bytes(pdf(pages=pages))),)),
                ["document->page_images"],
                limits,
            )
    with pytest.raises(CorruptMediaError, match="document->page_images"):
        convert(Request((user(Media.from_bytes(pdf(""))),)), ["document->text"])


def test_frames_are_from_the_middle_of_equal_shares(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert [frame.time for frame in even_frames(CLIP, 4)] == pytest.approx(
        [0.5, 1.5, 2.5, 3.5]
    )
    assert len(even_frames(Media.from_bytes(clip(frames=3)), 8)) == 3, (
        "each frame of a short video is shown once"
    )
    monkeypatch.setattr(
        decode, "video_info", lambda *_args, **_kwargs: VideoInfo(32, 16, 0.0, 0.0)
    )
    # A video without a stated length is measured.
    assert [frame.time for frame in even_frames(CLIP, 4)] == pytest.approx(
        [0.5, 1.5, 2.5, 3.5], abs=0.11
    )


def test_names_are_checked() -> None:
    assert checked_routes(["video->frames", "video->frames"]) == ("video->frames",)
    with pytest.raises(UnknownNameError) as caught:
        checked_routes(["video->frame"])
    assert (caught.value.name, "video->frames" in caught.value.known) == (
        "video->frame",
        True,
    )
    for names, fault in (
        (["audio->transcript"], "'audio->transcript' does not exist"),
        (["document->text", "document->page_images"], "document;"),
    ):
        with pytest.raises(UsageError, match=fault):
            checked_routes(names)


def test_a_converter_is_refused_without_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError) as caught:
        checked_routes(["video->frames"])
    assert caught.value.extra == "video"
    assert checked_routes(["document->text"]) == ("document->text",)


def test_a_converter_adds_the_kind_that_it_takes_where_what_it_makes_is_taken() -> None:
    seeing = Capabilities.of(["text", "image"], ["text"])
    reading = Capabilities.of(["text"], ["text"])
    assert {*widened(seeing, ["video->frames"]).inputs} == {
        "text",
        "code",
        "image",
        "video",
    }
    with pytest.raises(UsageError, match="returns image"):
        widened(reading, ["video->frames"])
