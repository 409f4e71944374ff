"""A benchmark of many subtasks."""

from pathlib import Path

from mmeval.__main__ import main


def test_a_benchmark_has_one_to_two_hundred_subtasks(tmp_path: Path) -> None:
    words = ["init", "benchmark", "many", "--output_path", str(tmp_path), "--subtasks"]
    assert [main([*words, count]) for count in ("0", "201")] == [2, 2]
    assert list(tmp_path.iterdir()) == []
    assert main([*words, "200"]) == 0
    assert len(list(tmp_path.rglob("many_*.yaml"))) == 200
