"""The backend ``sandbox``. It runs a request's program, isolated from the machine."""

from mmeval.model_backends.sandbox.backend import SandboxBackend

__all__ = ["SandboxBackend"]
