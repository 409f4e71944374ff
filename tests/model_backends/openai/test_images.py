from __future__ import annotations

import email.parser
import email.policy
from email.message import EmailMessage

import pytest

from mmeval.content.media import Media
from mmeval.records.sample import message, user
from tests.support.mock_openai_server import MockServer
from tests.support.openai_calls import PNG, WAV, data_uri, generate, medium, request
from tests.support.scripted_server import Captured, Scripted, ScriptedServer

PICTURE = Scripted({"data": [{"b64_json": data_uri(PNG, "").partition(",")[2]}]})


def form_of(captured: Captured) -> list[EmailMessage]:
    head = f"Content-Type: {captured.headers['Content-Type']}\r\n\r\n".encode()
    parsed = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + captured.body)
    return [part for part in parsed.iter_parts() if isinstance(part, EmailMessage)]


def name_of(part: EmailMessage) -> str:
    return str(part.get_param("name", header="content-disposition"))


@pytest.mark.parametrize("endpoint", ["images", "auto"])
def test_a_picture_is_drawn_from_text(endpoint: str, mock_server: MockServer) -> None:
    response = generate(
        mock_server.url,
        request("a cat", wants=("image",)),
        endpoint=endpoint,
        outputs="image" if endpoint == "images" else "text+image",
    )
    assert response.output is not None
    assert [part.kind for part in response.output.parts] == ["image"]
    assert mock_server.stats()["paths"] == {"/v1/images/generations": 1}


def test_a_picture_is_drawn_from_text_and_pictures(mock_server: MockServer) -> None:
    response = generate(mock_server.url, request("add a hat", medium(PNG), wants=("image",)), endpoint="images")
    assert response.output is not None
    assert response.output.media("image")[0].mime == "image/png"
    assert mock_server.stats()["paths"] == {"/v1/images/edits": 1}


def test_auto_leaves_mixed_requests_to_chat(mock_server: MockServer) -> None:
    response = generate(
        mock_server.url, request("draw", wants=("text", "image")), endpoint="auto", outputs="text+image", inputs="text"
    )
    assert response.output is not None
    assert {part.kind for part in response.output.parts} == {"text", "image"}
    assert mock_server.stats()["paths"] == {"/v1/chat/completions": 1}


def test_the_prompt_holds_all_messages_and_the_options_have_fields() -> None:
    asked = request(
        message("system", "flat colours"),
        user("a cat"),
        wants=("image",),
        options={"image.size": "64x64", "image.quality": "low"},
    )
    with ScriptedServer(PICTURE) as server:
        generate(server.url, asked, endpoint="images")
    assert server.seen[0].json == {
        "model": "m",
        "prompt": "flat colours\n\na cat",
        "n": 1,
        "size": "64x64",
        "quality": "low",
    }


def test_the_format_of_the_reply_is_asked_for_when_set() -> None:
    with ScriptedServer(PICTURE) as server:
        generate(server.url, request("x", wants=("image",)), endpoint="images", image_response_format="b64_json")
    assert server.seen[0].json["response_format"] == "b64_json"


def test_pictures_go_whole_under_neutral_names() -> None:
    second = PNG + b"\r\n--x\r\n"
    with ScriptedServer(PICTURE) as server:
        generate(server.url, request("mix ", medium(PNG), " and ", medium(second), wants=("image",)), endpoint="images")
    form = {name_of(part): part for part in form_of(server.seen[0])}
    files = [part for part in form_of(server.seen[0]) if part.get_filename()]
    assert form["prompt"].get_payload() == "mix [image1] and [image2]"
    assert [(name_of(part), part.get_filename()) for part in files] == [
        ("image[]", "image1.png"),
        ("image[]", "image2.png"),
    ]
    assert [part.get_payload(decode=True) for part in files] == [PNG, second]
    assert b"secret_answer_name" not in server.seen[0].body


@pytest.mark.parametrize("pictures", [1, 2])
def test_the_form_has_the_fields_that_the_official_client_sends(pictures: int) -> None:
    openai = pytest.importorskip("openai")
    asked = request("hat", *[medium(PNG)] * pictures, wants=("image",))
    with ScriptedServer(PICTURE) as server:
        generate(server.url, asked, endpoint="images")
        given = [("a.png", PNG)] * pictures
        with openai.OpenAI(base_url=server.url, api_key="x", max_retries=0) as client:
            client.images.edit(model="m", prompt="hat", n=1, image=given[0] if pictures == 1 else given)
    ours, theirs = (sorted(map(name_of, form_of(seen))) for seen in server.seen)
    assert ours == theirs


def test_input_that_is_neither_text_nor_picture_is_unsupported() -> None:
    response = generate("http://localhost:1/v1", request(medium(WAV), wants=("image",)), endpoint="images")
    assert response.error is not None
    assert response.error.kind == "unsupported"
    assert "audio" in response.error.message


@pytest.mark.parametrize(
    "body",
    [{"data": []}, {"data": None}, {}, {"data": [{"url": "https://cdn/x.png"}]}, {"data": [{"b64_json": "QUJD!"}]}],
    ids=["no pictures", "null", "no data", "link", "damaged"],
)
def test_a_reply_without_a_picture_is_a_bad_reply(body: dict[str, object]) -> None:
    with ScriptedServer(Scripted(body)) as server:
        response = generate(server.url, request("x", wants=("image",)), endpoint="images")
    assert response.error is not None
    assert response.error.kind == "bad_reply"


def test_what_cannot_be_sent_is_warned_of(mock_server: MockServer) -> None:
    response = generate(mock_server.url, request("x", wants=("image",), temperature=1.0), endpoint="images")
    assert response.warnings == ("images has no field for temperature; not sent",)


def test_a_medium_with_a_hostile_mime_type_writes_no_header() -> None:
    hostile = Media(data=PNG, mime="image/png\r\nX-Evil: 1")
    response = generate("http://localhost:1/v1", request("x", hostile, wants=("image",)), endpoint="images")
    assert response.error is not None
    assert response.error.kind == "unsupported"
