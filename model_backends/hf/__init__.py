"""The backend ``hf`` (local Hugging Face models): its name is taken, the backend is not in this version yet."""

from __future__ import annotations

from typing import Any

from mmeval.errors import UsageError


class HFBackend:
    """Local Hugging Face models: not in this version; says what to use instead.

    Takes any argument, so that this message is the one that is read.

    Raises UsageError always.
    """

    def __init__(self, **arguments: Any) -> None:  # Any: arguments of a backend to come
        pretrained = str(arguments.get("pretrained") or "ORG/NAME")
        raise UsageError(
            "the backend 'hf' (local Hugging Face models) is not in this version of mmeval yet. Serve the model with "
            f"anything that speaks the OpenAI interface, for example `vllm serve {pretrained}`, and run with "
            f"--model openai --model_args base_url=http://localhost:8000/v1,model={pretrained}"
        )
