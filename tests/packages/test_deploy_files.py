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


def test_the_services_may_do_only_what_they_need():
    for name in ("loopscope", "loopscope-push"):
        lines = (ROOT / f"deploy/{name}.service").read_text().splitlines()
        assert {
            "NoNewPrivileges=yes",
            "SystemCallFilter=@system-service",
            "SystemCallFilter=~@privileged",
        } <= {*lines}
        assert any(line.startswith("MemoryMax=") for line in lines)


def test_every_container_is_read_only_and_has_no_capability_but_those_named():
    shared, services = (ROOT / "deploy/compose.yaml").read_text().split("\nservices:\n")
    closed, node = re.findall(r"^x-\w+: &\w+\n((?:  .*\n)+)", shared, re.M)
    assert {"read_only: true", "cap_drop: [ALL]", "mem_limit: 2g"} <= {
        line.strip() for line in closed.splitlines()
    }
    assert "<<: *closed" in node
    found = re.split(r"^  ([\w-]+):\n", services.partition("\nvolumes:")[0], flags=re.M)
    assert found[1::2] == ["node-a", "node-b", "postgres", "redis", "proxy"]
    assert all("    <<: *closed\n" in text or "    <<: *node\n" in text for text in found[2::2])


def test_the_proxy_sends_no_form_twice():
    (repeated,) = re.findall(r"^\s+proxy_next_upstream (.+);", (ROOT / "deploy/nginx.conf").read_text(), re.M)
    assert repeated == "error timeout"  # nginx sends a POST again only with `non_idempotent`


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
