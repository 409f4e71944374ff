import json
from pathlib import Path

import pytest

from mmeval.errors import UsageError
from mmeval.trust.audit.calls import Call
from mmeval.trust.rows import read_calls


def read(folder: Path, *lines: str, name: str = "calls.jsonl") -> list[Call]:
    file = folder / name
    file.write_text("\n".join(lines))
    return read_calls(file, (1, 10))


def test_scores_are_put_on_the_scale_from_zero_to_one(tmp_path: Path) -> None:
    row = {"check": "swap", "trial": "t", "first": 10, "again": 5.5, "changed": 1}
    [call] = read(tmp_path, json.dumps(row))
    assert (call.first, call.again, call.changed) == (1, 0.5, 0)


def test_a_trial_without_a_cluster_is_its_own(tmp_path: Path) -> None:
    [call] = read(tmp_path, '{"check": "swap", "trial": "t"}')
    assert call.cluster == "t"


def test_an_empty_score_is_missing(tmp_path: Path) -> None:
    lines = ("check,trial,first,again,changed", "swap,t,10,,4")
    [call] = read(tmp_path, *lines, name="calls.csv")
    assert call.first == 1
    assert call.again is None


def test_a_judge_may_not_be_sure(tmp_path: Path) -> None:
    [call] = read(tmp_path, '{"check":"swap","trial":"t","changed":"not sure"}')
    assert call.is_unsure
    assert call.changed is None


@pytest.mark.parametrize(
    "row",
    [
        {"check": "swap"},
        {"trial": "t"},
        {"check": "swap", "trial": "t", "first": 11},
        {"check": "swap", "trial": "t", "first": "good"},
        {"check": "swop", "trial": "t"},
        {"check": "order", "trial": "t", "position": 3, "position_turned": 1},
    ],
    ids=[
        "no trial",
        "no check",
        "out of range",
        "a word",
        "unknown check",
        "third place",
    ],
)
def test_a_bad_row_is_refused_with_its_line(
    row: dict[str, object], tmp_path: Path
) -> None:
    good = '{"check": "swap", "trial": "t"}'
    with pytest.raises(UsageError) as refused:
        read(tmp_path, good, json.dumps(row))
    assert refused.value.line == 2


def test_a_call_is_read_as_it_was_written(tmp_path: Path) -> None:
    call = Call("swap", "t", "s", first=1.0, again=0.0, is_unsure=True)
    file = tmp_path / "calls.jsonl"
    file.write_text(json.dumps(call.to_json()))
    assert read_calls(file) == [call]


def test_a_file_without_a_row_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no row"):
        read(tmp_path, "check,trial,first", name="calls.csv")
