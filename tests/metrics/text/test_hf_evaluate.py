from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mmeval.aggregate import Scores
from mmeval.aggregate.summary import summarise
from mmeval.errors import UsageError
from mmeval.metrics.text import hf_evaluate as module
from mmeval.metrics.text.hf_evaluate import _checked, _picked, hf_evaluate, together
from mmeval.records import Score
from tests.support.trials import score_of, trial

TRIAL = trial("a b", ["b c", "x"])


class Library:
    """In place of the library, which takes seconds to import; tests/soak has it with
    the real one."""

    def __init__(self) -> None:
        self.loaded: list[str] = []

    def load(self, name: str, *, keep_in_memory: bool) -> Any:
        assert keep_in_memory
        self.loaded.append(name)
        if name == "needy":
            raise ImportError("no module rouge_score\nat all")
        if name == "far":
            raise OSError
        if name == "fussy":
            return SimpleNamespace(
                compute=lambda predictions, **_: {
                    "classes": 1 / (len(set(predictions)) - 1)
                }
            )
        return SimpleNamespace(
            compute=lambda **given: {
                "given": len(str(given)),
                "one": 1,
                **given.get("more", {}),
            }
        )


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
    library = Library()
    monkeypatch.setattr(module, "need", lambda *_: library)
    monkeypatch.setattr(module, "_REPORTED", set())
    module._load.cache_clear()
    yield library
    module._load.cache_clear()


def given(*references: str | list[str], **more: Any) -> int:
    return len(str({"predictions": ["a b"], "references": list(references), **more}))


def test_the_first_reference_is_compared_or_all(library: Library) -> None:
    one, every = (
        score_of(hf_evaluate, TRIAL, name="own", field="given", all_references=it)
        for it in (False, True)
    )
    assert one == Score(
        given("b c"), evidence={"result": {"given": given("b c"), "one": 1.0}}
    )
    assert every.value == given(["b c", "x"])
    assert library.loaded == ["own"]  # once in a process
    found = score_of(
        hf_evaluate,
        TRIAL,
        name="own",
        field="more",
        kwargs={"more": {"more": 0.5, "word": "w"}},
    )
    assert found.value == 0.5
    assert sorted(found.evidence["result"]) == ["given", "more", "one"]
    assert score_of(hf_evaluate, trial("a"), name="rouge").status == "unscored"


def test_all_answers_are_computed_in_one_call_and_a_resample_with_its_own(
    library: Library,
) -> None:
    own = {"name": "own", "field": "given", "kwargs": None, "trust_remote_code": False}
    scores = Scores(switches=own)
    for sample, answer in (("1", "a"), ("2", "bb"), ("3", None)):
        score = score_of(
            hf_evaluate, trial(answer, "b c"), name="own", aggregation="hf_evaluate"
        )
        scores.add(sample, 0, score)
    alone, every = (
        len(str({"predictions": found, "references": ["b c"] * len(found)}))
        for found in (["a"], ["a", "bb"])
    )
    resample = scores.drawn([[0], [0]])
    assert [
        together(some).value for some in (scores, scores.take([0, 2]), scores.take([2]))
    ] == [every, alone, None]
    assert together(resample).value == every - 1
    assert [row.value for row in scores] == [None] * 3
    unlike = Scores()
    unlike.add_value("1", 0, 1.0)
    with pytest.raises(UsageError):
        together(unlike)


@pytest.mark.parametrize(
    ("name", "answers", "value", "words"),
    [
        ("fussy", "aab", 1.0, "ZeroDivisionError"),
        ("fussy", "aaa", None, "ZeroDivisionError"),
        ("own", "aab", None, "set field to one of: given, one"),
        ("far", "aab", None, "cannot be loaded"),
    ],
    ids=["in a draw", "always", "without its field", "not loaded"],
)
@pytest.mark.usefixtures("library")
def test_where_the_library_fails_there_is_no_number_and_the_reason_is_logged_once(
    name: str,
    answers: str,
    value: float | None,
    words: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    scores = Scores(
        switches={"name": name, "field": "", "kwargs": None, "trust_remote_code": False}
    )
    for sample, answer in enumerate(answers):
        scores.add(
            str(sample), 0, Score(evidence={"prediction": answer, "reference": "b"})
        )
    found = summarise("task", "hf_evaluate", scores, together, bootstrap_iters=100)
    assert found.value == value
    assert found.stderr is None
    assert found.scored == 3
    [message] = caplog.messages
    assert words in message


def test_one_number_is_picked_or_none() -> None:
    two = {"a": 0.5, "b": 0.25}
    assert _picked({"accuracy": 0.5}, "").value == 0.5
    assert _picked(two, "b").value == 0.25
    others: list[dict[str, Any]] = [two, {"label": "3"}, {"all": [1, 2], "one": True}]
    assert [_picked(result, "").value for result in others] == [None] * 3
    assert _picked({"a": 0.5}, "c").value is None


@pytest.mark.parametrize(
    ("name", "why"), [("needy", "no module rouge_score"), ("far", "OSError")]
)
def test_a_metric_that_cannot_be_loaded_is_unavailable(
    name: str, why: str, library: Library
) -> None:
    found = score_of(hf_evaluate, TRIAL, name=name)
    assert found.status == "unavailable"
    assert name in found.reason
    assert "\n" not in found.reason
    assert why in found.reason


@pytest.mark.parametrize(
    "name",
    ["owner/metric", "./overlap", "overlap/overlap.py", "..", "~/overlap", "rouge"],
)
def test_foreign_code_needs_the_users_consent(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for own in ("rouge", "evaluate-metric/bleu"):
        assert _checked(own, trust_remote_code=False) == own
    with pytest.raises(UsageError):
        _checked("", trust_remote_code=True)
    (tmp_path / "rouge").mkdir()
    (tmp_path / "rouge/rouge.py").touch()  # which the library would take before its own
    with pytest.raises(UsageError) as caught:
        _checked(name, trust_remote_code=False)
    assert caught.value.name == name
    assert "--trust_remote_code" in str(caught.value)
    path = {"./overlap": tmp_path / "overlap", "..": tmp_path.parent}.get(name, name)
    assert _checked(name, trust_remote_code=True) == str(path)
