"""Only what setup.cfg cannot say: the packages that stand beside ``mmeval/`` and are
imported as parts of it.

An editable installation puts ``.typing/`` on Python's path, a folder of links that
shows the whole package: editors and type checkers cannot follow the import hook that
setuptools would write. ``mmeval/__init__.py`` leads Python itself from there to the
files."""

import shutil
import sys
from pathlib import Path

from setuptools import find_packages, setup

BESIDE = ("tasks", "metrics", "model_backends")
packages = find_packages(include=["mmeval", "mmeval.*"])
for folder in BESIDE:
    packages.append(f"mmeval.{folder}")
    packages += [f"mmeval.{folder}.{name}" for name in find_packages(folder)]

if "editable_wheel" in sys.argv:
    links = Path(".typing", "mmeval")
    shutil.rmtree(links.parent, ignore_errors=True)
    links.mkdir(parents=True)
    for path in (*Path("mmeval").iterdir(), *map(Path, BESIDE)):
        (links / path.name).symlink_to(Path("..", "..", path))
    setup(packages=packages, package_dir={"": links.parent.name})
else:
    setup(packages=packages)
