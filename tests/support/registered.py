"""A project that Python takes for installed: its metadata in a folder of the path, and nothing built."""

from __future__ import annotations

from pathlib import Path


def register(project: dict[str, object], folder: Path) -> None:
    """Write the metadata that an installation of the ``[project]`` table would leave, where Python looks for it."""
    name, groups = str(project["name"]), project["entry-points"]
    assert isinstance(groups, dict)
    info = folder / f"{name}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {project['version']}\n")
    lines = [f"[{group}]\n" + "".join(f"{k} = {v}\n" for k, v in found.items()) for group, found in groups.items()]
    (info / "entry_points.txt").write_text("\n".join(lines))
