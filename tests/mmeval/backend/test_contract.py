from __future__ import annotations

from typing import Any

import pytest

from mmeval.backend.contract import BatchBackend, ModelBackend, ProgramBackend, SampleBackend
from mmeval.model_backends.empty import EmptyBackend
from tests.support.toy import Toy, ToyAgent, ToyLocal


@pytest.mark.parametrize(
    ("backend", "kind"),
    [(Toy(), ModelBackend), (ToyLocal(), BatchBackend), (ToyAgent(), ProgramBackend), (EmptyBackend(), SampleBackend)],
    ids=["model", "batch", "program", "sample"],
)
def test_each_kind_of_backend_is_told_by_its_methods(backend: Any, kind: type) -> None:
    kinds = (ModelBackend, BatchBackend, ProgramBackend, SampleBackend)
    assert [isinstance(backend, one) for one in kinds] == [one is kind for one in kinds]
