from __future__ import annotations

import numpy as np
import pytest

from mmeval.backend.capabilities import Capabilities
from mmeval.backend.routes import FRAMES, checked_routes, convert, even_frames, widened
from mmeval.content.media import Media
from mmeval.content.parts import Part
from mmeval.decode import DecodeLimits, image
from mmeval.errors import CorruptMediaError, MediaLimitError, UnknownNameError, UsageError
from mmeval.records.request import Request
from mmeval.records.sample import message, user
from tests.support.tiny_media import clip, pdf, picture

CLIP = Media.from_bytes(clip(frames=40))
PAGES = Media.from_bytes(pdf("Hello there", pages=2))


def kinds(request: Request) -> list[str]:
    return [part.kind for message in request.messages for part in message.content.parts]


def test_a_video_becomes_frames_in_its_place_and_the_answer_will_say_so() -> None:
    request = Request((message("system", "Be kind."), user("See ", CLIP, " now")), seed=7)
    converted, done = convert(request, ["video->frames"])
    assert kinds(converted) == ["text", "text", *["image"] * FRAMES, "text"]
    assert [one.partition(",")[0] for one in done] == ["video->frames: 8 frames"]
    assert (converted.params, converted.wants, converted.seed) == (request.params, request.wants, 7)
    light = [np.asarray(image(medium)).mean() for medium in converted.messages[1].content.media()]
    assert light == sorted(light)
    assert len(set(light)) == FRAMES


def test_a_document_becomes_its_words() -> None:
    converted, done = convert(Request((user("Read ", PAGES),)), ["document->text"])
    words = "Hello there\n"
    assert converted.messages[0].content.text == f"Read \n{2 * words}"
    assert [one.partition(" of ")[0] for one in done] == ["document->text: 23 characters"]


def test_a_document_becomes_pictures_of_its_pages() -> None:
    converted, done = convert(Request((user("Read ", PAGES),)), ["document->page_images"])
    assert kinds(converted) == ["text", "image", "image"]
    assert [one.partition(" of ")[0] for one in done] == ["document->page_images: 2 pictures"]


def test_what_nobody_named_is_left_as_it_is() -> None:
    request = Request((user("See ", Media.from_bytes(picture()), Part("video", raw="<video1>", label="video1")),))
    assert convert(request, ["video->frames"])[0] is request
    assert convert(Request((user(CLIP),)), [])[1] == ()


def test_a_document_of_pictures_holds_no_text_and_the_other_converter_is_named() -> None:
    with pytest.raises(CorruptMediaError, match="document->page_images"):
        convert(Request((user(Media.from_bytes(pdf(""))),)), ["document->text"])


def test_limits_hold() -> None:
    with pytest.raises(MediaLimitError, match="max_pages = 1"):
        convert(Request((user(PAGES),)), ["document->page_images"], DecodeLimits(max_pages=1))
    with pytest.raises(MediaLimitError, match="max_pages = 64"):
        convert(Request((user(Media.from_bytes(pdf(pages=65))),)), ["document->page_images"])


def test_frames_are_from_the_middle_of_equal_shares() -> None:
    assert [frame.time for frame in even_frames(CLIP, 4)] == pytest.approx([0.5, 1.5, 2.5, 3.5])


def test_a_short_video_shows_each_of_its_frames_once() -> None:
    assert len(even_frames(Media.from_bytes(clip(frames=3)), 8)) == 3


def test_a_video_that_does_not_say_how_long_it_is_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    from mmeval.backend import routes as routes_module
    from mmeval.decode import VideoInfo

    known = [frame.time for frame in even_frames(CLIP, 4)]
    monkeypatch.setattr(routes_module, "video_info", lambda *_args, **_kwargs: VideoInfo(32, 16, 0.0, 0.0))
    assert [frame.time for frame in even_frames(CLIP, 4)] == pytest.approx(known, abs=0.11)


def test_names_are_checked() -> None:
    assert checked_routes(["video->frames", "video->frames"]) == ("video->frames",)
    with pytest.raises(UnknownNameError, match='"video->frames"'):
        checked_routes(["video->frame"])
    with pytest.raises(UsageError, match="'audio->transcript' is"):
        checked_routes(["audio->transcript"])
    with pytest.raises(UsageError, match="both take document"):
        checked_routes(["document->text", "document->page_images"])


def test_a_converter_adds_the_kind_that_it_takes_where_what_it_makes_is_taken() -> None:
    seeing, reading = Capabilities.of(["text", "image"], ["text"]), Capabilities.of(["text"], ["text"])
    assert {*widened(seeing, ["video->frames"]).inputs} == {"text", "code", "image", "video"}
    with pytest.raises(UsageError, match="makes image"):
        widened(reading, ["video->frames"])
