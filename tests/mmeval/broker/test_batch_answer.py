import logging
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from mmeval.backend.contract import ModelDiedError
from mmeval.broker.batch_answer import answer_batch
from mmeval.errors import StorageError
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.toy import ToyLocal, request


def answered(backend: ToyLocal, *texts: str) -> dict[str, str]:
    """All texts as one batch."""
    found: dict[str, str] = {}

    def deliver(row: int, response: Response) -> None:
        error = response.error
        found[texts[row]] = f"{error.kind}: {error.message}" if error else response.text

    answer_batch(backend, [request(text) for text in texts], deliver)
    return found


def test_a_bad_row_fails_alone_and_is_logged_on_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    backend = ToyLocal()
    found = answered(backend, "question 1", "bad", "question 2")
    assert not caplog.records
    with caplog.at_level(logging.DEBUG, "mmeval"):
        answered(ToyLocal(), "bad")
    (logged,) = caplog.messages
    assert "in generate_batch" in logged
    assert found == {
        "question 1": "answer 1",
        "bad": found["bad"],
        "question 2": "answer 2",
    }
    assert found["bad"].startswith("internal: ValueError: bad row (")
    assert backend.batches == [
        ["question 1", "bad", "question 2"],
        ["question 1"],
        ["bad"],
    ]


def test_a_batch_that_does_not_fit_is_halved_until_it_does_and_returns_how_many_fit() -> (
    None
):
    backend = ToyLocal(memory=2)
    found = answered(backend, *(f"question {i}" for i in range(7)))
    assert found == {f"question {i}": f"answer {i}" for i in range(7)}
    assert list(map(len, backend.batches)) == [7, 3, 1, 1, 1, 3, 1, 1, 1, 1]
    out = "out_of_memory: RuntimeError: CUDA out of memory"
    assert answered(ToyLocal(memory=0), "a", "b") == {"a": out, "b": out}
    for memory, rows, most in ((9, 8, 0), (7, 8, 4), (3, 8, 2), (1, 5, 1), (0, 8, 0)):
        requests = [request(f"question {i}") for i in range(rows)]
        assert (
            answer_batch(
                ToyLocal(memory=memory), requests, lambda _row, _response: None
            )
            == most
        )


def test_rows_that_a_backend_forgets_are_asked_again_alone() -> None:
    class Forgetful(ToyLocal):
        """Leaves out every row but the first of a batch, and gives one that was not
        asked for."""

        def generate_batch(
            self, requests: Sequence[Request]
        ) -> Iterator[tuple[int, Response]]:
            yield from list(super().generate_batch(requests))[-1:]
            yield 99, Response.failed("internal", "not asked")

    assert answered(Forgetful(), "question 1", "question 2") == {
        "question 1": "answer 1",
        "question 2": "answer 2",
    }


@pytest.mark.parametrize("odd", [(0, "a text"), ([0], Response()), 0], ids=repr)
def test_a_row_that_gets_no_answer_but_something_else_fails_alone(odd: Any) -> None:
    class Odd(ToyLocal):
        def generate_batch(
            self, requests: Sequence[Request]
        ) -> Iterator[tuple[int, Response]]:
            for position, response in super().generate_batch(requests):
                yield odd if response.text == "odd" else (position, response)

    found = answered(Odd(), "question 0", "odd", "question 2")
    assert (found["question 0"], found["question 2"]) == ("answer 0", "answer 2")
    assert found["odd"].startswith(f"internal: TypeError: the backend gave {odd!r:.9}")
    assert "batch_answer.py:" not in found["odd"].replace("test_batch_answer.py:", "")


def test_a_backend_that_returns_nothing_gives_no_answer() -> None:
    class Silent(ToyLocal):
        def generate_batch(self, requests: Sequence[Request]) -> Any:
            return None

    assert "no answer for this row" in answered(Silent(), "question 1")["question 1"]


def test_an_answer_that_cannot_be_delivered_ends_the_batch_and_is_no_fault_of_its_rows() -> (
    None
):
    def full(_row: int, _response: Response) -> None:
        raise StorageError("the disk is full")

    backend = ToyLocal()
    with pytest.raises(StorageError):
        answer_batch(backend, [request("a"), request("b")], full)
    assert len(backend.batches) == 1


def test_an_error_is_let_go_before_its_rows_are_asked_again() -> None:
    # The frames of a traceback hold what did not fit into memory.
    held: list[object] = []

    class Holding(ToyLocal):
        def generate_batch(
            self, requests: Sequence[Request]
        ) -> Iterator[tuple[int, Response]]:
            held.append(sys.exc_info()[1])
            yield from super().generate_batch(requests)

    answered(Holding(memory=1), "a", "b")
    assert held == [None, None, None]


def test_the_death_of_a_model_ends_the_batch_and_leaves_its_open_rows() -> None:
    class Dying(ToyLocal):
        """Is gone after the first row of a batch."""

        def generate_batch(
            self, requests: Sequence[Request]
        ) -> Iterator[tuple[int, Response]]:
            yield next(iter(super().generate_batch(requests)))
            raise ModelDiedError("killed")

    rows: list[int] = []
    with pytest.raises(ModelDiedError, match="killed"):
        answer_batch(
            Dying(),
            [request("question 1"), request("question 2")],
            lambda row, _response: rows.append(row),
        )
    assert len(rows) == 1
