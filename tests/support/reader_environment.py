"""The environment of a reader who follows a page: it sees all that is installed here, and keeps to itself what is
installed into it. pip works in it as it does anywhere, but asks no index."""

from __future__ import annotations

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

_COMMAND = """\
#!{python}
import sys
from {module} import {function}
sys.exit({function}())
"""


def reader_environment(folder: Path) -> FreshEnvironment:
    """Everything of the running environment, mmeval as it is installed there included; pip and mmeval are commands."""
    environment = FreshEnvironment.create(folder)
    seen = "".join(f"import site; site.addsitedir({path!r})\n" for path in site.getsitepackages())
    (environment.site_packages / "seen.pth").write_text(seen)
    add_commands(environment, ("pip", "mmeval"))
    return environment


def add_commands(environment: FreshEnvironment, names: Iterable[str]) -> None:
    """Write console scripts as an installer does, for distributions that are seen and not installed there."""
    wanted = set(names)
    for entry in entry_points(group="console_scripts"):
        if entry.name in wanted:
            script = environment.python.parent / entry.name
            text = _COMMAND.format(python=environment.python, module=entry.module, function=entry.attr)
            script.write_text(text)
            script.chmod(0o755)
