from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import mmeval.trust.annotate.command
from mmeval.trust.annotate.command import Annotation, AnnotationOptions, prepared
from tests.support.words import RUN, TINY, Case, shown

ASK = {
    **TINY,
    "tone.yaml": "question: How polite?\nkind: grade\nlevels: [rude, polite]\n",
    "pairs.yaml": "question: Which is better?\npairs: true\n",
    "words.yaml": "question: What is seen?\nkind: text\n",
    "odd.yaml": "question: How polite?\nkind: grades\nlevels: [rude, polite]\n",
}
TWO = (RUN, RUN.replace("reference", "empty"))
NO_PORT = "--port 0"

REFUSED = {
    "no question": "annotate runs",
    "two questions": "annotate runs --metric exact_match --ask tone.yaml",
    "a metric that the run lacks": "annotate runs --metric judge",
    "a metric without a question": "annotate runs --metric exact_match",
    "a kind that does not exist": "annotate runs --ask odd.yaml",
    "pairs of one run": "annotate runs --ask pairs.yaml",
    "too few raters": "annotate runs --ask tone.yaml --raters a,b --overlap 3",
    "raters twice": "annotate runs --ask tone.yaml --raters a --prolific CODE",
    "a code without Prolific": "annotate runs --ask tone.yaml --keep_ids",
    "nothing of a task": "annotate runs --ask tone.yaml --tasks tt",
    "a share above 1": "annotate runs --ask tone.yaml --again 2",
    "a limit of nothing": "annotate runs --ask tone.yaml --limit 0",
    "a port that does not exist": "annotate runs --ask tone.yaml --port 99999",
    "a precision of words": "annotate runs --ask words.yaml --precision 0.1",
}
SERVED = {
    "two raters": Case(
        f"annotate runs --ask tone.yaml --raters ann,bob {NO_PORT}", ASK
    ),
    "pairs": Case(
        "annotate runs/reference/default runs/empty/default --ask pairs.yaml "
        f"{NO_PORT}",
        ASK,
    ),
    "Prolific": Case(f"annotate runs --ask tone.yaml --prolific CODE {NO_PORT}", ASK),
}


@contextmanager
def _prepared(options: AnnotationOptions) -> Iterator[Annotation]:
    """A session with tokens that are the same at every time."""
    with prepared(options) as annotation:
        annotation.server.access.tokens._secret = b"known"
        yield annotation


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    case = Case(REFUSED[name], ASK, before=(RUN,))
    assert shown(case, tmp_path) == snapshot


@pytest.fixture
def _ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes before the first rating."""
    command = mmeval.trust.annotate.command
    monkeypatch.setattr(command, "prepared", _prepared)
    monkeypatch.setattr(command, "_serve_until_signal", lambda _server: None)


@pytest.mark.usefixtures("_ended_at_once")
def test_a_page_for_other_machines_is_said_aloud(tmp_path: Path) -> None:
    words = f"annotate runs --ask tone.yaml --host 127.0.0.2 {NO_PORT}"
    written = shown(Case(words, ASK, before=(RUN,)), tmp_path)
    assert "open to other machines, at 127.0.0.2, and not encrypted" in written


@pytest.mark.parametrize("name", SERVED)
@pytest.mark.usefixtures("_ended_at_once")
def test_served(name: str, tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    case = SERVED[name]._replace(before=TWO if name == "pairs" else (RUN,))
    assert shown(case, tmp_path) == snapshot
