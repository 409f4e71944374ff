"""Finds where this mmeval came from, and the command that adds an extra."""

from __future__ import annotations

from pathlib import Path

DISTRIBUTION = "mmeval-harness"
"""The name that pip installs, also in setup.cfg. On the package index ``mmeval`` is
another project, OpenMMLab's."""
ROOT = Path(__file__).resolve().parent.parent
"""The folder that holds the code that runs: a checkout, or site-packages."""


_DAMAGED = (KeyError, TypeError, AttributeError)


def refuse_mixture() -> None:
    """Raise ImportError where the other project's files lie among ours: some of the
    same name are gone. One that was installed last may be imported in place of this;
    ``mmeval check`` finds it anywhere."""
    # importlib.metadata takes longer than all of this import
    if next(ROOT.glob("mmeval-*.dist-info"), None):
        raise ImportError(
            f"the project mmeval of OpenMMLab is installed over {DISTRIBUTION} or "
            "below it, and both are damaged; run: "
            f"pip uninstall -y mmeval {DISTRIBUTION}, then {install_command()}"
        )


def is_checkout() -> bool:
    return (ROOT / "setup.cfg").is_file() and (ROOT / "tasks").is_dir()


def install_command(extra: str = "") -> str:
    """The command that repeats this installation with an extra.

    In a checkout it is the editable installation of that folder; for an installation
    from a file, a folder or a repository it names the same address.
    """
    brackets = f"[{extra}]" if extra else ""
    if is_checkout():
        try:
            folder = "." if Path.cwd() == ROOT else str(ROOT)
        except OSError:  # the current folder is gone
            folder = str(ROOT)
        return f'pip install -e "{folder}{brackets}"'
    source = _source()
    address = f" @ {source}" if source else ""
    return f'pip install "{DISTRIBUTION}{brackets}{address}"'


def _source() -> str:
    """The address from which pip has installed this; empty for an index."""
    import json
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        written = distribution(DISTRIBUTION).read_text("direct_url.json")
        if not written:
            return ""
        origin = json.loads(written)
        repository = origin.get("vcs_info")
        if repository:
            return f"{repository['vcs']}+{origin['url']}@{repository['commit_id']}"
        return str(origin["url"])
    # not installed, or not as pip does it
    except (PackageNotFoundError, OSError, ValueError, *_DAMAGED):
        return ""
