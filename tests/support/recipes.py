"""Workers of recipes, run on a stand-in of the model's repository."""

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mmeval.authoring.scaffold.names import package_name
from mmeval.authoring.scaffold.package import write_package
from mmeval.authoring.scaffold.recipes.facts import Recipe
from mmeval.model_backends.process import ProcessBackend
from mmeval.records import Request, Response

STAND_INS = Path(__file__).resolve().parents[1] / "fixtures" / "research-models"


def written(recipe: Recipe, folder: Path) -> Path:
    """The folder that ``mmeval init worker`` writes, with empty checkpoints."""
    name = package_name("worker", "omni")
    worker = write_package("worker", name, folder, recipe=recipe).folder
    for checkpoint in recipe.weights:
        (worker / "weights" / checkpoint.folder).mkdir(parents=True)
    return worker


def variables(recipe: Recipe) -> dict[str, str]:
    """The environment in which a worker finds the stand-ins."""
    return {
        "MODEL_REPOSITORY": str(STAND_INS / recipe.name),
        "PYTHONPATH": str(STAND_INS / "common"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@contextmanager
def served(recipe: Recipe, folder: Path, **arguments: Any) -> Iterator[ProcessBackend]:
    """A backend that runs the worker of a recipe on the stand-in of its model."""
    serve = written(recipe, folder) / "serve.py"
    settings = {"env": variables(recipe), **arguments}
    backend = ProcessBackend(command=[sys.executable, str(serve)], **settings)
    try:
        yield backend
    finally:
        asyncio.run(backend.close())


def model_file(recipe: Recipe, folder: Path, **arguments: Any) -> Path:
    """The value of ``--model_args`` that runs a worker on the stand-in."""
    serve = written(recipe, folder) / "serve.py"
    settings = {
        "command": [sys.executable, str(serve)],
        "env": variables(recipe),
        **arguments,
    }
    file = folder / "model.yaml"
    file.write_text(json.dumps(settings))
    return file


def answers(backend: ProcessBackend, *requests: Request) -> list[Response]:
    responses = dict(backend.generate_batch(requests))
    return [responses[position] for position in range(len(requests))]
