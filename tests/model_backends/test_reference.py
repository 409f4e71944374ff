from collections.abc import Sequence

import pytest

from mmeval.backend.contract import SampleBackend
from mmeval.backend.create import create_backend
from mmeval.media import PART_KINDS, Interleaved, Media, PartKind
from mmeval.records import Request, Response, Sample, user

PICTURE = Media.from_bytes(b"\x89PNG\r\n\x1a\n")
TRUTH = Interleaved.from_text("a <<image1>> b <<audio1>> c", {"image1": PICTURE})


def answer(wants: Sequence[PartKind], *references: Interleaved) -> Response:
    sample = Sample("s/1", (user("?"),), references)
    backend = create_backend("reference", {})
    assert isinstance(backend, SampleBackend)
    return backend.answer("task", sample, 0, Request(sample.input, wants=tuple(wants)))


def test_the_first_reference_is_the_answer_and_a_sample_without_one_is_unsupported() -> (
    None
):
    assert (
        answer(
            ["text", "image", "audio"], TRUTH, Interleaved.from_text("another")
        ).output
        == TRUTH
    )
    error = answer(["text"]).error
    assert error is not None
    assert error.kind == "unsupported"
    assert "'s/1'" in error.message
    backend = create_backend("reference", {})
    assert backend.identity == {"backend": "reference"}
    assert (
        backend.capabilities.missing(Request((user("a", PICTURE),), wants=PART_KINDS))
        == []
    )


@pytest.mark.parametrize(
    ("wants", "raw"),
    [(["text"], "a  b  c"), (["image"], "<<image1>>"), (["video"], "")],
)
def test_only_the_wanted_kinds_are_given(wants: list[PartKind], raw: str) -> None:
    output = answer(wants, TRUTH).output
    assert output is not None
    assert output.raw == raw
