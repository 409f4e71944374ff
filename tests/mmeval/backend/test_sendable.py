from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from mmeval.backend import routes as routes_module
from mmeval.backend import sendable as module
from mmeval.backend.capabilities import Capabilities, Limit
from mmeval.backend.routes import ROUTES, TO_DESCRIBE
from mmeval.backend.sendable import can_take, foreseen, missing, route_mark, sendable
from mmeval.content.media import Media
from mmeval.content.parts import Interleaved, Part, PartKind, media_part, text_part
from mmeval.decode import DecodeLimits
from mmeval.program.calls import Call
from mmeval.program.route import Route
from mmeval.records.request import Request
from mmeval.records.sample import Message
from tests.support import tiny_media

SEEING = Capabilities.of(["text", "image"], ["text"])
READING = Capabilities.of(["text"], ["text"])
ALL = Capabilities.of(["text", "image", "audio", "video", "document", "3d"], ["text"])
MEDIA: dict[PartKind, bytes] = {
    "image": tiny_media.picture(),
    "audio": tiny_media.wav(),
    "video": tiny_media.clip(),
    "document": tiny_media.pdf("Hello"),
    "3d": tiny_media.PLAIN_OBJ,
}


def call(kind: PartKind, data: bytes | None = None, routes: tuple[str | Route, ...] = TO_DESCRIBE) -> Call:
    medium = Media.from_bytes(MEDIA[kind] if data is None else data)
    content = Interleaved((Part("text", "See ", raw="See "), media_part(medium, kind)))
    return Call("captioner", Request((Message("user", content),)), convert=routes)


def kinds(request: Request) -> list[str]:
    return [part.kind for part in request.messages[0].content.parts[1:]]


@pytest.mark.parametrize("kind", MEDIA)
def test_what_is_taken_is_sent_as_it_is(kind: PartKind) -> None:
    asked = call(kind)
    assert sendable(asked, ALL) == (asked.request, (), None)


@pytest.mark.parametrize(
    ("kind", "becomes", "start"),
    [
        ("video", ["image"] * 8, "video->frames: 8 frames"),
        ("document", ["text"], "document->excerpt: 5 characters"),
        ("3d", ["image"], "3d->renders: three views"),
    ],
)
def test_what_is_not_taken_goes_by_a_route_and_is_told(kind: PartKind, becomes: list[str], start: str) -> None:
    made = sendable(call(kind), SEEING)
    assert kinds(made.request) == becomes
    assert ([done[: len(start)] for done in made.done], made.error) == ([start], None)


def test_the_digest_is_of_the_medium_itself() -> None:
    asked = call("3d")
    assert sendable(asked, SEEING).request.digest == asked.request.digest == sendable(asked, ALL).request.digest


def test_what_no_route_helps_is_start_to_be_not_taken() -> None:
    for asked, able in (
        (call("audio"), SEEING),
        (call("3d"), READING),
        (call("3d", routes=("audio->excerpt",)), SEEING),
    ):
        error = sendable(asked, able).error
        assert error is not None
        assert (error.kind, error.message) == ("unsupported", f"the captioner takes no {kinds(asked.request)[0]}")


def test_a_film_that_is_large_is_shown_as_frames_although_it_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes_module, "MAX_VIDEO_BYTES", len(MEDIA["video"]) - 1)
    assert kinds(sendable(call("video"), ALL).request) == ["image"] * 8
    deaf = Capabilities.of(["text", "video"], ["text"])
    assert kinds(sendable(call("video"), deaf).request) == ["video"], "frames would not be taken"


def test_a_large_picture_is_made_smaller_although_it_is_taken() -> None:
    made = sendable(call("image", tiny_media.picture(size=(4200, 2))), ALL)
    (done,) = made.done
    assert (done.startswith("image->smaller: "), "4096 x 2 pixels" in done) == (True, True)


@pytest.mark.parametrize("able", [ALL, SEEING], ids=["taken", "converted"])
@pytest.mark.parametrize("kind", [kind for kind in MEDIA if kind != "audio"])
def test_a_damaged_medium_is_not_sent(kind: PartKind, able: Capabilities) -> None:
    damaged = {"3d": b"v 0 0 0\nf 1 2 3\n", "document": b"%PDF-1.4 nothing"}.get(kind, MEDIA[kind][:30])
    error = sendable(call(kind, damaged), able).error
    assert error is not None
    assert error.kind == "bad_media", error.message


