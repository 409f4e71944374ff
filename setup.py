"""Only what setup.cfg cannot say: the packages that stand beside ``mmeval/`` and are imported as parts of it."""

from setuptools import find_packages, setup

packages = find_packages(include=["mmeval", "mmeval.*"])
for folder in ("tasks", "metrics", "model_backends"):
    packages.append(f"mmeval.{folder}")
    packages += [f"mmeval.{folder}.{name}" for name in find_packages(folder)]
setup(packages=packages)
