"""The backend ``process``: a model in an environment of its own, behind a program that
speaks by lines of JSON. The protocol is in ``docs/process-protocol.md``."""

from mmeval.model_backends.process.backend import ProcessBackend

__all__ = ["ProcessBackend"]
