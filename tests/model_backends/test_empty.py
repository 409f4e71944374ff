from mmeval.backend.contract import SampleBackend
from mmeval.backend.create import create_backend
from mmeval.content.parts import PART_KINDS, Interleaved
from mmeval.model_backends.empty import EmptyBackend
from mmeval.records.request import Request
from mmeval.records.sample import Sample, user


def test_every_sample_is_answered_with_nothing() -> None:
    sample = Sample("1", (user("?"),), (Interleaved.from_text("truth"),))
    response = EmptyBackend().answer("task", sample, 0, Request(sample.input))
    assert response.error is None
    assert response.output == Interleaved()


def test_it_is_a_sample_backend_that_its_name_creates() -> None:
    backend = create_backend("empty", {})
    assert isinstance(backend, SampleBackend)
    assert backend.identity == {"backend": "empty"}


def test_it_takes_and_gives_every_kind_at_once() -> None:
    assert EmptyBackend().capabilities.missing(Request((user("a"),), wants=PART_KINDS)) == []
