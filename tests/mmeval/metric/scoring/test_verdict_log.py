from pathlib import Path
from typing import Any

from mmeval.metric.scoring.verdict_log import FILE, JudgeVersion, logged_versions
from mmeval.system.json_lines import sealed, to_line


def row(asked: str, served: str = "", **more: Any) -> bytes:
    return sealed(
        to_line(
            {
                "role": "judge",
                "asked": asked,
                "served": served,
                "fingerprint": "",
                **more,
            }
        )
    )


def test_a_judge_without_a_reply_that_can_be_read_is_named_as_it_was_asked(
    tmp_path: Path,
) -> None:
    lines = (
        row("a", error="bad_reply"),
        row("a", "a-1"),
        row("a", "a-2"),
        row("b", error="bad_reply"),
        row("a", "a-1"),
    )
    (tmp_path / FILE).write_bytes(b"".join(lines))
    assert logged_versions(tmp_path) == [
        JudgeVersion("judge", "a", "a-1", ""),
        JudgeVersion("judge", "a", "a-2", ""),
        JudgeVersion("judge", "b", "", ""),
    ]