@pytest.mark.parametrize("able", [ALL, SEEING], ids=["taken", "converted"])
def test_an_empty_file_is_a_damaged_medium_whoever_takes_its_kind(able: Capabilities) -> None:
    error = sendable(call("document", b""), able).error
    assert error is not None
    assert (error.kind, error.message.endswith("it is empty (0 bytes)")) == ("bad_media", True)


def test_a_file_that_has_changed_or_gone_is_nobodys_fault(tmp_path: Any) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(MEDIA["image"])
    row = Media.from_path(path).to_json()
    path.write_bytes(b"something else")
    for _ in range(2):
        part = media_part(Media.from_json(row, tmp_path), "image")
        asked = replace(call("image"), request=Request((Message("user", Interleaved((part,))),)))
        error = sendable(asked, ALL).error
        assert error is not None
        assert error.kind == "internal", error.message
        path.unlink(missing_ok=True)


def test_a_format_that_cannot_be_read_here_is_not_called_damaged() -> None:
    gltf = b'{"asset": {"version": "2.0"}}'
    content = Interleaved((media_part(Media.from_bytes(gltf, "a.gltf"), "3d"),))
    error = sendable(Call("captioner", Request((Message("user", content),)), convert=TO_DESCRIBE), SEEING).error
    assert error is not None
    assert (error.kind, "model/gltf+json" in error.message) == ("unsupported", True)


def test_limits_of_whoever_is_asked_hold_for_what_is_made() -> None:
    two = Capabilities({"text": Limit(), "image": Limit(max_items=2)}, {"text": Limit()})
    error = sendable(call("video"), two).error
    assert error is not None
    assert ("2 image" in error.message, "8 " in error.message) == (True, True)


def test_only_routes_that_may_be_gone_are_part_of_the_name_of_a_call(monkeypatch: pytest.MonkeyPatch) -> None:
    assert route_mark(call("3d"), ALL) == route_mark(call("document"), ALL) == ""
    assert route_mark(call("3d", routes=()), SEEING) == ""
    drawn = route_mark(call("3d"), SEEING)
    assert len(drawn) == 8
    assert drawn != route_mark(call("document"), SEEING)
    newer = {**ROUTES, "3d->renders": replace(ROUTES["3d->renders"], version=2)}
    monkeypatch.setattr(module, "ROUTES", newer)
    monkeypatch.setattr(module, "_of_inputs", module._of_inputs.__wrapped__)  # without its memory
    assert route_mark(call("3d"), SEEING) != drawn


def test_what_can_be_taken_is_known_without_looking_at_media() -> None:
    assert [kind for kind in MEDIA if can_take(kind, TO_DESCRIBE, SEEING)] == ["image", "video", "document", "3d"]
    assert [kind for kind in MEDIA if can_take(kind, TO_DESCRIBE, READING)] == ["document"]
    assert missing(call("video"), SEEING) == []
    assert missing(call("audio"), SEEING) == ["takes no audio"]


def test_a_forecast_counts_what_would_be_sent() -> None:
    unread = Media(sha256="0" * 64, mime="video/mp4", size=10**9)
    asked = replace(call("video"), request=Request((Message("user", Interleaved((media_part(unread, "video"),))),)))
    ahead = foreseen(asked, SEEING)
    assert [part.kind for part in ahead.messages[0].content.parts] == ["image"] * 8
    assert sum(media.size for media in ahead.messages[0].content.media()) < 10**7
    assert foreseen(asked, ALL) is asked.request


def shouting(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    return [text_part("WORDS")], "words;"


OWN = Route("document", "text", shouting, due=lambda media, limits: True, name="document->shouting")


@pytest.mark.parametrize("able", [ALL, READING], ids=["documents are taken", "only text is"])
def test_a_route_that_a_program_brings_along_is_gone(able: Capabilities) -> None:
    made = sendable(call("document", routes=(OWN,)), able)
    assert made.request.messages[0].content.parts[1].text == "WORDS"
    assert [done.partition(";")[0] for done in made.done] == ["document->shouting: words"]
    assert missing(call("document", routes=(OWN,)), READING) == []


def test_a_route_of_ones_own_is_part_of_the_name_of_a_call_with_its_version() -> None:
    marks = [
        route_mark(call("document", routes=(route,)), ALL)
        for route in (OWN, replace(OWN, name="document->other"), replace(OWN, version=2))
    ]
    assert len(set(marks)) == 3
    assert all(len(mark) == 8 for mark in marks)
    assert call("document", routes=(OWN,)).request.digest == call("document").request.digest
