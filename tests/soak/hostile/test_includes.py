"""Task files that many others include."""

from pathlib import Path

from mmeval.task.index import TaskIndex
from tests.mmeval.task.test_include import read
from tests.support.task_folder import task, write_files


def test_a_file_that_many_others_include_is_resolved_once(tmp_path: Path) -> None:
    names = [f"{level}-{number}.yaml" for level in range(12) for number in range(10)]
    below = {
        name: "include: "
        f"[{', '.join(n for n in names if n.startswith(f'{level + 1}-'))}]\n"
        "repeats: 1"
        for name in names
        if (level := int(name.partition("-")[0])) < 11
    }
    last = dict.fromkeys(names[-10:], "tag: deep\ntest_split: last")
    (tmp_path / "loop").symlink_to(tmp_path)
    top = task("t", f"include: [{', '.join(names[:10])}, loop/0-0.yaml]")
    write_files(tmp_path, {**below, **last, "t.yaml": top})
    assert read(tmp_path).keys.test_split == "last"
    assert [entry.tags for entry in TaskIndex([tmp_path]).below(tmp_path)] == [
        ("deep",)
    ]
