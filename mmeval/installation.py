"""Finds out how mmeval was installed, and which command adds an extra."""

from __future__ import annotations

from pathlib import Path

DISTRIBUTION = "mmeval-harness"
"""The name of the distribution, also used in setup.cfg. On the package index,
``mmeval`` is another project, by OpenMMLab."""
ROOT = Path(__file__).resolve().parent.parent
"""The folder of the running code: a checkout, or site-packages."""


_DAMAGED = (KeyError, TypeError, AttributeError)


def refuse_mixture() -> None:
    """Raise ImportError if OpenMMLab's mmeval is installed into the same folder,
    because files of the same name overwrite each other. ``mmeval check`` finds it in
    any folder."""
    # importlib.metadata takes longer than importing this whole package
    if next(ROOT.glob("mmeval-*.dist-info"), None):
        raise ImportError(
            f"the project mmeval of OpenMMLab and {DISTRIBUTION} are installed in the "
            "same folder and damage each other; run: "
            f"pip uninstall -y mmeval {DISTRIBUTION}, then {install_command()}"
        )


def is_checkout() -> bool:
    return (ROOT / "setup.cfg").is_file() and (ROOT / "tasks").is_dir()


def install_command(extra: str = "") -> str:
    """Returns the command that repeats this installation with an extra.

    For a checkout, the command makes an editable installation of its folder. For an
    installation from a file, a folder or a repository, it contains the same address.
    """
    brackets = f"[{extra}]" if extra else ""
    if is_checkout():
        try:
            folder = "." if Path.cwd() == ROOT else str(ROOT)
        except OSError:  # the current folder was removed
            folder = str(ROOT)
        return f'pip install -e "{folder}{brackets}"'
    source = _source()
    address = f" @ {source}" if source else ""
    return f'pip install "{DISTRIBUTION}{brackets}{address}"'


def _source() -> str:
    """Returns the address that pip installed from, or an empty string for a package
    index."""
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
    # not installed, or not installed by pip
    except (PackageNotFoundError, OSError, ValueError, *_DAMAGED):
        return ""
