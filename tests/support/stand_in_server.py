"""A stand-in for the programs of vLLM and SGLang: their command lines, and the mock
server's answers.

``vllm serve MODEL --port N ...`` or ``python -m sglang.launch_server --model-path MODEL
--port N ...``. It repeats the words that it is asked, notes what happens in the folder
STAND_IN_NOTES, and misbehaves as STAND_IN_FAULT says:

unhealthy    is never ready
memory       ends while it loads, as without memory
no module    ends while it loads
stubborn     does not end by SIGTERM
deadly       dies of every request that holds this word; with ``engine`` its program is
             still there, and answers 500
dies N       dies after N answers
holds        answers no request
polls N      makes a video at the Nth poll of it
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support import mock_openai_server as mock

FAULT, _, NUMBER = os.environ.get("STAND_IN_FAULT", "").partition(" ")
NOTES = os.environ.get("STAND_IN_NOTES", "")
ANSWER = mock.Connection.handle
OUT_OF_MEMORY = """Traceback (most recent call last):
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB.
Traceback (most recent call last):
RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_0': 1}
"""


def note(name: str, words: object) -> None:
    if NOTES:
        with (Path(NOTES) / name).open("a") as file:
            file.write(f"{words}\n")


class Connection(mock.Connection):
    broken = False

    def handle(self, path: str, headers: dict[str, str], raw: bytes) -> None:
        if path == "/health":
            self.send(503 if FAULT == "unhealthy" or Connection.broken else 200, b"")
        elif path in ("/version", "/get_server_info"):
            self.send(200, {"version": "0.0.stand-in"})
        else:
            if path in mock.PATHS:
                is_form = not raw.startswith(b"{")
                note("asked", path if is_form else mock.last_text(json.loads(raw)))
                note("keys", headers.get("authorization", ""))
            if FAULT in ("deadly", "engine") and b"deadly" in raw:
                if FAULT == "deadly":
                    sys.stderr.write("the last words\n")
                    os.kill(os.getpid(), signal.SIGKILL)
                Connection.broken = True
            if Connection.broken:
                self.send(
                    500,
                    {
                        "error": {
                            "message": "EngineCore encountered an issue",
                            "code": 500,
                        }
                    },
                )
            else:
                ANSWER(self, path, headers, raw)


def main(words: list[str]) -> None:
    at = words.index("serve" if "serve" in words else "--model-path")
    note("started", json.dumps([os.getpid(), words[at + 1], words[at + 2 :]]))
    engine = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"])
    note("engines", engine.pid)
    print(f"loading {words[at + 1]}", flush=True)
    if FAULT in ("memory", "no"):
        print("progress\n" * 2**21)
        sys.exit(
            OUT_OF_MEMORY
            if FAULT == "memory"
            else "ModuleNotFoundError: No module named 'sglang'"
        )

    def end(*_: object) -> None:
        engine.kill()
        sys.exit()

    signal.signal(signal.SIGTERM, signal.SIG_IGN if FAULT == "stubborn" else end)
    mock.Connection = Connection  # type: ignore[misc]  # of which the server makes its connections
    mock.REASONS[503] = "Service Unavailable"
    settings: dict[str, Any] = {
        "reply": "{text}",
        "die_after": int(NUMBER) if FAULT == "dies" else 0,
    }
    settings["video_polls"] = int(NUMBER) if FAULT == "polls" else 1
    settings["hold_after"] = 0 if FAULT == "holds" else -1
    server = mock.MockServer(int(words[words.index("--port") + 1]), **settings)
    asyncio.run(server.serve(lambda: print("ready", flush=True)))


if __name__ == "__main__":
    main(sys.argv[1:])
