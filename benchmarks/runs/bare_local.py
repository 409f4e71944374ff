"""The yardstick for local models: the shortest loop over ``model.generate`` that asks
the same.

python bare_local.py MODEL ROWS.jsonl BATCH_SIZE NEW_TOKENS DTYPE DEVICE

Prints one JSON object: the answers made after the first batch, and the seconds that
they took. A row's ``turns`` are asked one after the other, each after the answers
before it.
"""

import json
import os
import sys
import time

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig


def main(
    folder: str, rows: str, size: int, tokens: int, dtype: str, device: str
) -> None:
    with open(rows) as file:  # noqa: PTH123  the shortest way
        chats: list[tuple[list[str], list[dict[str, str]]]] = [
            (json.loads(line)["turns"], []) for line in file
        ]
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, device_map=device
    ).eval()
    made = GenerationConfig.from_model_config(model.config)
    made.update(
        max_new_tokens=tokens, do_sample=False, pad_token_id=tokenizer.pad_token_id
    )
    answered, started = 0, 0.0
    for turn in range(len(chats[0][0])):
        for at in range(0, len(chats), size):
            batch = chats[at : at + size]
            for turns, history in batch:
                history.append({"role": "user", "content": turns[turn]})
            asked = tokenizer.apply_chat_template(
                [history for _, history in batch],
                add_generation_prompt=True,
                padding=True,
                return_dict=True,
                return_tensors="pt",
            ).to(model.device)
            with torch.inference_mode():
                out = model.generate(**asked, generation_config=made)
            for (_, history), ids in zip(
                batch, out[:, asked["input_ids"].shape[1] :], strict=True
            ):
                history.append(
                    {
                        "role": "assistant",
                        "content": tokenizer.decode(ids, skip_special_tokens=True),
                    }
                )
            if not started:
                started = time.perf_counter()
                continue
            answered += len(batch)
    print(json.dumps({"answers": answered, "seconds": time.perf_counter() - started}))


if __name__ == "__main__":
    main(
        sys.argv[1],
        sys.argv[2],
        int(sys.argv[3]),
        int(sys.argv[4]),
        sys.argv[5],
        sys.argv[6],
    )
