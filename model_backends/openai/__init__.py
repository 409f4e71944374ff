"""The backend ``openai``: any server with the OpenAI interface, over aiohttp."""

from mmeval.model_backends.openai.backend import OpenAIBackend

__all__ = ["OpenAIBackend"]
