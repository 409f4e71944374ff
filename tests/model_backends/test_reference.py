from collections.abc import Sequence

import pytest

from mmeval.backend.contract import SampleBackend
from mmeval.backend.create import create_backend
from mmeval.content.media import Media
from mmeval.content.parts import PART_KINDS, Interleaved, PartKind
from mmeval.model_backends.reference import ReferenceBackend
from mmeval.records.request import Request
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user

PICTURE = Media.from_bytes(b"\x89PNG\r\n\x1a\n")
TRUTH = Interleaved.from_text("a <<image1>> b <<audio1>> c", {"image1": PICTURE})
OTHER = Interleaved.from_text("another")


def answer(wants: Sequence[PartKind], *references: Interleaved) -> Response:
    sample = Sample("s/1", (user("?"),), references)
    return ReferenceBackend().answer("task", sample, 0, Request(sample.input, wants=tuple(wants)))


def test_the_first_reference_is_the_answer() -> None:
    assert answer(["text", "image", "audio"], TRUTH, OTHER).output == TRUTH


@pytest.mark.parametrize(
    ("wants", "raw"),
    [
        pytest.param(["text"], "a  b  c", id="words"),
        pytest.param(["image"], "<<image1>>", id="picture"),
        pytest.param(["audio"], "<<audio1>>", id="dangling tag"),
        pytest.param(["video"], "", id="nothing of that kind"),
    ],
)
def test_only_the_wanted_kinds_are_given(wants: list[PartKind], raw: str) -> None:
    output = answer(wants, TRUTH).output
    assert output is not None
    assert output.raw == raw


def test_a_sample_without_reference_is_unsupported_and_named() -> None:
    error = answer(["text"]).error
    assert error is not None
    assert error.kind == "unsupported"
    assert "'s/1' has no reference" in error.message


def test_it_is_a_sample_backend_that_its_name_creates() -> None:
    backend = create_backend("reference", {})
    assert isinstance(backend, SampleBackend)
    assert backend.identity == {"backend": "reference"}


def test_it_takes_and_gives_every_kind_at_once() -> None:
    request = Request((user("a", PICTURE),), wants=PART_KINDS)
    assert ReferenceBackend().capabilities.missing(request) == []
