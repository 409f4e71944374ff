"""The backend ``process``: a model that a worker program runs in another environment.

mmeval and the worker exchange lines of JSON. ``docs/process-protocol.md`` describes the
protocol.
"""

from mmeval.model_backends.process.backend import ProcessBackend

__all__ = ["ProcessBackend"]
