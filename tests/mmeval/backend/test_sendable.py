from dataclasses import replace
from pathlib import Path

import pytest

from mmeval.backend import routes as routes_module
from mmeval.backend import sendable as module
from mmeval.backend.capabilities import Capabilities, Limit
from mmeval.backend.routes import ROUTES, TO_DESCRIBE, routes_to_fewer
from mmeval.backend.sendable import can_take, foreseen, missing, route_mark, sendable
from mmeval.media.decode import DecodeLimits
from mmeval.media.media import Media
from mmeval.media.parts import Interleaved, Part, PartKind, media_part, text_part
from mmeval.program.calls import Call
from mmeval.program.route import Route
from mmeval.records.request import Request
from mmeval.records.sample import Message
from tests.support import tiny_media
from tests.support.unread_media import UNREAD

SEEING = Capabilities.of(["text", "image"], ["text"])
SEEING_HEARING = Capabilities.of(["text", "image", "audio"], ["text"])
READING = Capabilities.of(["text"], ["text"])
ALL = Capabilities.of(["text", "image", "audio", "video", "document", "3d"], ["text"])
MEDIA: dict[PartKind, bytes] = {
    "image": tiny_media.picture(),
    "audio": tiny_media.wav(),
    "video": tiny_media.clip(),
    "document": tiny_media.pdf("Hello"),
    "3d": tiny_media.PLAIN_OBJ,
}


def of_medium(
    medium: Media, kind: PartKind, routes: tuple[str | Route, ...] = TO_DESCRIBE
) -> Call:
    content = Interleaved((Part("text", "See ", raw="See "), media_part(medium, kind)))
    return Call("captioner", Request((Message("user", content),)), convert=routes)


def call(
    kind: PartKind,
    data: bytes | None = None,
    routes: tuple[str | Route, ...] = TO_DESCRIBE,
) -> Call:
    return of_medium(
        Media.from_bytes(MEDIA[kind] if data is None else data), kind, routes
    )


def kinds(request: Request) -> list[str]:
    return [part.kind for part in request.messages[0].content.parts[1:]]


def error_of(asked: Call, able: Capabilities) -> tuple[str, str]:
    error = sendable(asked, able).error
    assert error is not None
    return error.kind, error.message


def test_what_is_taken_is_sent_as_it_is() -> None:
    for kind in MEDIA:
        asked = call(kind)
        assert sendable(asked, ALL) == (asked.request, (), None)


@pytest.mark.parametrize(
    ("kind", "becomes", "start"),
    [
        ("video", ["image"] * 8, "video->frames: 8 frames"),
        ("document", ["text"], "document->excerpt: 5 characters"),
        ("3d", ["image"], "3d->renders: "),
    ],
)
def test_what_is_not_taken_goes_by_a_route_and_is_noted(
    kind: PartKind, becomes: list[str], start: str
) -> None:
    asked = call(kind)
    made = sendable(asked, SEEING)
    assert (
        kinds(made.request),
        made.error,
        [done[: len(start)] for done in made.done],
    ) == (becomes, None, [start])
    assert made.request.digest == asked.request.digest, (
        "it is that of the medium itself"
    )


@pytest.mark.parametrize(
    ("kind", "routes", "able"),
    [
        ("audio", TO_DESCRIBE, SEEING),
        ("3d", TO_DESCRIBE, READING),
        ("3d", ("audio->excerpt",), SEEING),
    ],
)
def test_what_no_route_helps_is_not_taken(
    kind: PartKind, routes: tuple[str, ...], able: Capabilities
) -> None:
    assert error_of(call(kind, routes=routes), able) == (
        "unsupported",
        f"the captioner takes no {kind}",
    )
    two = Capabilities(
        {"text": Limit(), "image": Limit(max_items=2)}, {"text": Limit()}
    )
    made, message = error_of(call("video"), two)
    assert (made, "2 image" in message, "has 8" in message) == (
        "unsupported",
        True,
        True,
    )


