"""Formats as plugins: a third party's is read as ours are, and what is none is named."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from mmeval.backend.contract import WholeAnswers
from mmeval.backend.create import create_backend
from mmeval.content.parts import text_part
from mmeval.errors import PluginError, UnknownNameError, UsageError
from mmeval.interchange.contract import Absent, AnswerFormat, AnswerPlace, StoredAnswer, load_format, open_answers
from mmeval.records.request import Request
from mmeval.records.response import answered
from mmeval.records.sample import Sample, user
from tests.support.task_folder import installed

SAMPLE = Sample("1", (user("?"),))
FORMATS = """
[mmeval.formats]
parrot = tests.mmeval.interchange.test_contract:PARROT
silent = tests.mmeval.interchange.test_contract:SILENT
odd = tests.mmeval.interchange.test_contract:SAMPLE
"""


class Parrots:
    """Every answer is the word that the format was told."""

    model, digest, remarks = "parrot", "0" * 32, ("it repeats",)
    counts: Mapping[str, int] = {"t": 1}

    def __init__(self, word: str) -> None:
        self._word = word

    def answer(self, task: str, sample: Sample, repeat: int) -> StoredAnswer | Absent:
        return (
            Absent("once is enough")
            if repeat
            else StoredAnswer(AnswerPlace(task, 0), answered([text_part(self._word)]))
        )

    def close(self) -> None: ...


def read(path: Path, word: str = "hello") -> Parrots:
    return Parrots(word)


PARROT = AnswerFormat("Repeats.", read=read)
SILENT = AnswerFormat("Is written only.")


@pytest.fixture(autouse=True)
def formats(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with installed(tmp_path / "site", monkeypatch, {"toys": {}}, more=FORMATS):
        yield


def test_a_third_partys_format_is_replayed_with_its_own_arguments(tmp_path: Path) -> None:
    backend = create_backend("replay", {"path": str(tmp_path), "format": "parrot", "word": "ahoy"})

    assert isinstance(backend, WholeAnswers)
    response = backend.answer("t", SAMPLE, 0, Request(SAMPLE.input))
    failed = backend.answer("t", SAMPLE, 1, Request(SAMPLE.input)).error
    assert response.text == "ahoy"
    assert failed is not None
    assert (failed.kind, failed.message) == ("no_answer", "once is enough")
    assert backend.identity == {"backend": "replay", "format": "parrot", "word": "ahoy", "answers": "0" * 32}


def test_arguments_are_checked_by_the_readers_own_types(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r'did you mean "word"\? It takes: word\.'):
        open_answers("parrot", tmp_path, {"wort": "x"})
    with pytest.raises(UsageError, match="word must be a text"):
        open_answers("parrot", tmp_path, {"word": 7})
    with pytest.raises(UsageError, match="is written only"):
        open_answers("silent", tmp_path, {})


def test_what_is_registered_as_a_format_and_is_none_is_named() -> None:
    with pytest.raises(
        PluginError, match=r"'odd' \(mmeval.formats\) is Sample, not a mmeval.interchange.contract.AnswerFormat"
    ):
        load_format("odd")
    with pytest.raises(UnknownNameError, match=r'did you mean "parrot"\?'):
        load_format("parot")
