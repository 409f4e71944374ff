"""What a worker that misbehaves makes of its rows: none is lost, and none has the media
of another."""

import asyncio
import itertools
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmeval.backend import ModelDiedError
from mmeval.broker.batch_answer import answer_batch
from mmeval.errors import EXIT_MISSING, EXIT_UNEXPECTED, EXIT_USAGE, MmevalError
from mmeval.model_backends.process import ProcessBackend, program
from mmeval.model_backends.process.messages import MAX_BATCH
from mmeval.records import Response
from mmeval.system.child_program import ChildProgram
from tests.support.backend_runs import bad_worker, noted
from tests.support.cli import DEADLINE, gone
from tests.support.toy import request

TEXTS = [f"question {i}" for i in range(8)]


@pytest.fixture
def notes(tmp_path: Path) -> Iterator[Path]:
    """Whatever the workers of a test did: none of their processes is left."""
    yield tmp_path
    assert gone({int(line.split()[0]) for line in noted(tmp_path, "started")})


class Asked:
    """What came of a batch of eight rows, by row; ``death`` where the worker's end
    ended it."""

    def __init__(self, backend: ProcessBackend, batches: int = 1) -> None:
        self.found: dict[int, Response] = {}
        self.death = ""
        self.most = 0
        try:
            for _ in range(batches):
                self.most = answer_batch(
                    backend, [request(text) for text in TEXTS], self.found.__setitem__
                )
        except ModelDiedError as death:
            self.death = str(death)
        finally:
            asyncio.run(backend.close())

    def right(self) -> list[int]:
        """The rows with their own words and their own picture."""
        return [
            row
            for row, response in sorted(self.found.items())
            if _is_of(response, TEXTS[row])
        ]

    def errors(self) -> set[str]:
        return {
            f"{one.error.kind}: {one.error.message}"
            for one in self.found.values()
            if one.error
        }


def _is_of(response: Response, text: str) -> bool:
    if response.output is None or response.output.text != text:
        return False
    return [medium.read()[-len(text) :] for medium in response.output.media()] == [
        text.encode()
    ]


def test_a_sound_worker_answers_each_row_with_its_own_words_and_picture(
    notes: Path,
) -> None:
    asked = Asked(bad_worker("none", notes, copies=0), batches=2)
    assert asked.right() == [*range(8)]
    assert asked.death == ""
    assert asked.found[0].usage.output_tokens == 4
    assert {response.fingerprint for response in asked.found.values()} == {"torch 1.2"}
    assert len(noted(notes, "loads")) == 1


@pytest.mark.parametrize(
    ("fault", "words", "code", "more"),
    [
        ("prints", "'Loading the model'", EXIT_MISSING, {}),
        (
            "no hello",
            r"for 0.3 seconds \(hello_timeout\)",
            EXIT_MISSING,
            {"hello_timeout": 0.3},
        ),
        ("slow hello", "not written a line", EXIT_MISSING, {"hello_timeout": 0.2}),
        ("dies early", "status 1; .*there is no torch here", EXIT_MISSING, {}),
        ("protocol", "protocol 2, .* uses 1", EXIT_USAGE, {}),
        ("bad hello", "batch='many'", EXIT_USAGE, {}),
    ],
)
def test_a_hello_that_does_not_come(
    fault: str, words: str, code: int, more: dict[str, Any], notes: Path
) -> None:
    with pytest.raises(MmevalError, match=words) as error:
        bad_worker(fault, notes, **more)
    assert error.value.exit_code == code


def test_a_slow_hello_is_waited_for(notes: Path) -> None:
    assert bad_worker("slow hello", notes).max_batch_size == 8


@pytest.mark.parametrize("fault", ["load fails", "load dies"])
def test_a_load_that_fails_has_the_words_of_the_worker(fault: str, notes: Path) -> None:
    backend = bad_worker(fault, notes, copies=0)
    with pytest.raises(
        MmevalError, match=r"could not load its model.*no room for the weights"
    ) as error:
        backend.start()
    assert error.value.exit_code == EXIT_UNEXPECTED


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("half a line", "status 7 in the middle of a line"),
        ("long line", "more than 64 MiB"),
        ("no JSON", "'a progress bar: 10%'"),
        ("no message", "not an object with a type"),
        ("unknown type", "'progress'"),
        ("wrong id", "answered batch 2 instead of 1"),
        ("wrong row", "row 8, which is not an open"),
        ("NaN", "NaN is not a JSON number"),
        ("SIGSEGV", "killed by SIGSEGV; .*the last words"),
        ("SIGKILL", "memory ran out.*the last words"),
        ("silence", "for 1 seconds (timeout)"),
        ("leaves children", "status 5"),
    ],
)
def test_a_worker_that_cannot_be_trusted_any_more_is_ended_and_no_row_is_answered(
    fault: str, words: str, notes: Path
) -> None:
    began = time.monotonic()
    timeout = 1 if fault == "silence" else 10 * DEADLINE
    asked = Asked(bad_worker(fault, notes, copies=0, timeout=timeout))
    assert not asked.found
    assert all(word in asked.death for word in words.split(".*")), asked.death
    assert time.monotonic() - began < DEADLINE, "the worker was not silent"
    if fault == "leaves children":
        assert gone({int(line.split()[1]) for line in noted(notes, "children")})


