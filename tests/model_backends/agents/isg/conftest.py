from pathlib import Path
from typing import Any

import pytest

from tests.support.tiny_media import picture


@pytest.fixture
def given(tmp_path: Path) -> dict[str, Any]:
    """A task with a picture."""
    (tmp_path / "user.png").write_bytes(picture())
    return {"folder": tmp_path, "files": ["user.png"]}
