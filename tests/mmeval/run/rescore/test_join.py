import errno
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import StorageError
from mmeval.run.rescore.join import join
from mmeval.system.json_lines import read_rows, sealed, to_line


def lines(file: Path, *rows: dict[str, Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"".join(sealed(to_line(row)) for row in rows))


def rows(file: Path) -> list[dict[str, Any]]:
    return [row for _, row in read_rows(file)]


ANSWERED = {"i": 0, "n": 0, "d": "aa", "x": []}
FAILED = {"i": 0, "n": 0, "d": "bb", "x": [], "error": ["internal", "no"]}
SCORED = {"i": 0, "n": 0, "s": "0", "d": "aa", "status": "ok", "scores": {}}
LOST = {"i": 0, "n": 0, "s": "0", "d": "bb", "status": "failed", "scores": {}}


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    return tmp_path / "run" / "shards" / "1-of-2"


def test_a_failure_does_not_replace_an_answer_and_an_answer_replaces_a_failure(
    shard: Path,
) -> None:
    run = shard.parent.parent
    for trial, scores, more, more_scores in (
        (ANSWERED, SCORED, FAILED, LOST),
        (FAILED, LOST, ANSWERED, SCORED),
    ):
        lines(run / "trials" / "t.jsonl", trial)
        lines(run / "scores" / "t" / "set" / "scores.jsonl", scores)
        lines(shard / "trials" / "t.jsonl", more)
        lines(shard / "scores" / "t" / "set" / "rows.jsonl", more_scores)
        (run / "scores" / "t" / "set" / "rows.jsonl").unlink(missing_ok=True)
        join(run, [shard])
        added = rows(run / "scores" / "t" / "set" / "rows.jsonl")
        assert rows(run / "trials" / "t.jsonl")[-1] == ANSWERED
        assert added == ([] if trial is ANSWERED else [SCORED])


def test_joining_removes_what_a_killed_merge_has_left(shard: Path) -> None:
    run = shard.parent.parent
    lines(shard / "trials" / "t.jsonl", ANSWERED)
    killed = """if True:
        import os, sys
        from pathlib import Path
        from mmeval.run.rescore.join import join

        Path.replace = lambda *_: os._exit(9)
        join(Path(sys.argv[1]), [Path(sys.argv[2])])
    """
    words = [sys.executable, "-c", killed, str(run), str(shard)]
    assert subprocess.run(words, check=False).returncode == 9
    join(run, [shard])
    assert [file.name for file in (run / "trials").iterdir()] == ["t.jsonl"]


def test_joining_twice_adds_nothing(shard: Path) -> None:
    run = shard.parent.parent
    lines(shard / "trials" / "t.jsonl", ANSWERED)
    lines(shard / "samples" / "t.jsonl", {"i": 0, "d": "cc", "sample": {}})
    lines(shard / "journal" / "host-1-a.jsonl", {"k": "key"})
    for _ in range(2):
        join(run, [shard])
        assert (
            rows(run / "trials" / "t.jsonl"),
            len(rows(run / "samples" / "t.jsonl")),
        ) == ([ANSWERED], 1)
    assert (run / "journal" / "host-1-a.jsonl").samefile(
        shard / "journal" / "host-1-a.jsonl"
    )


def test_files_are_copied_where_no_link_can_be_had(
    shard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hardlink_to(self: Path, _target: Path) -> None:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(self))

    monkeypatch.setattr(Path, "hardlink_to", hardlink_to)
    medium = shard / "media" / "ab" / "abcd.png"
    medium.parent.mkdir(parents=True)
    medium.write_bytes(b"picture")
    medium.with_name(".abcd.png.half").write_bytes(b"pic")
    join(shard.parent.parent, [shard])
    (joined,) = (shard.parent.parent / "media").rglob("*.png*")
    assert (joined.read_bytes(), joined.samefile(medium)) == (b"picture", False)


def test_a_disk_that_is_full_is_named_and_leaves_nothing_half_done(
    shard: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace(self: Path, _target: Path) -> Path:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))

    lines(shard / "trials" / "t.jsonl", ANSWERED)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", replace)
        with pytest.raises(StorageError, match=os.strerror(errno.ENOSPC)):
            join(shard.parent.parent, [shard])
    assert list((shard.parent.parent / "trials").iterdir()) == []


@pytest.mark.parametrize("name", ["journal/host-1-a.jsonl", "media/ab/abcd.png"])
def test_a_shard_that_is_copied_in_part_after_its_merge_takes_nothing_from_the_run(
    name: str, shard: Path
) -> None:
    run = shard.parent.parent
    source = shard / name
    source.parent.mkdir(parents=True)
    source.write_bytes(b"all that was answered")
    join(run, [shard])
    source.unlink()  # a copy is another file, not a shorter one in the same place
    source.write_bytes(b"all that")
    join(run, [shard])
    assert (run / name).read_bytes() == b"all that was answered"


def test_what_a_shard_has_written_since_its_merge_joins_the_run(shard: Path) -> None:
    run = shard.parent.parent
    source = shard / "journal" / "host-1-a.jsonl"
    lines(source, {"k": "one"})
    join(run, [shard])
    source.unlink()
    lines(source, {"k": "one"}, {"k": "two"})
    join(run, [shard])
    assert rows(run / "journal" / source.name) == [{"k": "one"}, {"k": "two"}]
