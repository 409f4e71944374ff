"""The backend ``sandbox``, which runs programs isolated from the machine."""

from mmeval.model_backends.sandbox.backend import SandboxBackend

__all__ = ["SandboxBackend"]
