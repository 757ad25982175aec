"""Programs that `make test` and `make test-senders` install when they are missing."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PROGRAMS = {"node": "npm", "chromium": "chromium", "strace": "strace"}


@pytest.fixture
def path(tmp_path):
    """A PATH with little more than a shell."""
    for name in ("sh", "id"):
        (tmp_path / name).symlink_to(shutil.which(name))
    return tmp_path


def make(path, target):
    make = shutil.which("make")
    environment = os.environ | {"PATH": str(path), "MAKEFLAGS": ""}
    return subprocess.run(
        [make, target], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


def script(path, name, text):
    (path / name).write_text(f"#!/bin/sh\n{text}\n")
    (path / name).chmod(0o755)


@pytest.mark.parametrize(("target", "program"), PROGRAMS.items())
def test_a_missing_program_without_apt_fails_and_is_named(path, target, program):
    done = make(path, target)
    assert done.returncode != 0
    assert f"install it so that '{program}' is on the PATH" in done.stderr


@pytest.mark.parametrize(("target", "program"), PROGRAMS.items())
def test_a_missing_program_is_installed_by_apt(path, target, program):
    script(path, "sudo", 'exec "$@"')
    script(path, "apt-get", f'echo "$@" >> {path}/log')
    assert make(path, target).returncode == 0
    assert (path / "log").read_text().split()[-1] == program


@pytest.mark.parametrize(("target", "program"), PROGRAMS.items())
def test_a_program_that_is_there_is_not_installed_again(path, target, program):
    script(path, program, "exit 1")
    script(path, "apt-get", f"touch {path}/log")
    assert make(path, target).returncode == 0
    assert not (path / "log").exists()


def test_all_tests_install_what_they_need():
    rules = [line for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("test")]
    assert set(PROGRAMS) <= set(" ".join(rules).split())
