import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGES = {
    "mmeval": "mmeval",
    "metrics": "mmeval.metrics",
    "tasks": "mmeval.tasks",
    "model_backends": "mmeval.model_backends",
}


def modules_with_examples() -> list[str]:
    found = []
    for folder, package in PACKAGES.items():
        for file in sorted((ROOT / folder).rglob("*.py")):
            if ">>> " in file.read_text():
                steps = file.relative_to(ROOT / folder).with_suffix("").parts
                found.append(".".join((package, *steps)).removesuffix(".__init__"))
    return found


@pytest.mark.parametrize("module", modules_with_examples())
def test_the_examples_of_docstrings_hold(module: str) -> None:
    done = doctest.testmod(importlib.import_module(module))
    assert (done.failed, done.attempted > 0) == (0, True)
