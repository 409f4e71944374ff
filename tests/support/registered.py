from pathlib import Path
from typing import Any

from tests.support.task_folder import write_distribution


def register(project: dict[str, Any], folder: Path) -> None:
    """Write the metadata that an installation of the ``[project]`` table would leave, and nothing else."""
    groups = project["entry-points"].items()
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in found.items()) for group, found in groups
    ]
    write_distribution(folder, str(project["name"]), "\n".join(lines), str(project["version"]))
