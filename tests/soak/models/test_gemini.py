"""The backend gemini beside Google's own client, and on all bundled tasks."""

import base64
import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.media import PartKind
from tests.soak.support.doc_examples import blocks_run_by, commands
from tests.support import gemini
from tests.support.cli import KEY, QUIET, environment, mmeval
from tests.support.gemini import SAMPLES, GeminiServer, ask
from tests.support.openai_calls import medium, request
from tests.support.tiny_media import picture, sound

# Its modules warn of each other while they are imported.
pytestmark = pytest.mark.filterwarnings("ignore")
KINDS: tuple[PartKind, ...] = ("text", "image", "audio")
MODALITIES = ["TEXT", "IMAGE", "AUDIO"]


@pytest.fixture
def server() -> Iterator[GeminiServer]:
    with GeminiServer() as found:
        yield found


@pytest.fixture
def client(server: GeminiServer) -> Iterator[Any]:
    from google import genai
    from google.genai import types

    options = types.HttpOptions(base_url=server.url, api_version="v1beta")
    with genai.Client(api_key=KEY, http_options=options) as found:
        yield found


def drawn(turn: int) -> bytes:
    place = next(part for part in gemini.parts(KINDS, turn) if "image" in str(part))
    return base64.b64decode(place["inlineData"]["data"])


# --- Google's client accepts what the stand-in gives ----------------------------------


def generated_parts(client: Any, *, stream: bool) -> list[Any]:
    asked = {
        "model": "m",
        "contents": "q",
        "config": {"response_modalities": MODALITIES},
    }
    models = client.models
    replies = (
        models.generate_content_stream(**asked)
        if stream
        else [models.generate_content(**asked)]
    )
    found: list[Any] = []
    for reply in replies:
        found += reply.candidates[0].content.parts or ()
    return found


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
def test_googles_client_reads_the_parts_of_the_stand_in(
    stream: bool, client: Any
) -> None:
    thought, text, image, audio = generated_parts(client, stream=stream)
    assert thought.thought
    assert text.text == "answer 1: "
    assert text.thought_signature == base64.b64decode(gemini.signature(1, 0))
    assert image.inline_data.data == drawn(1)
    assert audio.inline_data.data == SAMPLES


def test_googles_client_reads_the_steps_of_the_stand_in(client: Any) -> None:
    formats = [{"type": kind} for kind in KINDS]
    reply = client.interactions.create(model="m", input="q", response_format=formats)
    thought, given = reply.steps
    assert (reply.status, thought.type) == ("completed", "thought")
    assert [item.type for item in given.content] == [*KINDS]


def test_googles_client_reads_the_stream_of_steps(client: Any) -> None:
    formats = [{"type": kind} for kind in KINDS]
    events = client.interactions.create(
        model="m", input="q", response_format=formats, stream=True
    )
    rows = [event.model_dump(exclude_none=True) for event in events]
    names = [row["event_type"] for row in rows]
    assert (names[0], names[-1]) == ("interaction.created", "interaction.completed")
    deltas = [row["delta"]["type"] for row in rows if "delta" in row]
    assert deltas == ["thought_summary", "thought_signature", *KINDS]


# --- Google's types accept what the backend sends -------------------------------------


def sent(server: GeminiServer, api: str) -> dict[str, Any]:
    """A request with every kind of input that the types know."""
    options = {"image.aspect_ratio": "16:9", "image.size": "2K"}
    asked = request(
        "see",
        medium(picture()),
        medium(sound("flac")),
        wants=KINDS,
        options=options,
        temperature=0.5,
        top_p=0.9,
        max_gen_toks=64,
        until=["x"],
    )
    response = ask(server.url, asked, outputs="text+image+audio", api=api)
    assert response.output is not None, response.error
    return server.seen[0].json


def test_googles_types_know_each_field_of_generate_content(
    server: GeminiServer,
) -> None:
    from google.genai import types

    body = sent(server, "generate")
    assert body.keys() == {"contents", "generationConfig"}
    types.GenerateContentConfig.model_validate(body["generationConfig"])
    for row in body["contents"]:
        types.Content.model_validate(row)


def test_googles_types_know_each_field_of_interactions(server: GeminiServer) -> None:
    from google.genai._gaos.types.interactions import CreateModelInteraction

    body = sent(server, "interactions")
    read = CreateModelInteraction.model_validate(body)
    written = json.loads(read.model_dump_json(exclude_none=True, by_alias=True))
    assert body.keys() <= written.keys()
    assert written["generation_config"] == body["generation_config"]
    assert written["response_format"] == body["response_format"]


# --- all benchmarks -------------------------------------------------------------------


@pytest.mark.parametrize("api", ["generate", "interactions"])
def test_every_kind_that_it_gives_is_asked_on_all_bundled_tasks(
    api: str, server: GeminiServer, tmp_path: Path
) -> None:
    arguments = f"model=m,base_url={server.url},outputs=text+image+audio,api={api}"
    done = mmeval(
        *("--tasks", "ueval,isg,mmmg,unim_hard,mme_unify", "--data", "bundled"),
        *("--model", "gemini", "--model_args", arguments),
        *("--output_path", tmp_path, "--predict_only", *QUIET),
    )
    assert done.code == 0, done.err
    assert server.kinds() == {*KINDS}
    inputs = b"".join(row.body for row in server.seen)
    for mime in (b"image/png", b"audio/wav", b"video/mp4", b"application/pdf"):
        assert mime in inputs


# --- the pages ------------------------------------------------------------------------

HERE = "tests/soak/models/test_gemini.py"
SHOWN = [
    command.text
    for block in blocks_run_by(f"{HERE}::test_the_commands_of_the_pages_are_accepted")
    for command in commands(block.text)
]


@pytest.mark.parametrize("command", SHOWN)
def test_the_commands_of_the_pages_are_accepted(command: str, tmp_path: Path) -> None:
    _, *words = shlex.split(command.replace("\\\n", " "))
    if "--data_dir" in words:
        place = words.index("--data_dir")
        del words[place : place + 2]
    data = ("--data", "bundled", "--output_path", tmp_path)
    env = {**environment(), "GEMINI_API_KEY": KEY}
    done = mmeval(*words, *data, "--dry_run", env=env)
    assert done.code == 0, done.err
