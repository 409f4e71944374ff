"""The client of OpenAI itself takes the videos that our test servers make, and has
types for what we ask: the shapes are theirs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from openai.types import Video, VideoSeconds, VideoSize
from openai.types.video_create_params import VideoCreateParams
from pydantic import TypeAdapter

from tests.model_backends.openai.test_videos import form_sent
from tests.support.mock_openai_server import MP4, MockServer
from tests.support.openai_calls import PNG, medium, request
from tests.support.servers import Exchange, WireServer, reply

# the client says so whoever serves them
pytestmark = pytest.mark.filterwarnings("ignore:The Sora API:DeprecationWarning")

STATED = {
    "id": "v1",
    "object": "video",
    "model": "sora-2",
    "status": "queued",
    "progress": 0,
    "created_at": 1,
    "completed_at": None,
    "expires_at": None,
    "prompt": "a ball",
    "remixed_from_video_id": None,
    "seconds": "4",
    "size": "1280x720",
    "error": None,
}


@contextmanager
def videos(server: WireServer | MockServer) -> Iterator[Any]:
    """The part of the client that asks for videos; its connections end with it."""
    with openai.OpenAI(api_key="k", base_url=server.url, max_retries=0) as client:
        yield client.videos


def test_the_stand_in_server_makes_videos_for_the_client() -> None:
    with MockServer(video_polls=2) as server, videos(server) as asking:
        made = asking.create_and_poll(
            model="m", prompt="a ball", seconds="4", poll_interval_ms=10
        )
        clip = asking.download_content(made.id).read()
    assert made == Video.model_validate(made.model_dump())
    assert (made.status, clip.startswith(MP4)) == ("completed", True)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"status": "in_progress", "progress": 50},
        {"status": "completed", "progress": 100},
        {
            "status": "failed",
            "error": {"code": "moderation_blocked", "message": "Blocked."},
        },
    ],
    ids=["queued", "in progress", "completed", "failed"],
)
def test_a_job_has_the_types_of_the_client(changes: dict[str, Any]) -> None:
    row = {**STATED, **changes}
    stated = Exchange("/v1/videos/v1", [reply(row)])
    with WireServer(stated) as server, videos(server) as asking:
        read = asking.retrieve("v1")
    assert read == Video.model_validate(row)


def test_a_request_has_the_fields_of_the_client() -> None:
    options = {"video.size": "1280x720", "video.seconds": 4}
    asked = request("falls ", medium(PNG), wants=("video",), options=options)
    sent = form_sent(asked)
    assert set(sent) <= set(VideoCreateParams.__annotations__)
    # the others are any text or a file
    types: dict[str, TypeAdapter[Any]] = {
        "seconds": TypeAdapter(VideoSeconds),
        "size": TypeAdapter(VideoSize),
    }
    for name, known_type in types.items():
        assert known_type.validate_python(sent[name]) == sent[name]
