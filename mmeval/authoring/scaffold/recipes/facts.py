"""The facts of each research model that has a recipe, with their sources."""

from __future__ import annotations

from dataclasses import dataclass

from mmeval.backend import OutputMode
from mmeval.errors import UnknownNameError
from mmeval.media import PartKind


@dataclass(frozen=True)
class Weights:
    """A checkpoint on the Hugging Face Hub, and its folder below ``weights``."""

    folder: str
    hub_id: str


@dataclass(frozen=True)
class Recipe:
    """A research model, and how its worker runs it."""

    name: str
    """The value of ``--recipe``."""
    title: str
    repository: str
    """``owner/name`` on GitHub."""
    commit: str
    """The commit that the worker is written for."""
    weights: tuple[Weights, ...]
    code_licence: str
    weights_licence: str
    memory: str
    """The memory of the device, as the repository states it."""
    python: str
    requirements: tuple[str, ...]
    """What the worker needs, pinned as the repository pins it."""
    takes: tuple[PartKind, ...]
    gives: tuple[PartKind, ...]
    mode: OutputMode
    limits: tuple[str, ...] = ()
    """What the model or its repository cannot do, one sentence each."""
    folder: str = ""
    """The folder of the repository that its modules are imported from."""
    installed_later: tuple[str, ...] = ()
    """Arguments of further calls of ``pip install``, after the requirements."""


RECIPES: tuple[Recipe, ...] = (
    Recipe(
        name="bagel",
        title="BAGEL-7B-MoT",
        repository="ByteDance-Seed/Bagel",
        commit="056b5fd51a88c1eb4547318609e25d40080fcf87",
        weights=(Weights("model", "ByteDance-Seed/BAGEL-7B-MoT"),),
        code_licence="Apache-2.0",
        weights_licence="Apache-2.0",
        memory="32 GB",
        python="3.10",
        requirements=(
            "accelerate>=0.34.0",
            "decord==0.6.0",
            "einops==0.8.1",
            "huggingface_hub==0.29.1",
            "numpy==1.24.4",
            "opencv_python==4.7.0.72",
            "pyarrow==11.0.0",
            "PyYAML==6.0.2",
            "safetensors==0.4.5",
            "scipy==1.10.1",
            "sentencepiece==0.1.99",
            "torch==2.5.1",
            "torchvision==0.20.1",
            "transformers==4.49.0",
            "Pillow",
        ),
        takes=("text", "image"),
        gives=("text", "image"),
        mode="exclusive",
        limits=("One picture for each answer with pictures.",),
        installed_later=("flash_attn==2.5.8 --no-build-isolation",),
    ),
)
"""All recipes, in the order of the documentation."""


def recipe_named(name: str) -> Recipe:
    """Returns a recipe. Raises UnknownNameError for a name that has none."""
    names = [recipe.name for recipe in RECIPES]
    if name not in names:
        raise UnknownNameError(
            "recipe", name, names, f"The recipes are: {', '.join(names)}."
        )
    return RECIPES[names.index(name)]
