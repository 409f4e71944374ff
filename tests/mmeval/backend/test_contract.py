from typing import Any

from mmeval.backend.contract import BatchBackend, ModelBackend, ProgramBackend, SampleBackend
from mmeval.model_backends.empty import EmptyBackend
from tests.support.toy import Toy, ToyAgent, ToyLocal


def test_each_kind_of_backend_is_known_by_its_methods() -> None:
    kinds = (ModelBackend, BatchBackend, ProgramBackend, SampleBackend)
    backends: list[Any] = [Toy(), ToyLocal(), ToyAgent(), EmptyBackend()]
    assert [[kind for kind in kinds if isinstance(one, kind)] for one in backends] == [[kind] for kind in kinds]
