from datetime import UTC, datetime
from pathlib import Path

import pytest

from mmeval.errors import MissingDataError, UsageError
from mmeval.trust.records import Draw
from mmeval.trust.rows import read_ratings, read_scores


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_a_csv_reads_as_the_same_ratings_as_json_lines(tmp_path: Path) -> None:
    table = written(
        tmp_path,
        "a.csv",
        "\ufefftrial,rater,value,pass,draw.how,draw.probability,language\n"
        "t1,ann,4,2,random,0.5,en\n",
    )
    lines = written(
        tmp_path,
        "a.jsonl",
        '{"trial": "t1", "rater": "ann", "value": 4, "pass": 2, "labels": '
        '{"language": "en"}, "draw": {"how": "random", "probability": 0.5}}\n',
    )
    assert read_ratings(table) == read_ratings(lines)


def test_a_draw_has_its_probability(tmp_path: Path) -> None:
    file = written(
        tmp_path,
        "a.csv",
        "trial,rater,value,draw.how,draw.probability,draw.seed\nt,r,1,random,.25,7\n",
    )
    assert read_ratings(file)[0].draw == Draw("random", 0.25, seed=7)


@pytest.mark.parametrize(
    ("written_value", "value"),
    [("", None), ("3", 3.0), ("1e2", 100.0), ("yes", "yes"), ("nan", "nan")],
)
def test_a_value_is_a_number_if_it_reads_as_a_finite_one(
    written_value: str, value: object, tmp_path: Path
) -> None:
    file = written(tmp_path, "a.csv", f"trial,rater,value\nt,r,{written_value}\n")
    assert read_ratings(file)[0].value == value


def test_a_time_without_zone_is_utc(tmp_path: Path) -> None:
    row = '{"trial": "t", "rater": "r", "value": 1, "at": "2026-11-30T09:00:00"}\n'
    rating = read_ratings(written(tmp_path, "a.jsonl", row))[0]
    assert rating.at == datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ('{"trial": "t", "value": 1}', "rater is missing"),
        ('{"trial": "t", "rater": "r"}', "value is missing"),
        ('{"trial": "t", "rater": "r", "value": [1]}', "value must be a number"),
        ('{"trial": "t", "rater": "r", "value": NaN}', "finite number"),
        (f'{{"trial": "t", "rater": "r", "value": 1{"0" * 400}}}', "finite number"),
        ('{"trial": "t", "rater": "r", "value": 1, "pass": 0}', "pass must be"),
        ('{"trial": "t", "rater": "r", "value": 1, "at": "noon"}', "at must be a time"),
        (
            '{"trial": "t", "rater": "r", "value": 1, "draw": {"how": "randm"}}',
            "not 'randm'",
        ),
        (
            '{"trial": "t", "rater": "r", "value": 1, "draw": {"probability": 0}}',
            "draw.probability",
        ),
        ("[1]", "not an object"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_by_its_line(
    row: str, fault: str, tmp_path: Path
) -> None:
    good = '{"trial": "t", "rater": "r", "value": 1}'
    file = written(tmp_path, "a.jsonl", f"{good}\n\n{row}\n")
    with pytest.raises(UsageError, match=f"a.jsonl:3: .*{fault}"):
        read_ratings(file)


def test_a_csv_row_with_too_many_cells_is_an_error(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "trial,rater,value\nt,r,1,2\n")
    with pytest.raises(UsageError, match="more cells"):
        read_ratings(file)


def test_a_trial_has_one_value_of_a_metric(tmp_path: Path) -> None:
    row = '{"trial": "t", "metric": "m", "value": 1}\n'
    with pytest.raises(UsageError, match="two values of 'm'"):
        read_scores(written(tmp_path, "a.jsonl", row * 2))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match="nowhere"):
        read_scores(tmp_path / "nowhere.csv")
