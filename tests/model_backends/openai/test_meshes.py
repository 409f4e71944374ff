from typing import Any

import pytest

from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.meshes import MeshesEndpoint
from mmeval.records import Response
from tests.support.openai_calls import (
    GLB,
    PNG,
    data_uri,
    generate,
    kind_of,
    kinds_of,
    medium,
    request,
)
from tests.support.servers import Exchange, Reply, WireServer, reply

MESHES, CONTENT = "/v1/meshes", "/v1/meshes/m1/content"
DONE = {"id": "m1", "object": "mesh", "status": "completed", "model": "shape"}


def mesh_of(url: str, *content: Any, **arguments: Any) -> Response:
    given = {"endpoint": "meshes", "poll_seconds": 0.01, "timeout": 20, **arguments}
    return generate(url, request(*content, wants=("3d",), seed=7), **given)


def server_of(made: bytes = GLB, **expected: Any) -> WireServer:
    asked = Exchange(MESHES, [reply({**DONE, "status": "queued"})], **expected)
    job = Exchange(f"{MESHES}/m1", [reply(DONE)])
    return WireServer(asked, job, Exchange(CONTENT, [Reply(made)]))


def test_a_3d_model_is_made_of_a_picture_by_a_job() -> None:
    body = {
        "model": "m",
        "prompt": "a chair: ",
        "input_image": data_uri(PNG, "image/png"),
        "output_format": "glb",
    }
    with server_of(body=body, absent=["seed"]) as server:
        response = mesh_of(server.url, "a chair: ", medium(PNG))
    assert response.error is None
    assert server.faults == []
    assert kinds_of(response) == ["3d"]
    assert response.served == "shape"


def test_a_seed_and_fields_of_the_user_are_sent() -> None:
    body = {"seed": 7, "num_inference_steps": 20}
    with server_of(body=body) as server:
        extra = {"num_inference_steps": 20}
        mesh_of(server.url, medium(PNG), send_seed=True, extra_body=extra)
    assert server.faults == []


@pytest.mark.parametrize("pictures", [0, 2])
def test_no_picture_or_several_are_unsupported(pictures: int) -> None:
    with server_of() as server:
        response = mesh_of(server.url, "a chair", *[medium(PNG)] * pictures)
    assert kind_of(response) == "unsupported"
    assert server.count == 0


def test_what_is_no_3d_model_is_no_answer() -> None:
    with server_of(PNG) as server:
        response = mesh_of(server.url, medium(PNG))
    assert kind_of(response) == "bad_reply"


def test_only_a_3d_model_is_asked_of_the_endpoint_for_it() -> None:
    backend = OpenAIBackend(
        model="m",
        base_url="http://localhost/v1",
        endpoint="auto",
        outputs="text+3d",
    )
    alone, both = request("a", wants=("3d",)), request("a", wants=("text", "3d"))
    assert isinstance(backend._endpoint(alone), MeshesEndpoint)
    assert not isinstance(backend._endpoint(both), MeshesEndpoint)
