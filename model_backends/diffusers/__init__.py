"""The backend ``diffusers``: text-to-image pipelines, as models or as agents' tools.

torch is not imported before the first request is sent.
"""

from mmeval.model_backends.diffusers.backend import DiffusersBackend
from mmeval.model_backends.diffusers.settings import DiffusersSettings
from mmeval.model_backends.diffusers.tools import text_to_image

__all__ = ["DiffusersBackend", "DiffusersSettings", "text_to_image"]
