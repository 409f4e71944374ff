from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.parametrize(
    "module", ["structure.strict_structure", "structure.lenient_structure", "text.choice"], ids=str
)
def test_the_examples_of_docstrings_hold(module: str) -> None:
    done = doctest.testmod(importlib.import_module(f"mmeval.metrics.{module}"))

    assert (done.failed, done.attempted > 0) == (0, True)
