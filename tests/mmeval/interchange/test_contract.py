from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from mmeval.backend.contract import WholeAnswers
from mmeval.backend.create import create_backend
from mmeval.errors import PluginError, UnknownNameError, UsageError
from mmeval.interchange.contract import (
    AnswerFormat,
    AnswerPlace,
    MissingAnswer,
    StoredAnswer,
    load_format,
    open_answers,
)
from mmeval.media.parts import text_part
from mmeval.records.request import Request
from mmeval.records.response import answered
from mmeval.records.sample import Sample, user
from tests.support.task_folder import with_plugins

SAMPLE = Sample("1", (user("?"),))
HERE = "tests.mmeval.interchange.test_contract"
FORMATS = (
    f"\n[mmeval.formats]\nparrot = {HERE}:PARROT\nsilent = {HERE}:SILENT\nodd = "
    f"{HERE}:SAMPLE\n"
)


class Parrots:
    """Every answer is the word that the format was given."""

    model, digest, remarks = "parrot", "0" * 32, ("it repeats",)
    counts: Mapping[str, int] = {"t": 1}

    def __init__(self, word: str) -> None:
        self._word = word

    def answer(
        self, task: str, sample: Sample, repeat: int
    ) -> StoredAnswer | MissingAnswer:
        once = StoredAnswer(AnswerPlace(task, 0), answered([text_part(self._word)]))
        return MissingAnswer("once is enough") if repeat else once

    def close(self) -> None: ...


def read(path: Path, word: str = "hello") -> Parrots:
    return Parrots(word)


PARROT = AnswerFormat("Repeats.", read=read)
SILENT = AnswerFormat("Is written only.")


@pytest.fixture(autouse=True)
def formats() -> Iterator[None]:
    with with_plugins("toys", FORMATS):
        yield


def test_a_third_partys_format_is_replayed_with_its_own_arguments(
    tmp_path: Path,
) -> None:
    backend = create_backend(
        "replay", {"path": str(tmp_path), "format": "parrot", "word": "ahoy"}
    )
    assert isinstance(backend, WholeAnswers)
    first, second = (
        backend.answer("t", SAMPLE, repeat, Request(SAMPLE.input)) for repeat in (0, 1)
    )
    assert first.text == "ahoy"
    assert second.error is not None
    assert (second.error.kind, second.error.message) == ("no_answer", "once is enough")
    assert backend.identity == {
        "backend": "replay",
        "format": "parrot",
        "word": "ahoy",
        "answers": "0" * 32,
    }


def test_arguments_are_checked_by_the_readers_own_types(tmp_path: Path) -> None:
    wrong: list[tuple[str, dict[str, Any], str]] = [
        ("parrot", {"word": 7}, "word"),
        ("silent", {}, "silent"),
    ]
    for form, options, name in wrong:
        with pytest.raises(UsageError) as caught:
            open_answers(form, tmp_path, options)
        assert caught.value.name == name
    with pytest.raises(UnknownNameError, match="'wort'"):
        open_answers("parrot", tmp_path, {"wort": "x"})


def test_what_is_registered_as_a_format_and_is_none_is_named() -> None:
    with pytest.raises(PluginError) as caught:
        load_format("odd")
    assert caught.value.name == "odd"
    with pytest.raises(UnknownNameError) as unknown:
        load_format("parot")
    assert unknown.value.name == "parot" and "parrot" in unknown.value.known
