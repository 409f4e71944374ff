"""Bad input to a local model: a typed error or a warning for the row that brought it,
nothing for its neighbours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mmeval.errors import UsageError
from mmeval.media.media import Media
from mmeval.media.parts import Part
from mmeval.records.request import Request
from mmeval.records.response import Response
from tests.support.models import (
    answers,
    asked,
    chat_of,
    copied,
    drawn,
    fault,
    loaded,
    says,
    started,
)
from tests.support.tiny_media import declared_png

RED, BLUE = drawn(), drawn((20, 20, 220), (64, 48))


def said(response: Response) -> tuple[Any, ...]:
    assert response.error is None, response.error
    return response.output, response.finish_reason, response.usage, response.warnings


BAD_ROWS: dict[str, tuple[Request, str, str]] = {
    "a huge picture": (
        asked("Look", Media.from_bytes(declared_png(20_000, 20_000))),
        "bad_request",
        "max_pixels",
    ),
    "a strip that the processor refuses": (
        asked("Look", drawn(size=(4000, 8))),
        "bad_request",
        "aspect ratio",
    ),
    "a document": (
        asked("Read", Part("document", media=Media.from_bytes(b"%PDF-1.4"))),
        "unsupported",
        "does not support document",
    ),
    "nothing": (asked(" \n"), "bad_request", "empty"),
    "no tokens": (asked("Hi", max_tokens=0), "bad_request", "max_tokens"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_a_row_that_cannot_be_asked_fails_alone_in_a_batch_of_four(case: str) -> None:
    bad, kind, words = BAD_ROWS[case]
    good = [asked("Hi"), asked("What is this?", RED), asked("And this?", BLUE)]
    backend = loaded("qwen2_5_vl")
    first, failed, *others = answers(backend, [good[0], bad, *good[1:]])
    found, text = fault(failed)
    assert (found, failed.output, words in text) == (kind, None, True)
    assert [said(row) for row in (first, *others)] == [
        said(says(backend, request)) for request in good
    ]


@pytest.fixture
def nan_for() -> Iterator[Any]:
    """Lets the scores of some rows of a batch hold NaN."""
    model, hooks = chat_of("llm").model, []

    def spoil(rows: slice) -> None:
        def hook(_module: Any, _inputs: Any, scores: Any) -> None:
            scores[rows, :, 5] = float("nan")

        hooks.append(model.lm_head.register_forward_hook(hook))

    yield spoil
    for hook in hooks:
        hook.remove()


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_scores_that_are_no_numbers_fail_their_row_and_no_other(
    nan_for: Any, temperature: float
) -> None:
    words = ("Hi", "Who are you?", "And then?", "x")
    requests = [
        asked(word, temperature=temperature, seed=seed)
        for seed, word in enumerate(words)
    ]
    expected = [said(says(loaded("llm"), request)) for request in requests]
    nan_for(slice(1, 2))
    rows = answers(loaded("llm"), requests)
    kind, text = fault(rows[1])
    assert (kind, "NaN" in text, "float32" in text) == ("internal", True, True)
    assert [said(rows[at]) for at in (0, 2, 3)] == [expected[at] for at in (0, 2, 3)]


def test_a_model_without_chat_template_is_refused_and_a_file_helps_if_it_drops_nothing(
    tmp_path: Path,
) -> None:
    folder = copied("llm", tmp_path)
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(UsageError, match=r"llm .* chat_template=FILE"):
        started(folder)
    template = tmp_path / "own.jinja"
    template.write_text(
        "{% for m in messages if m.role != 'system' %}[{{ m.content }}]{% endfor %}"
    )
    backend = started(folder, chat_template=str(template))
    fine, lost = answers(backend, [asked("Hi"), asked("Hi", system="Be kind.")])
    assert fine.usage.input_tokens == len("[Hi]")
    kind, text = fault(lost)
    assert (kind, "drops the system message" in text) == ("unsupported", True)
