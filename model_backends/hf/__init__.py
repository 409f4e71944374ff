"""The backend ``hf``: models of the Hugging Face hub or a folder, on this machine.

No module here imports torch before the first request is sent (see
``docs/design/media.md``).
"""

from mmeval.model_backends.hf.adapter import Adapter
from mmeval.model_backends.hf.backend import HFBackend
from mmeval.model_backends.hf.checkpoint.files import ModelFiles
from mmeval.model_backends.hf.settings import HFSettings

__all__ = ["Adapter", "HFBackend", "HFSettings", "ModelFiles"]
