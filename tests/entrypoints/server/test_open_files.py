"""A process that opens many sockets has room for them before it needs it."""

import subprocess
import sys
from pathlib import Path

import pytest

LOOK = """
import resource
from headwater.entrypoints.server.open_files import raise_open_file_limit as make_room_for_files

resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
before = sorted(path.name for path in Path("/proc/self/fd").iterdir())
make_room_for_files()
size = Path("/proc/self/status").read_text().partition("FDSize:")[2].split()[0]
left = sorted(path.name for path in Path("/proc/self/fd").iterdir())
print(size, resource.getrlimit(resource.RLIMIT_NOFILE)[0], left == before)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux shows its table")
@pytest.mark.parametrize(
    ("soft", "hard", "told"),
    [
        (1_024, 8_192, ["4096", "8192", "True"]),
        (1_024, 1_024, ["1024", "1024", "True"]),
        (256, 512, ["512", "512", "True"]),
    ],
)
def test_the_table_of_open_files_has_its_size_from_the_start(
    soft: int, hard: int, told: list[str]
) -> None:
    look = "from pathlib import Path\n" + LOOK.format(soft=soft, hard=hard)
    ran = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=False)
    assert (ran.stdout.split(), ran.stderr) == (told, "")
