import pytest


@pytest.fixture(autouse=True)
def _toys(toys: None) -> None:
    pass
