from pathlib import Path

import pytest

from mmeval.__main__ import main
from mmeval.cli import ls
from tests.support.tiny_benchmark import write_benchmark


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, list[str]]:
    """The cells of each row by its first cell."""
    rows = [line.strip("|").split("|") for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def test_every_kind_can_be_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert [main(["ls", kind]) for kind in (*ls.FROM_FILES, *ls.KINDS)] == [0] * 14


@pytest.mark.parametrize("pattern", ["ti*", "iny", "tiny"])
def test_tasks_are_chosen_by_a_pattern(pattern: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_benchmark(tmp_path, "tiny", "other")

    main(["ls", "tasks", pattern, "--include_path", str(folder)])

    rows = listed(capsys)
    assert "tiny" in rows
    assert "other" not in rows


def test_the_environment_may_name_folders_with_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MMEVAL_INCLUDE_PATH", str(write_benchmark(tmp_path)))

    main(["ls", "tasks", "tiny"])

    assert "tiny" in listed(capsys)
