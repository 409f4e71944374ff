"""The backend ``gemini``: the models of Google behind their own interfaces."""

from mmeval.model_backends.gemini.backend import GeminiBackend

__all__ = ["GeminiBackend"]
