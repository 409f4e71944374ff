"""The backend ``diffusers``: pipelines for pictures, videos and sounds.

torch is not imported before the first request is sent.
"""

from mmeval.model_backends.diffusers.backend import DiffusersBackend
from mmeval.model_backends.diffusers.settings import DiffusersSettings
from mmeval.model_backends.diffusers.tools import text_to_image

__all__ = ["DiffusersBackend", "DiffusersSettings", "text_to_image"]
