"""Writes a new package from templates, completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

from mmeval._version import __version__
from mmeval.authoring.scaffold.names import PackageKind, PackageName
from mmeval.authoring.scaffold.recipes.facts import Recipe
from mmeval.authoring.scaffold.recipes.files import with_recipe
from mmeval.authoring.scaffold.samples import rows_of
from mmeval.errors import StorageError, UsageError
from mmeval.installation import DISTRIBUTION
from mmeval.system.folders import replaced

MAX_SUBTASKS = 200
_SUFFIX = ".jinja"


class WrittenPackage(NamedTuple):
    """A written package: its folder, and its files relative to the folder."""

    folder: Path
    files: tuple[str, ...]


def write_package(
    kind: PackageKind,
    name: PackageName,
    parent: Path,
    *,
    subtasks: int = 1,
    recipe: Recipe | None = None,
) -> WrittenPackage:
    """Writes ``parent/name``. A worker may be for the model of a recipe.

    Raises UsageError if the folder exists, and StorageError if it cannot be written.
    """
    folder = parent / name.name
    if folder.exists() or folder.is_symlink():
        raise UsageError(
            f"{folder} already exists and was not changed; choose another name or "
            "--output_path"
        )
    digits = len(str(subtasks))  # herbench_01 to herbench_12
    numbers = range(1, subtasks + 1)
    names = [f"{name.module}_{number:0{digits}}" for number in numbers]
    content = dict(_content(kind, name, folder, names, recipe))
    try:
        with replaced(folder) as new:
            for path, data in content.items():
                file = new / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
    except OSError as error:
        raise StorageError(
            f"{folder}: cannot be written ({error.strerror}); choose another "
            "--output_path"
        ) from None
    return WrittenPackage(folder, tuple(sorted(content)))


def _content(
    kind: PackageKind,
    name: PackageName,
    folder: Path,
    subtasks: Sequence[str],
    recipe: Recipe | None,
) -> Iterator[tuple[str, bytes]]:
    values = {
        "name": name.name,
        "module": name.module,
        "class": name.class_name,
        "folder": folder,
        "version": ".".join(__version__.split(".")[:2]),
        "mmeval": DISTRIBUTION,
        "subtasks": subtasks,
        "recipe": recipe,
    }
    templates = _templates(files("mmeval.authoring.scaffold").joinpath(kind), "")
    if recipe is not None:
        templates = with_recipe(templates, recipe)
    for path, text in templates:
        place = path.removesuffix(_SUFFIX).replace("NAME", name.module)
        if "SUBTASK" not in place:
            yield place, _filled(text, values)
            continue
        for number, subtask in enumerate(subtasks):
            row_values = {**values, "subtask": subtask, **rows_of(number)._asdict()}
            yield place.replace("SUBTASK", subtask), _filled(text, row_values)
    if kind != "benchmark":
        return
    for number, subtask in enumerate(subtasks):
        rows = rows_of(number)
        pictures = rows.pictures()
        for path, data in {**pictures, **rows.sounds()}.items():
            yield f"{name.module}/tasks/data/{subtask}/{path}", data
        for path, data in pictures.items():
            yield f"{name.module}/tasks/bundled/{subtask}/{path}", data


def _templates(folder: Traversable, path: str) -> Iterator[tuple[str, str]]:
    for item in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if item.is_dir():
            yield from _templates(item, f"{path}{item.name}/")
        elif item.name.endswith(_SUFFIX):
            yield f"{path}{item.name}", item.read_text(encoding="utf-8")


def _filled(text: str, values: Mapping[str, Any]) -> bytes:
    import jinja2

    # the templates are trusted, and their output is not HTML
    environment = jinja2.Environment(
        block_start_string="[%",
        block_end_string="%]",
        variable_start_string="[=",
        variable_end_string="=]",
        comment_start_string="[#-",
        comment_end_string="-#]",
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    return environment.from_string(text).render(values).encode()
