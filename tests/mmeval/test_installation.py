"""The name that pip installs, and the line that adds an extra to this installation."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmeval import installation
from mmeval.__main__ import main
from mmeval.installation import DISTRIBUTION, install_command

FROM_FILE = {"url": "file:///wheels/mmeval-0.1.0-py3-none-any.whl", "archive_info": {}}
FROM_GIT = {
    "url": "https://example.org/mmeval.git",
    "vcs_info": {"vcs": "git", "commit_id": "4f2a"},
}


def test_a_checkout_is_named_by_its_folder_or_as_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "tasks").mkdir()
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    assert install_command("hf") == f'pip install -e "{tmp_path}[hf]"'
    monkeypatch.chdir(tmp_path)
    assert (install_command("hf"), install_command()) == (
        'pip install -e ".[hf]"',
        'pip install -e "."',
    )


def test_another_projects_files_among_ours_are_refused_with_the_commands_that_part_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation.refuse_mixture()
    (tmp_path / "mmeval_harness-0.1.0.dist-info").mkdir()
    (
        tmp_path / "mmeval-0.2.1.dist-info"
    ).mkdir()  # of OpenMMLab's mmeval, whatever its files are called
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    for refused in (installation.refuse_mixture, lambda: main(["--version"])):
        with pytest.raises(ImportError) as caught:
            refused()
        assert f"pip uninstall -y mmeval {DISTRIBUTION}" in str(caught.value)


def test_an_installation_is_named_by_its_origin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installation, "ROOT", tmp_path)
    for origin, place in (
        (FROM_FILE, " @ file:///wheels/mmeval-0.1.0-py3-none-any.whl"),
        (FROM_GIT, " @ git+https://example.org/mmeval.git@4f2a"),
        ({"odd": 1}, ""),
        (None, ""),
    ):
        written = SimpleNamespace(
            read_text={"direct_url.json": origin and json.dumps(origin)}.get
        )
        monkeypatch.setattr(
            "importlib.metadata.distribution", lambda name, written=written: written
        )
        assert install_command("hf") == f'pip install "mmeval-harness[hf]{place}"'
