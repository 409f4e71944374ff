"""mmeval: evaluate models that answer in any modality, interleaved.

Importing this package is cheap: the standard library only. The parts of the public Python interface live in the
modules they are named after (``mmeval.content``, ``mmeval.records``, ``mmeval.program``, ``mmeval.metric``, ...).
"""

from pathlib import Path

from mmeval._version import __version__

__all__ = ["__version__"]

# In a checkout the sub-packages tasks, metrics and model_backends stand beside this one; an installed mmeval has them
# inside. Extending the path makes `mmeval.tasks` mean the same in both, whatever the current folder holds.
_root = Path(__file__).resolve().parent.parent
if (_root / "setup.cfg").is_file() and (_root / "tasks").is_dir():
    __path__.append(str(_root))
