import pickle
from collections.abc import Iterator, Sequence

import pytest

from mmeval.dataset.bad_sample import MAX_NAMED, BadSamples, in_words, rows_of
from mmeval.errors import RowError, UsageError
from mmeval.records.sample import Sample
from tests.support.toy import Rows, sample, samples


class Bumpy:
    """Rows of which some are errors; the iterator goes on behind a RowError, as the contract of loaders has it."""

    fingerprint = "bumpy"

    def __init__(self, rows: Sequence[Sample | Exception]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Sample]:
        return map(_given, self._rows)


def _given(row: Sample | Exception) -> Sample:
    if isinstance(row, Exception):
        raise row
    return row


class Spent(Bumpy):
    """Rows of a generator, which is at its end when it has raised."""

    def __iter__(self) -> Iterator[Sample]:
        for row in self._rows:
            yield _given(row)


def test_a_row_that_cannot_be_read_is_a_sample_with_that_fault() -> None:
    known = RowError("row 3: odd", id="c", labels={"level": "hard"})
    found = list(rows_of(Bumpy([sample("a"), RowError("row 2: torn"), known, RowError("")])))
    assert [(one.id, one.fault) for one in found[:3]] == [("a", ""), ("row 2", "row 2: torn"), ("c", "row 3: odd")]
    assert (found[1].input, found[1].metadata, found[2].metadata) == ((), {}, {"level": "hard"})
    assert found[3].fault, "an error without words is a fault too"


def test_a_loader_that_does_not_go_on_behind_a_row_raises_its_error() -> None:
    rows = rows_of(Spent([sample("a"), RowError("row 2 is torn"), sample("c")]))
    assert [next(rows).id, next(rows).id] == ["a", "row 2"]
    with pytest.raises(RowError, match="row 2 is torn"):
        next(rows)


def test_where_the_last_row_is_torn_nothing_is_missing_behind_it() -> None:
    assert [one.id for one in rows_of(Spent([sample("a"), RowError("torn")]))] == ["a", "row 2"]


def test_a_loader_that_raises_for_ever_ends_where_its_rows_do() -> None:
    class Stuck(Rows):
        def __iter__(self) -> Iterator[Sample]:
            return iter(self._fail, None)

        def _fail(self) -> Sample:
            raise RowError("torn")

    rows = rows_of(Stuck(samples(2)))
    assert [next(rows).id, next(rows).id] == ["row 1", "row 2"]
    with pytest.raises(RowError):
        next(rows)


def test_any_other_error_of_a_loader_ends_its_rows() -> None:
    rows = rows_of(Bumpy([sample("a"), UsageError("no JSON"), sample("c")]))
    assert next(rows).id == "a"
    with pytest.raises(UsageError, match="no JSON"):
        next(rows)


def test_what_is_known_of_a_torn_row_survives_on_its_way_between_processes() -> None:
    found = pickle.loads(pickle.dumps(RowError("torn", id="c", labels={"level": 1})))
    assert (str(found), found.id, found.labels) == ("torn", "c", {"level": 1})


def test_the_first_are_named_and_the_others_counted() -> None:
    bad = BadSamples()
    for number in range(MAX_NAMED + 3):
        bad.add("t", Sample(f"s{number}", (), fault="torn"), repeats=2)
    lines = list(bad.lines())
    assert bad.said.startswith(f"{MAX_NAMED + 3} samples ({2 * MAX_NAMED + 6} trials)")
    assert (lines[0], lines[-1], len(lines)) == ("t: sample 's0': torn", "and 3 more", MAX_NAMED + 1)


def test_a_sample_that_several_tasks_have_is_one_and_named_once() -> None:
    bad = BadSamples()
    for name in ("easy", "medium", "hard", "math"):
        bad.add(name, Sample("s", (), fault="torn"))
    bad.add("math", Sample("s", (), fault="burnt"))
    assert bad.said.startswith("2 samples (5 trials)")
    torn, burnt = bad.lines()
    assert torn.startswith("easy, medium, hard and 1")
    assert (torn.endswith("sample 's': torn"), burnt) == (True, "math: sample 's': burnt")


def test_words_of_data_cannot_steer_a_terminal() -> None:
    shown = in_words(Sample("\x1b[2J", (), fault="torn\n\x1b[31mFAKE " + "x" * 10_000))
    assert shown.isprintable() and len(shown) < 1000
