from __future__ import annotations

from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, UnknownNameError, UsageError
from mmeval.model_backends.openai.settings import (
    OFFICIAL_URL,
    EndpointChoice,
    capabilities_of,
    checked_base_url,
    checked_positive,
    is_local,
    read_api_key,
)


def test_the_address_is_the_argument_then_the_environment_then_the_official_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert checked_base_url("") == OFFICIAL_URL
    monkeypatch.setenv("OPENAI_BASE_URL", "http://there:1/v1/")
    assert checked_base_url("") == "http://there:1/v1"
    assert checked_base_url("http://here:2/v1") == "http://here:2/v1"


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        pytest.param("localhost:8000/v1", "http://localhost:8000/v1", id="no scheme"),
        pytest.param("ftp://host/v1", "http address", id="another scheme"),
        pytest.param("http://", "http address", id="no host"),
        pytest.param("http://a b/v1", "http address", id="blank in the host"),
        pytest.param("http://host:99999/v1", "write it like", id="port out of range"),
        pytest.param("http://me:hunter2@host/v1", "OPENAI_API_KEY", id="credentials"),
        pytest.param("me:hunter2@host/v1", "OPENAI_API_KEY", id="credentials without scheme"),
        pytest.param("http://host/v1?key=hunter2", "OPENAI_API_KEY", id="query"),
        pytest.param("http://host/v1/chat/completions", "before it", id="a whole endpoint"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused_with_the_way_out(url: str, advice: str) -> None:
    with pytest.raises(UsageError, match=advice) as caught:
        checked_base_url(url)
    assert "hunter2" not in str(caught.value)


def test_without_a_key_a_server_elsewhere_is_refused_naming_both_ways() -> None:
    with pytest.raises(MissingDataError, match=r"OPENAI_API_KEY.*api_key_file") as caught:
        read_api_key("", OFFICIAL_URL)
    assert caught.value.exit_code == 4


def test_without_a_key_a_local_server_may_be_used() -> None:
    assert read_api_key("", "http://localhost:8000/v1") == ""


def test_the_key_file_goes_before_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "from-environment")
    assert read_api_key("", OFFICIAL_URL) == "from-environment"
    file = tmp_path / "key"
    file.write_text("from-file\n")
    assert read_api_key(str(file), OFFICIAL_URL) == "from-file"


@pytest.mark.parametrize("content", [None, b"", b"\xff\xfe"], ids=["missing", "empty", "binary"])
def test_a_key_file_that_holds_no_key_is_named(content: bytes | None, tmp_path: Path) -> None:
    file = tmp_path / "key"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(MissingDataError, match=f"{file}.*OPENAI_API_KEY"):
        read_api_key(str(file), OFFICIAL_URL)


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel"])
def test_a_key_that_does_not_fit_into_a_header_is_refused_without_showing_it(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(UsageError) as caught:
        read_api_key("", OFFICIAL_URL)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("::1", True),
        ("192.168.3.4", True),
        ("gpu7", True),
        ("gpu7.local", True),
        ("api.openai.com", False),
        ("8.8.8.8", False),
    ],
)
def test_local_servers_are_those_of_this_network(host: str, local: bool) -> None:
    assert is_local(host) is local


@pytest.mark.parametrize(
    ("endpoint", "outputs", "expected", "mode"),
    [
        pytest.param("chat", "", {"text", "code"}, "single", id="chat speaks"),
        pytest.param("chat", "text+image", {"text", "code", "image"}, "interleaved", id="chat that draws"),
        pytest.param("chat", ["audio"], {"audio"}, "single", id="a list"),
        pytest.param("images", "", {"image"}, "single", id="images draw"),
        pytest.param("speech", "", {"audio"}, "single", id="speech sounds"),
        pytest.param("auto", "text+image+audio", {"text", "code", "image", "audio"}, "interleaved", id="auto"),
    ],
)
def test_outputs_follow_from_the_endpoint(
    endpoint: EndpointChoice, outputs: str | list[str], expected: set[str], mode: str
) -> None:
    capabilities = capabilities_of(endpoint, "text", outputs)
    assert set(capabilities.outputs) == expected
    assert capabilities.output_mode == mode


def test_inputs_are_narrowed_to_what_the_endpoint_has_fields_for() -> None:
    assert set(capabilities_of("images", "text+image+audio", "").inputs) == {"text", "code", "image"}
    assert set(capabilities_of("speech", "text+image", "").inputs) == {"text", "code"}


@pytest.mark.parametrize(
    ("endpoint", "inputs", "outputs", "named"),
    [
        pytest.param("chat", "text+imagge", "", 'did you mean "image"', id="typo"),
        pytest.param("chat", "text+3d", "", "'3d'", id="no field for meshes"),
        pytest.param("chat", "text", "video", "'video'", id="chat gives no video"),
        pytest.param("images", "text", "text", "endpoint=images", id="images give no text"),
    ],
)
def test_a_kind_without_a_field_is_refused(endpoint: EndpointChoice, inputs: str, outputs: str, named: str) -> None:
    with pytest.raises(UnknownNameError, match=named):
        capabilities_of(endpoint, inputs, outputs)


@pytest.mark.parametrize("value", [0, -1, "soon", None, float("nan"), float("inf")])
def test_a_timeout_must_be_a_number_above_zero(value: object) -> None:
    with pytest.raises(UsageError, match="timeout"):
        checked_positive("timeout", value)
