from mmeval.backend.contract import SampleBackend
from mmeval.backend.create import create_backend
from mmeval.content.parts import PART_KINDS, Interleaved
from mmeval.records import Request, Sample, user


def test_every_sample_is_answered_with_nothing_by_the_backend_that_the_name_creates() -> None:
    backend = create_backend("empty", {})
    sample = Sample("1", (user("?"),), (Interleaved.from_text("truth"),))
    assert isinstance(backend, SampleBackend)
    response = backend.answer("task", sample, 0, Request(sample.input))
    assert (response.error, response.output) == (None, Interleaved())
    assert backend.identity == {"backend": "empty"}
    assert backend.capabilities.missing(Request((user("a"),), wants=PART_KINDS)) == []
