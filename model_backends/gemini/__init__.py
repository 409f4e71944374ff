"""The backend ``gemini``: Google's models, called through Google's own interfaces."""

from mmeval.model_backends.gemini.backend import GeminiBackend

__all__ = ["GeminiBackend"]
