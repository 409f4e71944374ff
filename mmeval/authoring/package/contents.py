"""Compares a wheel with the folder that it was built from: which files were left out, and what adds them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mmeval.authoring.package.wheel import Wheel, backend_of

DATA = frozenset(
    (
        *(".yaml", ".yml", ".jinja", ".md", ".txt", ".json", ".jsonl", ".parquet", ".csv", ".tsv"),
        *(".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff", ".avif", ".svg"),
        *(".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a", ".mp4", ".webm", ".mkv", ".mov"),
        *(".pdf", ".glb", ".gltf", ".obj", ".ply", ".stl"),
    )
)
"""What tasks are made of: task files, prompts, rows, media."""
SHOWN = 3
_NOT_PACKED = ("__pycache__", ".pyc", ".pyo", ".orig", ".rej", "~", ".egg-info", ".ipynb_checkpoints")


class LeftOut(NamedTuple):
    """Files of one kind in one package that the wheel lacks. ``needed`` where tasks are made of such files."""

    package: str
    pattern: str
    files: tuple[str, ...]
    needed: bool

    @property
    def shown(self) -> str:
        more = len(self.files) - SHOWN
        return ", ".join(self.files[:SHOWN]) + (f" and {more:,} more" if more > 0 else "")


def left_out(source: Path, wheel: Wheel) -> list[LeftOut]:
    """The files of the package's folders that are not in its wheel, by package and kind."""
    found: dict[tuple[str, str], list[str]] = {}
    for top, folder in package_folders(source, wheel).items():
        for path in _files(folder):
            name = f"{top}/{path.as_posix()}"
            if name not in wheel.names:
                package, inside = _package_of(folder, path, top)
                found.setdefault((package, _pattern(inside)), []).append(name)
    return [
        LeftOut(package, pattern, tuple(sorted(names)), PurePosixPath(pattern).suffix.lower() in {*DATA, ".py"})
        for (package, pattern), names in sorted(found.items())
    ]


def package_folders(source: Path, wheel: Wheel) -> dict[str, Path]:
    """The folders of a package's source, by the name of the module that each becomes."""
    tops = {PurePosixPath(name).parts[0] for name in wheel.names if "/" in name} | entry_modules(wheel)
    places = {top: [source / top, source / "src" / top, source / "lib" / top] for top in sorted(tops)}
    return {top: next(place for place in found if place.is_dir()) for top, found in places.items() if _any_dir(found)}


def entry_modules(wheel: Wheel) -> set[str]:
    """The top modules that its entry points name."""
    lines = wheel.texts.get("entry_points.txt", "").splitlines()
    values = (line.partition("=")[2].strip() for line in lines if "=" in line)
    return {value.partition(":")[0].partition(".")[0] for value in values if value}


def _any_dir(places: Iterable[Path]) -> bool:
    return any(place.is_dir() for place in places)


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder that are somebody's work, relative to it; runs are none."""
    for home, folders, names in os.walk(folder):
        if "run.json" in names:
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if _is_work(name))
        yield from (Path(home, name).relative_to(folder) for name in sorted(names) if _is_work(name))


def _is_work(name: str) -> bool:
    return not name.startswith(".") and not name.endswith(_NOT_PACKED)


def _package_of(folder: Path, path: Path, top: str) -> tuple[str, PurePosixPath]:
    """The innermost package that holds a file, and the file's path in it."""
    steps = path.parent.parts
    depth = next((i for i in range(len(steps), 0, -1) if folder.joinpath(*steps[:i], "__init__.py").is_file()), 0)
    return ".".join((top, *steps[:depth])), PurePosixPath(*path.parts[depth:])


def _pattern(inside: PurePosixPath) -> str:
    return f"**/*{inside.suffix}" if inside.suffix else f"**/{inside.name}"


def remedy(one: LeftOut, source: Path) -> str:
    """What adds the files: for setuptools the line of the project's settings, else the place to look at."""
    backend = backend_of(source)
    if not backend.startswith("setuptools"):
        return f"include them by the settings of {backend.partition('.')[0]}"
    if one.pattern.endswith(".py"):
        return f'include the package: [tool.setuptools.packages.find] include = ["{one.package.partition(".")[0]}*"]'
    if (source / "setup.cfg").is_file() and "[options.package_data]" in (source / "setup.cfg").read_text("utf-8"):
        return f"add to [options.package_data] of setup.cfg: {one.package} = {one.pattern}"
    return f'add to [tool.setuptools.package-data]: "{one.package}" = ["{one.pattern}"]'
