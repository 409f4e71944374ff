from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.videos import VideosEndpoint
from mmeval.records import Request, Response
from mmeval.records.sample import message, user
from tests.model_backends.openai.test_images import form_of, name_of
from tests.support.mock_openai_server import MP4, MockServer
from tests.support.openai_calls import (
    PNG,
    data_uri,
    failure,
    generate,
    kind_of,
    kinds_of,
    medium,
    request,
)
from tests.support.servers import (
    Captured,
    Exchange,
    Reply,
    Scripted,
    ScriptedServer,
    WireServer,
    reply,
)
from tests.support.tiny_media import picture

QUEUED = {"id": "v1", "object": "video", "status": "queued", "progress": 0}
DONE = {**QUEUED, "status": "completed", "progress": 100}
VIDEOS, JOB = "/v1/videos", "/v1/videos/v1"
CONTENT = f"{JOB}/content"
CLIP = Reply(MP4, content_type="video/mp4")
POLLED = {"endpoint": "videos", "poll_seconds": 0.01, "timeout": 20}
KEY = "key-0123456789-abcdef"


def video_of(url: str, asked: Request | None = None, **arguments: Any) -> Response:
    """The answer to a request for a video, polled without pauses."""
    given = {**POLLED, **arguments}
    return generate(url, asked or request("a ball", wants=("video",)), **given)


def failed_video(url: str, **arguments: Any) -> Any:
    asked = request("a ball", wants=("video",))
    return failure(url, asked, **{**POLLED, **arguments})


def fields_of(captured: Captured) -> dict[str, str]:
    """The fields and files of a form; of a file its type."""
    fields = {}
    for part in form_of(captured):
        is_file = part.get_filename() is not None
        fields[name_of(part)] = (
            part.get_content_type() if is_file else part.get_content().strip()
        )
    return fields


def form_sent(asked: Request, **arguments: Any) -> dict[str, str]:
    """The form in which a request is sent."""
    answers = (Scripted(QUEUED), Scripted(DONE), Scripted(MP4))
    with ScriptedServer(*answers) as server:
        video_of(server.url, asked, **arguments)
    return fields_of(server.seen[0])


def test_a_video_is_a_job_that_is_polled_and_fetched() -> None:
    with MockServer(video_polls=3) as server:
        response = video_of(server.url)
    assert response.output is not None
    [video] = response.output.media("video")
    assert video.mime == "video/mp4"
    assert video.read().startswith(MP4)
    assert response.served == "mock"
    assert server.stats()["paths"] == {VIDEOS: 1}


def test_only_a_video_is_asked_of_the_endpoint_for_it() -> None:
    backend = OpenAIBackend(
        model="m",
        base_url="http://localhost/v1",
        endpoint="auto",
        outputs="text+image+video",
    )
    video, both = request("a", wants=("video",)), request("a", wants=("text", "video"))
    assert isinstance(backend._endpoint(video), VideosEndpoint)
    assert not isinstance(backend._endpoint(both), VideosEndpoint)


def test_the_form_holds_the_prompt_and_the_options() -> None:
    options = {"video.size": "1280x720", "video.seconds": 4, "video.fps": 8}
    asked = request(
        message("system", "flat colours"),
        user("a ball"),
        wants=("video",),
        options=options,
    )
    assert form_sent(asked) == {
        "model": "m",
        "prompt": "flat colours\n\na ball",
        "seconds": "4",
        "size": "1280x720",
        "fps": "8",
    }


def test_fields_of_the_user_are_in_the_form() -> None:
    asked = request("a ball", wants=("video",), options={"video.seconds": 4})
    extra = {"num_frames": 9, "lora": {"name": "x"}, "seconds": None}
    assert form_sent(asked, extra_body=extra) == {
        "model": "m",
        "prompt": "a ball",
        "num_frames": "9",
        "lora": '{"name": "x"}',
    }


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [({}, None), ({"send_seed": True}, "7")],
)
def test_a_seed_is_sent_on_request_alone(
    arguments: dict[str, Any], sent: str | None
) -> None:
    asked = request("a ball", wants=("video",), seed=7)
    assert form_sent(asked, **arguments).get("seed") == sent


@pytest.mark.parametrize(
    ("drawn", "mime"), [(PNG, "image/png"), (picture("BMP"), "image/png")]
)
def test_a_picture_is_the_reference_that_the_video_begins_with(
    drawn: bytes, mime: str
) -> None:
    asked = request("it falls: ", medium(drawn), wants=("video",))
    sent = form_sent(asked)
    assert sent["prompt"] == "it falls:"
    assert sent["input_reference"] == mime


@pytest.mark.parametrize(
    "content", [("mix", medium(PNG), medium(PNG)), ("hear", medium(b"fLaC" + b"x"))]
)
def test_what_the_form_has_no_field_for_is_unsupported(content: Any) -> None:
    with WireServer() as server:
        response = video_of(server.url, request(*content, wants=("video",)))
    assert kind_of(response) == "unsupported"
    assert server.count == 0


def test_what_is_no_video_is_no_answer() -> None:
    with WireServer(
        Exchange(VIDEOS, [reply(DONE)]), Exchange(CONTENT, [Reply(PNG)])
    ) as server:
        error = failed_video(server.url)
    assert error.kind == "bad_reply"
    assert "image/png" in error.message


