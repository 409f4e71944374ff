"""The backend of diffusers keeps the rules of batch backends."""

from collections.abc import Iterator

import pytest
import torch

from mmeval.authoring.testing.checks import check_backend
from mmeval.model_backends.diffusers import DiffusersBackend
from tests.support.models import tiny_model


@pytest.fixture(scope="module")
def backend() -> Iterator[DiffusersBackend]:
    torch.set_num_threads(1)
    made = DiffusersBackend(pretrained=str(tiny_model("sd")), steps=2)
    made.start()
    yield made


def test_it_keeps_the_rules_of_batch_backends(backend: DiffusersBackend) -> None:
    check_backend(backend)
