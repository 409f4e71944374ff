"""The yardstick: the shortest aiohttp loop that asks the same.

python bare.py URL CONNECTIONS ROWS.jsonl N

A row of several messages is asked one after the other, each message alone.
"""

import asyncio
import json
import sys
from itertools import islice

import aiohttp


async def main(url: str, connections: int, rows: str, count: int) -> None:
    async def lane() -> None:
        for line in questions:
            asked = json.loads(line)["input"]
            for message in (
                [{"role": "user", "content": asked}]
                if isinstance(asked, str)
                else asked
            ):
                body = {
                    "model": "m",
                    "messages": [message],
                    "temperature": 1.0,
                    "max_tokens": 64,
                }
                async with session.post(
                    f"{url}/chat/completions", json=body
                ) as response:
                    (await response.json())["choices"][0]["message"]["content"]

    connector = aiohttp.TCPConnector(limit=connections)
    with open(rows) as file:  # noqa: PTH123  the shortest way
        questions = islice(file, count)
        async with aiohttp.ClientSession(connector=connector) as session:
            await asyncio.gather(*(lane() for _ in range(connections)))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])))
