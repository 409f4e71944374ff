from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.toy import registered


@pytest.fixture(autouse=True)
def _toys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with registered(tmp_path / "site", monkeypatch):
        yield
