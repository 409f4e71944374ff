"""A worker that misbehaves on order: ``python bad_worker.py FAULT NOTES``; a sound one
where FAULT is ``none``.

It answers a row with the words of its prompt and a picture that holds them. The files
``loads`` and ``asked`` in the folder NOTES get a line for each load and each row. It is
a script of the standard library, as every worker may be.
"""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FAULT, NOTES = sys.argv[1], Path(sys.argv[2])
SECONDS = float(sys.argv[3]) if len(sys.argv) > 3 else 0.0
"""Of work for each batch."""
ARGS: dict[str, Any] = {}
"""Those of ``load``."""
WRITTEN = {
    "no JSON": "a progress bar: 10%\n",
    "no message": "[1]\n",
    "unknown type": '{"type": "progress"}\n',
    "wrong id": '{"type": "answer", "id": 2, "row": 0, "parts": []}\n',
    "wrong row": '{"type": "answer", "id": 1, "row": 8, "parts": []}\n',
    "NaN": '{"type": "answer", "id": 1, "row": 0, "parts": [], "tokens": [NaN, 1]}\n',
}
"""What stands before the first answer of a batch."""


def note(name: str, text: str) -> None:
    with (NOTES / name).open("a") as file:
        file.write(f"{os.getpid()} {text}\n")


def say(kind: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


def write(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def words(row: dict[str, Any]) -> str:
    return "".join(part.get("text", "") for part in row["messages"][-1]["parts"])


def keys() -> str:
    """All that it is given that may be a key."""
    return f"{sys.argv} {ARGS} {os.environ.get('MY_TOKEN')}"


def picture(row: dict[str, Any]) -> bytes:
    return b"GIF89a\x01\0\x01\0\0\0\0;" + words(row).encode()


def medium(file: Path, data: bytes, kind: str = "image") -> dict[str, Any]:
    file.write_bytes(data)
    return {
        "kind": kind,
        "mime": "image/gif",
        "path": str(file),
        "sha256": hashlib.sha256(data).hexdigest(),
    }


def after_load() -> None:
    """Log in place of reading on, where that is the fault."""
    lines = {
        "reads nothing and logs much": 300,
        "reads nothing and logs little": 1,
    }.get(FAULT, 0)
    for _ in range(lines):
        say("log", level="debug", text="x" * (1 << 20))
    if lines:
        time.sleep(1000)


def parts_of(number: int, row: dict[str, Any], out: Path) -> list[dict[str, Any]]:
    data = picture(row)
    part = medium(out / f"{number}.gif", data)
    match FAULT:
        case "foreign kind":
            part = {"kind": "audio", "mime": "audio/wav", "path": "x"}
        case "no medium":
            Path(part["path"]).unlink()
        case "same file":
            part = medium(out / "picture.gif", data)
        case "lying type":
            part = medium(out / f"{number}.wav", b"RIFF\x40\0\0\0WAVEfmt " + bytes(60))
        case "other bytes":
            part["sha256"] = "0" * 64
        case "no text":
            part = {"kind": "text", "text": 5}
    said = words(row) + (keys() if FAULT == "repeats keys" else "")
    return [{"kind": "text", "text": said}, part]


def before(batch: dict[str, Any]) -> None:
    """What is done in the place of a batch's first answer."""
    rows = batch["rows"]
    write(WRITTEN.get(FAULT, ""))
    match FAULT:
        case "half a line":
            write('{"type": "answ')
            sys.exit(7)
        case "long line":
            while True:
                write("x" * (1 << 20))
        case "SIGSEGV" | "SIGKILL":
            print("the last words", file=sys.stderr, flush=True)
            os.kill(os.getpid(), getattr(signal, FAULT))
        case "silence":
            time.sleep(1000)
        case "only logs":
            while True:
                say("log", text="still at work")
        case "leaves children":
            child = subprocess.Popen(["sleep", "1000"])
            note("children", str(child.pid))
            os._exit(5)
        case "killer" if any("deadly" in words(row) for row in rows):
            print("the last words", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)


def generate(batch: dict[str, Any]) -> None:
    for row in batch["rows"]:
        note("asked", words(row))
    time.sleep(SECONDS)
    if FAULT == "no memory" and len(batch["rows"]) > 4:
        say(
            "failed",
            id=batch["id"],
            error="out_of_memory",
            message="CUDA out of memory",
        )
        return
    if FAULT == "full disk":
        say(
            "failed",
            id=batch["id"],
            error="internal",
            message="No space left on device",
        )
        return
    if FAULT == "repeats keys":
        print(keys(), file=sys.stderr, flush=True)
        say("log", level="warning", text=keys())
    before(batch)
    for number, row in enumerate(batch["rows"]):
        if FAULT == "never" and "1" in words(row):
            continue
        parts = parts_of(number, row, Path(batch["out"]))
        say(
            "answer",
            id=batch["id"],
            row=number,
            parts=parts,
            tokens=[3, 4],
            more="ignored",
        )
        note("answered", words(row))
        if FAULT == "twice":
            say("answer", id=batch["id"], row=number, parts=[])
    if FAULT == "out is a link":
        # mmeval takes its files at the same time
        while Path(batch["out"]).exists():
            shutil.rmtree(batch["out"], ignore_errors=True)
        Path(batch["out"]).symlink_to(NOTES / "precious")
    say("done", id=batch["id"])
    if FAULT == "after done":
        say("answer", id=batch["id"], row=0, parts=[])


def greet() -> None:
    protocol = 2 if FAULT == "protocol" else 1
    about = {
        "name": "bad",
        "takes": ["text", "image"],
        "gives": ["text", "image"],
        "mode": "interleaved",
        "batch": 8,
    }
    if FAULT == "bad hello":
        about["batch"] = "many"
    if FAULT == "huge batch":
        about["batch"] = 10**30
    identity = {"checkpoint": "c"}
    if FAULT == "repeats keys":
        identity["keys"] = keys()
        print(keys(), file=sys.stderr, flush=True)
    say("hello", protocol=protocol, identity=identity, options=[], **about)


def main() -> None:
    note("started", FAULT)
    if FAULT == "prints":
        write("Loading the model\n")
    if FAULT in ("no hello", "slow hello"):
        time.sleep(1000 if FAULT == "no hello" else 0.7)
    if FAULT == "dies early":
        sys.exit("there is no torch here")
    greet()
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "load":
            note("loads", json.dumps(message["args"]))
            ARGS.update(message["args"])
            if FAULT == "load dies":
                sys.exit("no room for the weights")
            if FAULT == "load fails":
                say("failed", error="out_of_memory", message="no room for the weights")
            else:
                say(
                    "log",
                    level="warning",
                    text=f"sees {os.environ.get('CUDA_VISIBLE_DEVICES')}",
                )
                say("ready", provenance={"torch": "1.2"})
                after_load()
        elif message["type"] == "generate":
            generate(message)
        elif message["type"] == "end" and FAULT != "ignores end":
            return
    while FAULT == "ignores end":
        time.sleep(1)


if __name__ == "__main__":
    main()
