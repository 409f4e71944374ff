"""The backend ``sandbox``: runs the program of a request, isolated from the machine."""

from mmeval.model_backends.sandbox.backend import SandboxBackend

__all__ = ["SandboxBackend"]