def test_media_beside_the_video_are_noted() -> None:
    job = {**DONE, "preview": data_uri(PNG * 9, "image/png")}
    with WireServer(
        Exchange(VIDEOS, [reply(job)]), Exchange(CONTENT, [CLIP])
    ) as server:
        response = video_of(server.url)
    assert any("preview" in warning for warning in response.warnings)


# --- at once --------------------------------------------------------------------------


def test_a_video_may_come_at_once() -> None:
    with WireServer(Exchange(f"{VIDEOS}/sync", [CLIP])) as server:
        response = video_of(server.url, videos_sync=True)
    assert kinds_of(response) == ["video"]
    assert server.asked == ["POST /v1/videos/sync"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (reply({"error": {"message": "no", "code": "content_filter"}}), "refused"),
        (reply({"detail": "num_frames must be odd"}, status=422), "bad_request"),
    ],
)
def test_an_error_in_place_of_the_video_is_read(answer: Reply, kind: str) -> None:
    with WireServer(Exchange(f"{VIDEOS}/sync", [answer])) as server:
        response = video_of(server.url, videos_sync=True)
    if kind == "refused":
        assert response.is_refused
    else:
        assert kind_of(response) == kind


def test_the_way_to_ask_at_once_is_of_one_program() -> None:
    with pytest.raises(UsageError):
        OpenAIBackend(
            model="m",
            base_url="http://localhost/v1",
            endpoint="videos",
            videos_sync=True,
            videos_dialect="openrouter",
        )


# --- the dialect of OpenRouter --------------------------------------------------------


def test_openrouter_is_asked_in_json() -> None:
    options = {"video.size": "1280x720", "video.seconds": "8", "video.fps": 24}
    asked = request("it falls: ", medium(PNG), wants=("video",), options=options)
    frame = {"type": "image_url", "image_url": {"url": data_uri(PNG, "image/png")}}
    body = {
        "model": "m",
        "prompt": "it falls: ",
        "duration": 8,
        "size": "1280x720",
        "resolution": "720p",
        "frame_images": [{**frame, "frame_type": "first_frame"}],
    }
    exchanges = (
        Exchange(VIDEOS, [reply(DONE)], body=body, absent=["fps", "seed"]),
        Exchange(CONTENT, [CLIP]),
    )
    with WireServer(*exchanges) as server:
        response = video_of(
            server.url,
            asked,
            videos_dialect="openrouter",
            extra_body={"resolution": "720p"},
        )
    assert response.error is None
    assert server.faults == []
    [warning] = response.warnings
    assert "video.fps" in warning


def openrouter(server: WireServer, monkeypatch: pytest.MonkeyPatch) -> Response:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return video_of(server.url, videos_dialect="openrouter")


def test_openrouter_is_polled_where_it_says_and_gives_a_link_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    authorized = {"Authorization": f"Bearer {KEY}"}
    job = {"id": "v1", "status": "pending"}
    made = {**job, "status": "completed", "unsigned_urls": ["/api/files/1"]}
    exchanges = (
        Exchange(VIDEOS, [reply({**job, "polling_url": "/api/jobs/1"})]),
        Exchange("/api/jobs/1", [reply(job), reply(made)], headers=authorized),
        Exchange("/api/files/1", [CLIP], headers=authorized),
    )
    with WireServer(*exchanges) as server:
        response = openrouter(server, monkeypatch)
    assert response.error is None
    assert server.faults == []


def test_the_key_goes_to_no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    away = Exchange("/clip", [CLIP], absent=["Authorization"])
    with WireServer(away) as other:
        elsewhere = f"http://{other.host}"
        made = {**DONE, "unsigned_urls": [f"{elsewhere}/clip"]}
        posted = {**QUEUED, "polling_url": f"{elsewhere}/poll"}
        exchanges = (
            Exchange(VIDEOS, [reply(posted)]),
            Exchange(JOB, [reply(made)]),
        )
        with WireServer(*exchanges) as server:
            response = openrouter(server, monkeypatch)
    assert response.error is None
    assert other.faults == []
    assert other.asked == ["GET /clip"]


def test_a_redirect_to_another_server_is_followed_without_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with WireServer(Exchange("/clip", [CLIP], absent=["Authorization"])) as other:
        away = Reply(b"", status=302, headers={"Location": f"http://{other.host}/clip"})
        exchanges = (
            Exchange(VIDEOS, [reply(DONE)]),
            Exchange(CONTENT, [away], headers={"Authorization": f"Bearer {KEY}"}),
        )
        with WireServer(*exchanges) as server:
            response = openrouter(server, monkeypatch)
    assert response.error is None
    assert server.faults == []
    assert other.faults == []


@pytest.mark.parametrize("status", ["failed", "expired"])
def test_a_job_of_openrouter_may_end_in_words(status: str) -> None:
    job = {"id": "v1", "status": status, "error": "the provider is out of memory"}
    with WireServer(Exchange(VIDEOS, [reply(job)])) as server:
        error = failed_video(server.url, videos_dialect="openrouter")
    assert error.kind == "server"
    assert "out of memory" in error.message


def test_the_settings_of_videos_are_part_of_the_identity(tmp_path: Path) -> None:
    def identity(**arguments: Any) -> Any:
        return OpenAIBackend(
            model="m", base_url="http://localhost/v1", endpoint="videos", **arguments
        ).identity

    plain = identity()
    assert identity(videos_sync=True) != plain
    assert identity(videos_dialect="openrouter") != plain
    assert identity(poll_seconds=1) == plain
