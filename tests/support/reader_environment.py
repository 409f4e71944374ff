"""The environment of a reader who follows a page: it sees all that is installed here; pip asks no index."""

import site
from collections.abc import Iterable
from importlib.metadata import entry_points
from pathlib import Path

from tests.support.fresh_environment import FreshEnvironment

OFFLINE_PIP = {
    "PIP_NO_INDEX": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # pip reads this variable the other way round: 0 builds with what is here
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
}
"""Variables under which ``pip install`` takes what it needs from the environment alone."""


def reader_environment(folder: Path) -> FreshEnvironment:
    """Everything of the running environment, mmeval as it is installed there included; pip and mmeval are commands."""
    environment = FreshEnvironment.create(folder)
    seen = "".join(f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages())
    (environment.site_packages / "seen.pth").write_text(seen)
    add_commands(environment, ("pip", "mmeval"))
    return environment


def add_commands(environment: FreshEnvironment, names: Iterable[str]) -> None:
    """Write console scripts as an installer does, for distributions that are seen and not installed there."""
    for name in names:
        (entry,) = entry_points(group="console_scripts", name=name)
        script = environment.python.parent / name
        imported = f"from {entry.module} import {entry.attr}"
        script.write_text(f"#!{environment.python}\nimport sys\n{imported}\nsys.exit({entry.attr}())\n")
        script.chmod(0o755)
