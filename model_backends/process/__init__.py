"""The backend ``process``: a model in its own environment, behind a worker program that
exchanges lines of JSON. ``docs/process-protocol.md`` describes the protocol."""

from mmeval.model_backends.process.backend import ProcessBackend

__all__ = ["ProcessBackend"]
