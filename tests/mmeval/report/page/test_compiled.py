from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from mmeval.report.page.compiled import CompiledTemplates


def rendered(text: str, folder: Path) -> str:
    """The text of a template, in a new environment with this folder."""
    environment = Environment(
        loader=DictLoader({"page": text}), bytecode_cache=CompiledTemplates(folder)
    )
    return environment.get_template("page").render(name="Ada")


def test_a_template_is_compiled_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert rendered("Hello {{ name }}", tmp_path) == "Hello Ada"
    monkeypatch.setattr(Environment, "_parse", None)  # compiling would fail
    assert rendered("Hello {{ name }}", tmp_path) == "Hello Ada"


def test_a_template_that_has_changed_is_compiled_again(tmp_path: Path) -> None:
    rendered("Hello {{ name }}", tmp_path)
    assert rendered("Goodbye {{ name }}", tmp_path) == "Goodbye Ada"


@pytest.mark.parametrize("keep", [0, 3, 40, 200], ids="the first {} bytes".format)
def test_a_damaged_file_is_replaced(keep: int, tmp_path: Path) -> None:
    rendered("Hello {{ name }}", tmp_path)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:keep])
    assert rendered("Hello {{ name }}", tmp_path) == "Hello Ada"
    assert file.read_bytes() == whole


def test_a_folder_that_cannot_be_written_is_not_needed(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    assert rendered("Hello {{ name }}", file / "templates") == "Hello Ada"


def test_a_file_that_others_may_write_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rendered("Hello {{ name }}", tmp_path)
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o077 == 0
    file.chmod(0o666)
    monkeypatch.setattr(Environment, "_parse", None)
    with pytest.raises(TypeError, match="not callable"):
        rendered("Hello {{ name }}", tmp_path)
