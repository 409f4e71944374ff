"""The line that adds an extra to this installation: never one by which pip takes another project of the same name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mmeval import installation
from mmeval.installation import install_command

FROM_FILE = {"url": "file:///wheels/mmeval-0.1.0-py3-none-any.whl", "archive_info": {}}
FROM_GIT = {"url": "https://example.org/mmeval.git", "vcs_info": {"vcs": "git", "commit_id": "4f2a"}}


class Told:
    """A distribution that knows where pip took it from."""

    def __init__(self, said: object) -> None:
        self._said = said

    def read_text(self, name: str) -> str | None:
        assert name == "direct_url.json"
        return None if self._said is None else json.dumps(self._said)


def test_a_checkout_is_named_with_its_folder_and_as_itself_inside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "tasks").mkdir()
    monkeypatch.setattr(installation, "ROOT", tmp_path)

    assert install_command("hub") == f'pip install -e "{tmp_path}[hub]"'
    monkeypatch.chdir(tmp_path)
    assert install_command("hub") == 'pip install -e ".[hub]"'


@pytest.mark.parametrize(
    ("said", "command"),
    [
        (FROM_FILE, 'pip install "mmeval[hub] @ file:///wheels/mmeval-0.1.0-py3-none-any.whl"'),
        (FROM_GIT, 'pip install "mmeval[hub] @ git+https://example.org/mmeval.git@4f2a"'),
        ({"odd": 1}, 'pip install "mmeval[hub]"'),
        (None, 'pip install "mmeval[hub]"'),
    ],
    ids=["file", "repository", "unreadable", "index"],
)
def test_an_installation_is_named_by_where_pip_took_it_from(
    said: object, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    monkeypatch.setattr("importlib.metadata.distribution", lambda name: Told(said))

    assert install_command("hub") == command
