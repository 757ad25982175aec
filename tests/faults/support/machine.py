"""What a test needs of the machine: without it the test is skipped, but fails where `CI` is set."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import NoReturn

import pytest

MOUNTS = "root and loop devices, to mount a small disk"
TRACES = "strace and the right to trace a process"


def is_missing(what: str) -> NoReturn:
    """End the test: this machine lacks something."""
    if os.environ.get("CI"):
        pytest.fail(f"needs {what}")
    pytest.skip(f"needs {what}")


@cache
def can_mount() -> bool:
    """Try to mount a file; a container's root may lack loop devices."""
    with tempfile.TemporaryDirectory() as folder:
        image, place = Path(folder, "disk"), Path(folder, "mounted")
        place.mkdir()
        with image.open("wb") as file:
            file.truncate(2**20)
        made = os.geteuid() == 0 and shutil.which("mkfs.ext4") and _works("mkfs.ext4", "-q", image)
        return bool(made) and _works("mount", "-o", "loop", image, place) and _works("umount", place)


@cache
def can_trace() -> bool:
    """Try to trace a process; a container may forbid ptrace."""
    return bool(shutil.which("strace")) and _works("strace", "-o", "/dev/null", "true")


def _works(*command: str | Path) -> bool:
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