@pytest.mark.parametrize(
    ("much", "timeout", "words"),
    [
        ("much", 10 * DEADLINE, "more than 128 MiB"),
        ("little", 0.01, r"for 0.01 seconds \(timeout\)"),
    ],
)
def test_a_worker_that_does_not_read_what_it_is_sent_is_ended(
    much: str, timeout: float, words: str, notes: Path
) -> None:
    backend = bad_worker(
        f"reads nothing and logs {much}", notes, copies=0, timeout=timeout
    )
    backend.start()
    with pytest.raises(ModelDiedError, match=words):
        [*backend.generate_batch([request("x" * (1 << 20))])]


def test_a_row_that_is_answered_twice_ends_the_worker_and_keeps_the_first_answer(
    notes: Path,
) -> None:
    asked = Asked(bad_worker("twice", notes, copies=0))
    assert asked.right() == [0]
    assert "row 0, which is not an open" in asked.death


def test_an_answer_after_the_end_of_its_batch_is_not_taken_for_one_of_the_next(
    notes: Path,
) -> None:
    asked = Asked(bad_worker("after done", notes, copies=0), batches=2)
    assert asked.right() == [*range(8)]
    assert "answered batch 1 instead of 2" in asked.death


@pytest.mark.parametrize(
    ("fault", "words", "right"),
    [
        ("never", "gave no answer for this row", [0, *range(2, 8)]),
        ("foreign kind", "'audio', which the worker did not declare", []),
        ("no medium", "does not exist", []),
        ("lying type", "bytes of type audio/wav", []),
        ("other bytes", "sha256", []),
        ("no text", "has no text", []),
        ("full disk", "No space left", []),
    ],
)
def test_a_row_that_cannot_be_used_has_failed_with_the_reason(
    fault: str, words: str, right: list[int], notes: Path
) -> None:
    asked = Asked(bad_worker(fault, notes, copies=0))
    assert asked.death == ""
    assert sorted(asked.found) == [*range(8)]
    assert asked.right() == right
    assert asked.errors()
    assert all(
        error.startswith("internal: ") and words in error for error in asked.errors()
    )


def test_a_worker_that_only_logs_is_waited_for_ten_times_as_long_as_a_silent_worker(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # each look at the clock takes a second: no line comes too late, and all together do
    clock = SimpleNamespace(monotonic=itertools.count().__next__)
    monkeypatch.setattr(program, "time", clock)
    asked = Asked(bad_worker("only logs", notes, copies=0, timeout=60))
    assert "only log messages for 10 times 60 seconds (timeout)" in asked.death


def test_after_a_worker_has_replaced_its_media_folder_another_is_started(
    notes: Path,
) -> None:
    (notes / "precious").mkdir()
    backend = bad_worker("out is a link", notes, copies=0)
    for _ in range(2):
        with pytest.raises(ModelDiedError, match="media folder"):
            [*backend.generate_batch([request("a")])]
    asyncio.run(backend.close())
    assert len(noted(notes, "loads")) == 2


def test_a_worker_that_takes_a_huge_batch_is_sent_a_bounded_batch(notes: Path) -> None:
    assert bad_worker("huge batch", notes).max_batch_size == MAX_BATCH


def test_of_rows_that_name_one_file_none_has_the_picture_of_another(
    notes: Path,
) -> None:
    asked = Asked(bad_worker("same file", notes, copies=0))
    assert {
        *asked.right(),
        *(row for row, one in asked.found.items() if one.error),
    } == {*range(8)}


def test_a_batch_that_does_not_fit_is_halved(notes: Path) -> None:
    asked = Asked(bad_worker("no memory", notes, copies=0))
    assert asked.right() == [*range(8)]
    assert asked.most == 4
    assert len(noted(notes, "asked")) == 16


def test_a_worker_that_does_not_end_is_ended(
    notes: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[tuple[float, int]] = []
    end = ChildProgram.end

    def noted_end(leash: ChildProgram, seconds: float) -> int:
        status = end(leash, seconds)
        ends.append((seconds, status))
        return status

    monkeypatch.setattr(ChildProgram, "end", noted_end)
    monkeypatch.setattr("mmeval.model_backends.process.program.END_SECONDS", 0.5)
    assert Asked(bad_worker("ignores end", notes, copies=0)).right() == [*range(8)]
    assert ends == [(0.5, -signal.SIGKILL)]
