"""A clean environment and a mock server for the tests of the backends."""

from collections.abc import Iterator

import pytest

from tests.support.mock_openai_server import MockServer


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def mock_server() -> Iterator[MockServer]:
    with MockServer() as server:
        yield server
