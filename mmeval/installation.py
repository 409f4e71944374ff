"""Where this installation of mmeval came from, and the command that adds an extra to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
"""The folder that holds the code that runs: a checkout, or site-packages."""


def is_checkout() -> bool:
    return (ROOT / "setup.cfg").is_file() and (ROOT / "tasks").is_dir()


def install_command(extra: str = "") -> str:
    """The command that installs what this installation is again, with an extra.

    In a checkout it is the editable installation of that folder; of an installation from a file, a folder or a
    repository the same address. The bare name is for what came from an index: there pip takes the name for whatever
    project has it.
    """
    brackets = f"[{extra}]" if extra else ""
    if is_checkout():
        return f'pip install -e "{_shown(ROOT)}{brackets}"'
    source = _source()
    return f'pip install "mmeval{brackets} @ {source}"' if source else f'pip install "mmeval{brackets}"'


def _shown(folder: Path) -> str:
    try:
        return "." if Path.cwd() == folder else str(folder)
    except OSError:  # the current folder is gone
        return str(folder)


def _source() -> str:
    """The address that pip has installed this from, empty for an index."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        written = distribution("mmeval").read_text("direct_url.json")
        return _address(json.loads(written)) if written else ""
    except (PackageNotFoundError, OSError, ValueError, KeyError, TypeError, AttributeError):
        return ""  # not installed, or not as pip does it


def _address(said: Any) -> str:
    """The address in what pip has written (``Any``: another program's file)."""
    repository = said.get("vcs_info")
    if not repository:
        return str(said["url"])
    return f"{repository['vcs']}+{said['url']}@{repository['commit_id']}"
