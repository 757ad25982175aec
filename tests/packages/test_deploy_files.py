"""The examples in deploy/: the image has the sources of the wheel, and the started commands exist."""

import json
import re
import shutil
import sys

import pytest
from django.core.management import load_command_class

from tests.packages.environments import ROOT, clean_copy, files_of, run, tracked

CONTAINER = (ROOT / "deploy/Containerfile").read_text().replace("\\\n", " ")
SERVICE = (ROOT / "deploy/loopscope.service").read_text()
STARTED = {
    "container": json.loads(re.search(r"^CMD (.+)$", CONTAINER, re.M)[1]),
    "service": re.search(r"^ExecStart=(.+)$", SERVICE, re.M)[1].split(),
}


@pytest.mark.parametrize("name", STARTED)
def test_what_is_started_is_the_command_with_options_that_it_has(name):
    program, command, *options = STARTED[name]

    assert program.rpartition("/")[2] == "loopscope"
    parser = load_command_class("dashboard", command).create_parser(program, command)
    assert parser.parse_args(options).port == 8000


@pytest.mark.slow
def test_the_image_is_built_of_what_the_wheel_needs(tmp_path):
    _, stage, _ = CONTAINER.split("\nFROM ")
    (wheel_command,) = re.findall(r"pip wheel .*", stage)
    source, made = clean_copy(tmp_path / "clone"), tmp_path / "stage"
    made.mkdir()
    for words in re.findall(r"^COPY (.+)$", stage, re.M):
        *names, target = words.split()
        for name in names:
            if (source / name).is_dir():
                shutil.copytree(source / name, made / target)
            else:
                shutil.copy(source / name, made / target)

    run(
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(tmp_path / "wheel"),
        str(made),
    )

    assert wheel_command.endswith("--wheel-dir /wheel .")
    (wheel,) = (tmp_path / "wheel").iterdir()
    assert files_of(wheel) == tracked()
