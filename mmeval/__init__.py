"""mmeval: evaluate models that answer in any modality, interleaved.

    import mmeval

    found = mmeval.evaluate(model="reference", tasks=["my_task"])
    found.results, found.exit_code, found.folder

Importing this package imports the standard library only; its names are loaded when they are used. Everything else is
in the packages below it (``mmeval.content``, ``mmeval.records``, ``mmeval.program``, ...)."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mmeval._version import __version__

if TYPE_CHECKING:
    from mmeval.api import Evaluation, evaluate, simple_evaluate
    from mmeval.registration import (
        register_aggregation,
        register_backend,
        register_loader,
        register_metric,
        register_model,
        register_prompt,
        register_protocol,
    )

__all__ = [
    "Evaluation",
    "__version__",
    "evaluate",
    "register_aggregation",
    "register_backend",
    "register_loader",
    "register_metric",
    "register_model",
    "register_prompt",
    "register_protocol",
    "simple_evaluate",
]

# In a checkout the sub-packages tasks, metrics and model_backends stand beside this one; an installed mmeval has them
# inside. Extending the path makes `mmeval.tasks` mean the same in both, whatever the current folder holds.
_root = Path(__file__).resolve().parent.parent
if (_root / "setup.cfg").is_file() and (_root / "tasks").is_dir():
    __path__.append(str(_root))


def __getattr__(name: str) -> Any:  # what it is depends on the name; the checker reads the imports above
    if name not in __all__:
        raise AttributeError(f"module 'mmeval' has no attribute {name!r}")
    module = "mmeval.registration" if name.startswith("register_") else "mmeval.api"
    return getattr(import_module(module), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
