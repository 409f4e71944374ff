from collections.abc import Iterator
from typing import Any

import pytest

from mmeval.dataset.bad_sample import (
    MAX_NAMED,
    BadSamples,
    in_words,
    rows_of,
    unread_rows,
)
from mmeval.dataset.contract import BadRow
from mmeval.errors import ContentError
from mmeval.media.parts import Interleaved
from mmeval.records.sample import Message, Sample
from tests.support.toy import Rows, sample


class Torn(Rows):
    """Rows of a generator that raises an error at the end."""

    def __iter__(self) -> Iterator[Sample]:
        yield from super().__iter__()
        raise OSError("the file ends early")


def read(*rows: Any) -> list[Sample]:
    return list(rows_of(Rows(rows)))


def test_a_bad_row_is_a_sample_named_by_its_place_with_its_reason_as_fault() -> None:
    _, bad = read(sample("a"), BadRow("test.jsonl: row 7", "torn"))
    assert bad == Sample("row 2", (), fault="test.jsonl: row 7: torn")


def test_a_bad_row_keeps_the_id_and_labels_that_are_known() -> None:
    (bad,) = read(BadRow("row 3", "odd", id="c", labels={"level": "hard"}))

    assert (bad.id, bad.metadata) == ("c", {"level": "hard"})


def test_a_bad_row_without_a_reason_has_a_fault_too() -> None:
    (bad,) = read(BadRow("", ""))

    assert bad.fault


def test_the_samples_before_an_error_stay() -> None:
    rows = rows_of(Torn([sample("a"), sample("b")]))

    assert [next(rows).id, next(rows).id] == ["a", "b"]
    with pytest.raises(OSError, match="ends early"):
        next(rows)


def test_what_is_neither_a_sample_nor_a_bad_row_ends_the_data() -> None:
    with pytest.raises(TypeError, match="None for row 2"):
        read(sample("a"), None)


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
    assert [finding.subject.task for finding in bad.findings()] == [
        "easy",
        "medium",
        "hard",
        "math",
    ]


def test_the_first_tags_without_a_medium_are_named_and_the_others_counted() -> None:
    bad = BadSamples()
    prompt = (Message("user", Interleaved.from_text("look: <<image1>>")),)
    for number in range(MAX_NAMED + 3):
        bad.inspect("t", Sample(f"s{number}", prompt))
    first, *_, last = bad.findings()
    assert first.subject.sample == "s0"
    assert "<<image1>>" in first.cause
    assert last.count == 3
    assert not bad.trials  # they are asked


def test_words_of_data_cannot_steer_a_terminal() -> None:
    line = in_words(Sample("\x1b[2J", (), fault="torn\n\x1b[31mFAKE " + "x" * 10_000))
    assert line.isprintable() and len(line) < 1000


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(KeyError("id"), "plugin", id="the loader fails"),
        pytest.param(ContentError("no JSON"), "bad_sample", id="a row is damaged"),
    ],
)
def test_a_loader_that_fails_is_a_fault_of_its_plugin(
    error: Exception, kind: str
) -> None:
    assert unread_rows("t", 4, error).kind == kind