def test_the_reason_is_the_same_whatever_was_converted_before() -> None:
    mute = Capabilities({"text": Limit(), "image": Limit()}, {"audio": Limit()})
    asked = [call("image"), call("video")]
    assert {error_of(one, mute) for one in asked} == {
        ("unsupported", "the captioner gives no text")
    }


ONE = Capabilities({"text": Limit(), "image": Limit(max_items=1)}, {"text": Limit()})
SEVERAL = Interleaved(
    (
        text_part("a"),
        *(
            media_part(Media.from_bytes(MEDIA[kind]), kind)
            for kind in ("video", "image")
        ),
        text_part("b"),
    )
)


@pytest.mark.parametrize(
    ("able", "becomes", "notes"),
    [
        (
            SEEING,
            ["text", "image", "image", "image", "image", "text"],
            ["video->3_frames: 3 frames"],
        ),
        (
            ONE,
            ["text", "image", "text"],
            ["video->first_frame: its first", "image->first: the first image of 2"],
        ),
        (ALL, ["text", "video", "image", "text"], []),
        (READING, [], []),
    ],
    ids=["without video", "a single picture", "everything", "no picture"],
)
def test_a_model_gets_fewer_inputs_where_it_does_not_take_all(
    able: Capabilities, becomes: list[str], notes: list[str]
) -> None:
    routes = routes_to_fewer(able, video_frames=3, first_picture=True)
    asked = Call("model", Request((Message("user", SEVERAL),)), convert=routes)
    made, seen = sendable(asked, able), foreseen(asked, able)
    assert (made.error is None) == (missing(asked, able) == []) == bool(becomes)
    assert [
        done[: len(start)] for done, start in zip(made.done, notes, strict=True)
    ] == notes
    if becomes:
        kinds_of = [
            [part.kind for part in one.messages[0].content.parts]
            for one in (made.request, seen)
        ]
        assert kinds_of == [becomes, becomes]
        assert (made.request.digest, bool(route_mark(asked, able))) == (
            asked.request.digest,
            bool(notes),
        )
    assert routes_to_fewer(able, video_frames=0, first_picture=False) == ()


def test_of_the_pictures_of_several_messages_the_first_is_kept_and_one_alone_stays() -> (
    None
):
    pictures = [
        media_part(Media.from_bytes(tiny_media.picture(size=(side, 2))))
        for side in (2, 3)
    ]
    messages = tuple(
        Message("user", Interleaved((text_part("x"), part, part))) for part in pictures
    )
    routes = routes_to_fewer(ONE, video_frames=0, first_picture=True)
    made = sendable(Call("model", Request(messages), convert=routes), ONE)
    assert [message.content.parts[1:] for message in made.request.messages] == [
        (pictures[0],),
        (),
    ]
    alone = Call(
        "model",
        Request((Message("user", Interleaved((pictures[0],))),)),
        convert=routes,
    )
    assert sendable(alone, ONE) == (alone.request, (), None)


def test_large_media_are_converted_although_they_are_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(routes_module, "MAX_VIDEO_BYTES", len(MEDIA["video"]) - 1)
    assert kinds(sendable(call("video"), ALL).request) == ["image"] * 8
    deaf = Capabilities.of(["text", "video"], ["text"])
    assert kinds(sendable(call("video"), deaf).request) == ["video"], (
        "frames would not be taken"
    )
    (done,) = sendable(call("image", tiny_media.picture(size=(4200, 2))), ALL).done
    assert (done.startswith("image->smaller: "), "4096 x 2 pixels" in done) == (
        True,
        True,
    )


@pytest.mark.parametrize("able", [ALL, SEEING], ids=["taken", "converted"])
def test_a_damaged_medium_is_not_sent(able: Capabilities) -> None:
    damaged = {kind: data[:30] for kind, data in MEDIA.items() if kind != "audio"}
    for kind, data in {
        **damaged,
        "3d": b"v 0 0 0\nf 1 2 3\n",
        "document": b"%PDF-1.4 nothing",
    }.items():
        assert error_of(call(kind, data), able)[0] == "bad_media", kind
    error, message = error_of(call("document", b""), able)
    assert (error, message.endswith("(0 bytes)")) == ("bad_media", True)


