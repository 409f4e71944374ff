"""The backends ``vllm`` and ``sglang``.

mmeval starts the server with the first call, and sends requests in the same way as the
backend ``openai``.
"""

from mmeval.model_backends.servers.backend import SGLangBackend, VLLMBackend

__all__ = ["SGLangBackend", "VLLMBackend"]
