"""mmeval: evaluate models that answer in any modality, interleaved.

    import mmeval

    evaluation = mmeval.evaluate(model="reference", tasks=["my_task"])
    evaluation.results, evaluation.exit_code, evaluation.folder

Importing this package imports only the standard library. Its names are loaded when they
are used. Everything else is in its subpackages (``mmeval.media``, ``mmeval.records``,
``mmeval.program``, ...)."""

from typing import TYPE_CHECKING

from mmeval._version import __version__
from mmeval.doors import door
from mmeval.installation import ROOT, is_checkout, refuse_mixture

if TYPE_CHECKING:
    from mmeval.api import Evaluation, evaluate, simple_evaluate
    from mmeval.comparison.compare import Comparison, compare
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
    "Comparison",
    "Evaluation",
    "__version__",
    "compare",
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

refuse_mixture()
# In a checkout the packages tasks, metrics and model_backends are next to this package;
# an installed mmeval has them inside. This path makes `mmeval.tasks` mean the same in
# both, whatever the current folder contains. An editable installation finds this file
# by a link (setup.py); all other modules are found at their real paths.
if is_checkout():
    __path__[:] = [str(ROOT / "mmeval"), str(ROOT)]

__getattr__, __dir__ = door(__name__)
