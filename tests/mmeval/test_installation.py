"""The line that adds an extra to this installation: never one by which pip takes another project of the same name."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmeval import installation
from mmeval.installation import install_command

FROM_FILE = {"url": "file:///wheels/mmeval-0.1.0-py3-none-any.whl", "archive_info": {}}
FROM_GIT = {"url": "https://example.org/mmeval.git", "vcs_info": {"vcs": "git", "commit_id": "4f2a"}}


def test_a_checkout_is_named_by_its_folder_or_as_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "tasks").mkdir()
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    assert install_command("hub") == f'pip install -e "{tmp_path}[hub]"'
    monkeypatch.chdir(tmp_path)
    assert (install_command("hub"), install_command()) == ('pip install -e ".[hub]"', 'pip install -e "."')


def test_an_installation_is_named_by_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    for origin, place in (
        (FROM_FILE, " @ file:///wheels/mmeval-0.1.0-py3-none-any.whl"),
        (FROM_GIT, " @ git+https://example.org/mmeval.git@4f2a"),
        *(({"odd": 1}, ""), (None, "")),
    ):
        written = SimpleNamespace(read_text={"direct_url.json": origin and json.dumps(origin)}.get)
        monkeypatch.setattr("importlib.metadata.distribution", lambda name, written=written: written)
        assert install_command("hub") == f'pip install "mmeval[hub]{place}"'
