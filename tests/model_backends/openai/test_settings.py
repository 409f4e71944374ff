from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import MissingError, UnknownNameError, UsageError
from mmeval.findings.from_error import finding_of
from mmeval.model_backends.openai import OpenAIBackend
from mmeval.model_backends.openai.settings import (
    OFFICIAL_URL,
    EndpointChoice,
    capabilities_of,
    openai_url,
)
from mmeval.model_backends.wire.connection import (
    checked_positive,
    is_local,
    read_api_key,
)

KEY = ("OPENAI_API_KEY",)


def test_the_address_is_the_argument_the_environments_or_the_official_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert openai_url("") == OFFICIAL_URL == "https://api.openai.com/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://there:1/v1/")
    assert openai_url("") == "http://there:1/v1"
    assert openai_url("http://here:2/v1") == "http://here:2/v1"


@pytest.mark.parametrize(
    ("advice", "urls"),
    [
        ("http://localhost:8000/v1", ["localhost:8000/v1"]),
        ("http address", ["ftp://host/v1", "http://", "http://a b/v1"]),
        ("99999|range", ["http://host:99999/v1"]),
        (
            "OPENAI_API_KEY",
            [
                "http://me:hunter2@host/v1",
                "me:hunter2@host/v1",
                "http://h/v1?k=hunter2",
                "http://h#k",
            ],
        ),
        (
            "before it",
            [
                f"http://h/v1/{end}"
                for end in ("chat/completions", "completions", "images/generations")
            ],
        ),
        ("before it", ["http://h/v1/audio/speech"]),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_advice(
    advice: str, urls: list[str]
) -> None:
    for url in urls:
        with pytest.raises(UsageError, match=advice) as caught:
            openai_url(url)
        assert caught.value.name == "base_url"
        assert "hunter2" not in str(caught.value)


def test_a_key_is_needed_elsewhere_and_its_file_goes_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_api_key("", ["http://localhost:8000/v1"], KEY) == ""
    with pytest.raises(MissingError, match="api_key_file") as caught:
        read_api_key("", [OFFICIAL_URL], KEY)
    assert caught.value.exit_code == 4
    assert caught.value.name == "OPENAI_API_KEY"
    assert finding_of(caught.value).kind == "missing_key"
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert read_api_key("", [OFFICIAL_URL], KEY) == "from-environment"
    file = tmp_path / "key"
    file.write_text("from-file\n")
    assert read_api_key(str(file), [OFFICIAL_URL], KEY) == "from-file"
    for content in (b"", b"\xff\xfe"):
        file.write_bytes(content)
        with pytest.raises(MissingError, match="OPENAI_API_KEY") as caught:
            read_api_key(str(file), [OFFICIAL_URL], KEY)
        assert caught.value.file == file
    with pytest.raises(MissingError, match="OPENAI_API_KEY"):
        read_api_key(str(tmp_path / "gone"), [OFFICIAL_URL], KEY)
    for key in ("two words", "schlüssel"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(UsageError) as refused:
            read_api_key("", [OFFICIAL_URL], KEY)
        assert key not in str(refused.value)


def test_local_servers_are_those_of_this_network_and_inputs_those_of_the_endpoint() -> (
    None
):
    near = [
        "localhost",
        "127.0.0.1",
        "::1",
        "192.168.3.4",
        "gpu7",
        "gpu7.local",
        "a.internal",
    ]
    assert [
        host for host in [*near, "api.openai.com", "8.8.8.8"] if is_local(host)
    ] == near
    assert set(capabilities_of("images", "text+image+audio", "").inputs) == {
        "text",
        "code",
        "image",
    }
    assert set(capabilities_of("speech", "text+image", "", 1).inputs) == {
        "text",
        "code",
    }
    limits = [
        capabilities_of("chat", "text+image", "", most).inputs["image"].max_items
        for most in (0, 1)
    ]
    assert limits == [None, 1]


@pytest.mark.parametrize(
    ("endpoint", "outputs", "expected", "mode"),
    [
        ("chat", "", {"text", "code"}, "single"),
        ("chat", "text+image", {"text", "code", "image"}, "interleaved"),
        ("chat", ["audio"], {"audio"}, "single"),
        ("images", "", {"image"}, "single"),
        ("speech", "", {"audio"}, "single"),
        ("auto", "text+image+audio", {"text", "code", "image", "audio"}, "interleaved"),
    ],
)
def test_outputs_follow_from_the_endpoint(
    endpoint: EndpointChoice, outputs: str | list[str], expected: set[str], mode: str
) -> None:
    capabilities = capabilities_of(endpoint, "text", outputs)
    assert set(capabilities.outputs) == expected
    assert capabilities.output_mode == mode


def test_a_kind_without_a_field_and_a_timeout_that_is_no_number_above_zero_are_refused() -> (
    None
):
    kinds: list[tuple[EndpointChoice, str, str, str]] = [
        ("chat", "text+imagge", "", "imagge"),
        ("chat", "text+3d", "", "3d"),
        ("chat", "text", "video", "video"),
        ("images", "text", "text", "text"),
    ]
    for endpoint, inputs, outputs, name in kinds:
        with pytest.raises(UnknownNameError) as caught:
            capabilities_of(endpoint, inputs, outputs)
        assert caught.value.name == name
        assert (f"endpoint={endpoint}" in str(caught.value)) == bool(outputs)
    for value in (0, "soon", None, float("nan"), float("inf")):
        with pytest.raises(UsageError) as refused:
            checked_positive("timeout", value)
        assert refused.value.name == "timeout"
    assert checked_positive("timeout", "0.5") == 0.5


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [
        ({}, 1),
        ({"max_images": 2}, 1),
        ({"videos_sync": True}, 1),
        ({"videos_dialect": "openrouter"}, None),
    ],
    ids=str,
)
def test_a_video_begins_with_one_picture_but_at_openrouter(
    arguments: dict[str, Any], limit: int | None
) -> None:
    backend = OpenAIBackend(
        model="m", base_url="http://localhost/v1", endpoint="videos", **arguments
    )
    assert backend.capabilities.inputs["image"].max_items == limit
