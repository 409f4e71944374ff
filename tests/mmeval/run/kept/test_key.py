"""The key of a kept outcome."""

from pathlib import Path

import pytest

from mmeval.run.kept import key
from mmeval.run.kept.key import code_digest
from tests.support.task_folder import write_distribution, write_files


def test_the_plugins_of_a_search_path_are_part_of_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = code_digest()
    write_files(tmp_path / "her_metric", {"__init__.py": ""})
    write_distribution(tmp_path, "hers", "[mmeval.metrics]\nhers = her_metric:hers\n")
    with monkeypatch.context() as patched:
        patched.syspath_prepend(str(tmp_path))
        with_hers = code_digest()
    assert with_hers != without
    assert code_digest() == without


def test_a_link_to_a_bundled_sample_does_not_change_the_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(key, "ROOT", tmp_path)
    folder = tmp_path / "tasks" / "t"
    write_files(folder, {"t.yaml": "task: t\n", "bundled/a.txt": "a"})

    def digest() -> str:
        key._code_digest.cache_clear()  # as in another process
        return code_digest()

    before = digest()
    (tmp_path / "linked.txt").hardlink_to(folder / "bundled" / "a.txt")
    assert digest() == before
    (folder / "t.yaml").write_text("task: u\n")
    assert digest() != before
