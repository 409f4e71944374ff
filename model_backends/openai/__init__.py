"""The backend ``openai``: any server with the OpenAI interface, over a small aiohttp transport."""

from mmeval.model_backends.openai.backend import OpenAIBackend

__all__ = ["OpenAIBackend"]
