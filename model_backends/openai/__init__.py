"""The backend ``openai``: any server that speaks the OpenAI interface, over a thin aiohttp transport."""

from mmeval.model_backends.openai.backend import OpenAIBackend

__all__ = ["OpenAIBackend"]
