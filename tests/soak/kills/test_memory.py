"""Media are not kept in memory: a run over more pictures needs no more of it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SIZE = 100_000
"""Bytes of a picture. Each sample has one in its question and one in its answer."""
FEW, MANY = 200, 1200
MEDIA = (MANY - FEW) * 2 * SIZE
"""What the larger run has more of: 200 MB. A hundred thousand samples would have 20 GB,
and need the same memory."""

SCRIPT = """
import os, resource, sys
from pathlib import Path
import mmeval
from mmeval.backend.capabilities import Capabilities
from mmeval.media.parts import Interleaved
from mmeval.media.media import Media
from mmeval.records.response import Response
from mmeval.records.sample import Sample, user

COUNT, SIZE, LOOSE = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "loose"

def picture(number):
    return b"\\x89PNG\\r\\n\\x1a\\n" + number.to_bytes(8, "big") + bytes(SIZE)

class Pictures:
    fingerprint = "pictures"
    def __len__(self):
        return COUNT
    def __iter__(self):
        for i in range(COUNT):
            file = Path(f"{i}.png")
            if not LOOSE and not file.exists():
                file.write_bytes(picture(i))
            medium = Media.from_bytes(picture(i)) if LOOSE else Media.from_path(file.absolute())
            yield Sample(f"s{i}", (user(f"question {i}", medium),), (Interleaved.from_text("yes"),))

@mmeval.register_loader("pictures")
def pictures(source):
    return Pictures()

@mmeval.register_backend("painter")
class Painter:
    capabilities = Capabilities.of(("text", "image"), ("text", "image"))
    identity, provenance = {"backend": "painter"}, {}
    async def generate(self, request):
        (seen,) = request.messages[0].content.media()
        number = int.from_bytes(seen.read()[8:16], "big")
        return Response(Interleaved.from_reply("yes", [Media.from_bytes(picture(COUNT + number))]))
    async def close(self):
        pass

@mmeval.register_metric("bytes_seen", range=(0, 1e9))
def bytes_seen(trial):
    return sum(len(medium.read()) for medium in trial.output.media())

task = {
    "task": "painted", "loader": "pictures", "output_modalities": ["text", "image"],
    "metric_list": [{"metric": "bytes_seen"}], "metadata": {"version": 1},
}
found = mmeval.evaluate(model="painter", tasks=task, max_connections=8, log_samples=True)
assert found.exit_code == 0 and found.results[0].value == SIZE + 16, found.complaints
(own,) = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
print(max(int(own.split()[1]), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
"""


def peak(folder: Path, count: int, kind: str) -> int:
    """Bytes that a run of so many samples needs at most: its own process or a scoring
    process, whichever needs more."""
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(count), str(SIZE), kind],
        cwd=folder,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout) * 1024


@pytest.mark.parametrize("kind", ["files", "loose"])
def test_media_of_many_samples_never_sit_in_memory(kind: str, tmp_path: Path) -> None:
    few, many = peak(tmp_path / "few", FEW, kind), peak(tmp_path / "many", MANY, kind)
    assert many - few < MEDIA / 8
