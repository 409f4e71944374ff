"""The backends ``vllm`` and ``sglang``.

mmeval starts the server with the first call, and sends requests as ``openai`` does.
"""

from mmeval.model_backends.servers.backend import SGLangBackend, VLLMBackend

__all__ = ["SGLangBackend", "VLLMBackend"]
