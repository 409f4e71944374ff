"""The backend ``gemini``: Google's models behind Google's own interfaces."""

from mmeval.model_backends.gemini.backend import GeminiBackend

__all__ = ["GeminiBackend"]
