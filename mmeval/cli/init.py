"""Write a new package that works: a benchmark, metric, backend or agent, or the worker
of a model.

    mmeval init benchmark herbench --subtasks 12
    mmeval init metric word_overlap
    mmeval init backend my-model --output_path packages
    mmeval init agent illustrator
    mmeval init worker omni
    mmeval init worker painter --recipe bagel

A worker is for a model that needs its own environment: see --model process.
A recipe is the worker of a research model, for the model's own repository.

exit codes: 0 it was written; 2 the name cannot be used, or the folder exists.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mmeval.errors import EXIT_OK, UnknownNameError, UsageError
from mmeval.report.terminal import print_text
from mmeval.settings import values

if TYPE_CHECKING:  # imported only when the verb runs, so that --help is fast
    from mmeval.authoring.scaffold.recipes.facts import Recipe


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "kind",
        metavar="KIND",
        help="what to write: benchmark, metric, backend, agent or worker",
    )
    parser.add_argument(
        "name", metavar="NAME", help="name of the package and of its folder"
    )
    parser.add_argument(
        "--output_path",
        "-o",
        metavar="FOLDER",
        default=".",
        help="parent of the new folder (.)",
    )
    parser.add_argument(
        "--subtasks", metavar="N", default=None, help="number of tasks (1)"
    )
    parser.add_argument(
        "--recipe", metavar="MODEL", default=None, help="research model of the worker"
    )


def run(args: argparse.Namespace) -> int:
    """Writes the package, and prints the commands to use next."""
    from mmeval.authoring.scaffold.names import KINDS, package_name
    from mmeval.authoring.scaffold.package import (
        MAX_SUBTASKS,
        WrittenPackage,
        write_package,
    )
    from mmeval.authoring.scaffold.recipes.facts import recipe_named

    if args.kind not in KINDS:
        raise UnknownNameError(
            "kind of package", args.kind, KINDS, f"The kinds are: {', '.join(KINDS)}."
        )
    kind = args.kind
    if args.subtasks is not None and kind != "benchmark":
        raise UsageError("--subtasks only applies to a benchmark; leave it out")
    try:
        subtasks: int = 1 if args.subtasks is None else values.integer(1)(args.subtasks)
    except UsageError as error:
        raise UsageError(f"--subtasks: {error}") from None
    if subtasks > MAX_SUBTASKS:
        raise UsageError(f"--subtasks must be at most {MAX_SUBTASKS}, not {subtasks:,}")
    if args.recipe is not None and kind != "worker":
        raise UsageError("--recipe only applies to a worker; leave it out")
    recipe = None if args.recipe is None else recipe_named(args.recipe)
    name = package_name(kind, args.name)
    written: WrittenPackage = write_package(
        kind,
        name,
        values.path(args.output_path),
        subtasks=subtasks,
        recipe=recipe,
    )
    lines = (
        _next(kind, name.module, written.folder, len(written.files))
        if recipe is None
        else _next_of(recipe, written.folder, len(written.files))
    )
    for line in lines:
        print_text(f"{line}\n")
    return EXIT_OK


def _next_of(recipe: Recipe, folder: Path, files: int) -> Iterator[str]:
    place = shlex.quote(str(folder))
    yield f"wrote {folder}: {files} files"
    yield f"not run with the weights: {recipe.title}, {recipe.memory} of device memory"
    yield f"licence: code {recipe.code_licence}, weights {recipe.weights_licence}"
    yield "next:"
    yield f"  see {place}/README.md: its repository, environment and weights"
    yield f"  mmeval try backend process --model_args {place}/model.yaml"


def _next(
    kind: str,
    module: str,
    folder: Path,
    files: int,
) -> Iterator[str]:
    place = shlex.quote(str(folder))
    yield f"wrote {folder}: {files} files"
    if kind == "worker":
        yield "next:"
        yield f"  mmeval try backend process --model_args {place}/model.yaml"
        yield (
            f"  mmeval --tasks {place}/example.yaml --model process --model_args "
            f"{place}/model.yaml"
        )
        return
    yield "LICENSE is a placeholder: replace it with your licence before you publish"
    yield "next:"
    package = folder if folder.is_absolute() else f"./{folder}"
    yield f"  pip install -e {shlex.quote(f'{package}[test]')}"
    yield f"  python -m pytest {place}"
    if kind == "benchmark":
        yield f"  mmeval check {module} --bounds"
        yield f"  mmeval --tasks {module} --model reference"
    elif kind == "metric":
        words = '--answer "An old oak" --target "the old oak"'
        yield f"  mmeval try metric {module} {words}"
    elif kind == "agent":
        yield f'  mmeval try agent {module} --prompt "Tell of a hare."'
    else:
        yield f"  mmeval try backend {module} --skip seeds"
        yield f"  mmeval --tasks {place}/tests/example.yaml --model {module}"
    yield f"  mmeval check --dist {place}"
