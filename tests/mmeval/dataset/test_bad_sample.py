import pickle
from collections.abc import Iterator, Sequence

import pytest

from mmeval.dataset.bad_sample import MAX_NAMED, BadSamples, in_words, rows_of
from mmeval.errors import RowError, UsageError
from mmeval.media.parts import Interleaved
from mmeval.records.sample import Message, Sample
from tests.support.toy import Rows, sample, samples


def _given(row: Sample | Exception) -> Sample:
    if isinstance(row, Exception):
        raise row
    return row


class Bumpy:
    """Rows of which some are errors; the iterator goes on behind a RowError, as the
    contract of loaders has it."""

    fingerprint = "bumpy"

    def __init__(self, rows: Sequence[Sample | Exception]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Sample]:
        return map(_given, self._rows)


class Spent(Bumpy):
    """Rows of a generator, which is at its end when it has raised."""

    def __iter__(self) -> Iterator[Sample]:
        for row in self._rows:
            yield _given(row)


class Stuck(Rows):
    """Rows that raise for ever."""

    def __iter__(self) -> Iterator[Sample]:
        return map(_given, iter(lambda: RowError("torn"), None))


def test_a_row_that_cannot_be_read_is_a_sample_with_that_fault() -> None:
    known = RowError("row 3: odd", id="c", labels={"level": "hard"})
    found = list(
        rows_of(Bumpy([sample("a"), RowError("row 2: torn"), known, RowError("")]))
    )
    assert [(one.id, one.fault) for one in found[:3]] == [
        ("a", ""),
        ("row 2", "row 2: torn"),
        ("c", "row 3: odd"),
    ]
    assert (found[1].input, found[1].metadata, found[2].metadata) == (
        (),
        {},
        {"level": "hard"},
    )
    assert found[3].fault, "an error without words is a fault too"
    again = pickle.loads(pickle.dumps(known))
    assert (str(again), again.id, again.labels) == (
        "row 3: odd",
        "c",
        {"level": "hard"},
    )


@pytest.mark.parametrize(
    ("dataset", "before", "error"),
    [
        (Spent([sample("a"), RowError("torn"), sample("c")]), ["a", "row 2"], RowError),
        (Spent([sample("a"), RowError("torn")]), ["a", "row 2"], StopIteration),
        (Stuck(samples(2)), ["row 1", "row 2"], RowError),
        (Bumpy([sample("a"), UsageError("no JSON"), sample("c")]), ["a"], UsageError),
    ],
    ids=["a generator", "its last row", "errors for ever", "another error"],
)
def test_a_loader_that_does_not_go_on(
    dataset: Bumpy | Rows, before: list[str], error: type[Exception]
) -> None:
    rows = rows_of(dataset)
    assert [next(rows).id for _ in before] == before
    with pytest.raises(error):
        next(rows)


def test_the_first_bad_samples_are_named_and_the_others_counted() -> None:
    bad = BadSamples()
    for number in range(MAX_NAMED + 3):
        bad.add("t", Sample(f"s{number}", (), fault="torn"), repeats=2)
    first, *_, last = bad.findings()
    assert (bad.count, bad.trials) == (MAX_NAMED + 3, 2 * MAX_NAMED + 6)
    assert (first.subject.sample, first.cause, last.count) == ("s0", "torn", 3)


def test_a_bad_sample_of_several_tasks_is_one_with_a_finding_for_each() -> None:
    bad = BadSamples()
    for name in ("easy", "medium", "hard"):
        bad.add(name, Sample("s", (), fault="torn"))
    bad.add("math", Sample("s", (), fault="burnt"))
    assert (bad.count, bad.trials) == (2, 4)
    assert [one.subject.task for one in bad.findings()] == [
        "easy",
        "medium",
        "hard",
        "math",
    ]


def test_the_first_tags_without_a_medium_are_named_and_the_others_counted() -> None:
    bad = BadSamples()
    asked = (Message("user", Interleaved.from_text("look: <<image1>>")),)
    for number in range(MAX_NAMED + 3):
        bad.inspect("t", Sample(f"s{number}", asked))
    first, *_, last = bad.findings()
    assert first.subject.sample == "s0"
    assert "<<image1>>" in first.cause
    assert last.count == 3
    assert not bad.trials  # they are asked


def test_words_of_data_cannot_steer_a_terminal() -> None:
    shown = in_words(Sample("\x1b[2J", (), fault="torn\n\x1b[31mFAKE " + "x" * 10_000))
    assert shown.isprintable() and len(shown) < 1000