@pytest.mark.parametrize("name", ["amr", "old word", "pdf with a password", "fbx"])
def test_a_medium_that_would_be_converted_and_is_not_read_here_is_not_damaged(
    name: str,
) -> None:
    kind, data = UNREAD[name]
    assert error_of(call(kind, data), SEEING_HEARING)[0] == "unsupported"


def test_a_medium_that_is_not_read_here_is_sent_to_a_model_that_takes_it() -> None:
    for kind, data in UNREAD.values():
        sent = sendable(call(kind, data, routes=()), ALL)
        assert (kinds(sent.request), sent.error) == ([kind], None)


def test_a_file_that_has_changed_or_gone_is_no_fault_of_the_medium(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(MEDIA["image"])
    row = Media.from_path(path).to_json()
    path.write_bytes(b"something else")
    for _ in range(2):
        assert (
            error_of(of_medium(Media.from_json(row, tmp_path), "image"), ALL)[0]
            == "internal"
        )
        path.unlink(missing_ok=True)


def test_only_routes_that_may_be_gone_are_part_of_the_name_of_a_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert route_mark(call("3d"), ALL) == route_mark(call("document"), ALL) == ""
    assert route_mark(call("3d", routes=()), SEEING) == ""
    drawn = route_mark(call("3d"), SEEING)
    assert (len(drawn), drawn != route_mark(call("document"), SEEING)) == (8, True)
    newer = {**ROUTES, "3d->renders": replace(ROUTES["3d->renders"], version=3)}
    monkeypatch.setattr(module, "ROUTES", newer)
    # without its memory
    monkeypatch.setattr(module, "_routes", module._routes.__wrapped__)
    assert route_mark(call("3d"), SEEING) != drawn


def test_what_can_be_taken_is_known_without_reading_media() -> None:
    assert [kind for kind in MEDIA if can_take(kind, TO_DESCRIBE, SEEING)] == [
        "image",
        "video",
        "document",
        "3d",
    ]
    assert [kind for kind in MEDIA if can_take(kind, TO_DESCRIBE, READING)] == [
        "document"
    ]
    assert (missing(call("video"), SEEING), missing(call("audio"), SEEING)) == (
        [],
        ["takes no audio"],
    )


def test_a_forecast_counts_what_would_be_sent() -> None:
    asked = of_medium(Media(sha256="0" * 64, mime="video/mp4", size=10**9), "video")
    ahead = foreseen(asked, SEEING)
    assert kinds(ahead) == ["image"] * 8
    assert sum(media.size for media in ahead.messages[0].content.media()) < 10**7
    assert foreseen(asked, ALL) is asked.request


def shouting(media: Media, limits: DecodeLimits) -> tuple[list[Part], str]:
    return [text_part("WORDS")], "words;"


OWN = Route(
    "document",
    "text",
    shouting,
    due=lambda media, limits: True,
    name="document->shouting",
)


def test_a_route_that_a_program_brings_along_is_gone_and_named_with_its_version() -> (
    None
):
    for able in (ALL, READING):
        made = sendable(call("document", routes=(OWN,)), able)
        assert made.request.messages[0].content.parts[1].text == "WORDS"
        assert [done.partition(";")[0] for done in made.done] == [
            "document->shouting: words"
        ]
    assert missing(call("document", routes=(OWN,)), READING) == []
    routes = (OWN, replace(OWN, name="document->other"), replace(OWN, version=2))
    marks = {route_mark(call("document", routes=(route,)), ALL) for route in routes}
    assert (len(marks), {len(mark) for mark in marks}) == (3, {8})
    assert (
        call("document", routes=(OWN,)).request.digest
        == call("document").request.digest
    )
