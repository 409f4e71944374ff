from pathlib import Path

from mmeval.records.response import Response
from mmeval.run.rescore.division import Division, StoredShard
from mmeval.run.rescore.shard_check import check_shards
from mmeval.store.shard import Shard
from mmeval.system.json_lines import sealed, to_line
from tests.support.engine import opened
from tests.support.task_folder import built
from tests.support.toy import reply

FAILED = Response.failed("server", "500")
CALLS = ("first", "second")


def test_a_try_that_failed_before_its_answer_does_not_hide_a_lost_answer(
    tmp_path: Path,
) -> None:
    run = tmp_path / "run"
    path = run / "shards" / "1-of-1"
    row = {"i": 0, "n": 0, "d": "aa", "x": [[call, "model", call] for call in CALLS]}
    for kind, line in (("samples", {"i": 0, "sample": {}}), ("trials", row)):
        (path / kind).mkdir(parents=True)
        (path / kind / "t.jsonl").write_bytes(sealed(to_line(line)))
    with opened(path) as journal:
        journal.append("first", "digest", FAILED)
        journal.append("first", "digest", reply("yes"))
    shard = {
        "chosen": {"t": [[0, 0, 0]]},
        "journal": {"where the second call was answered.jsonl": 100},
    }
    stored = StoredShard(Shard(1, 1), path, {"finished": True, "shard": shard})
    task = built(tmp_path)
    check = check_shards(run, [stored], Division([stored], ()), [task])
    assert check.problems == ["shard 1/1 lacks trials of t: 1 of 1"]
