"""The backends ``vllm`` and ``sglang``: servers that mmeval starts with the first call,
and asks as ``openai`` does."""

from mmeval.model_backends.servers.backend import SGLangBackend, VLLMBackend

__all__ = ["SGLangBackend", "VLLMBackend"]
