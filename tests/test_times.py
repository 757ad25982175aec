"""What the files of the tests cost: measured with their processes, read from a run, and what is quick."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests import times

CASE = """<testcase classname="tests" name="test_{0}" file="tests/{1}" time="9">
<properties><property name="cpu_s" value="{2}" /></properties></testcase>"""
BUSY = "sum(range(10**7)); print(flush=True); input()"


@pytest.fixture
def recorded(tmp_path, monkeypatch):
    """Return a function that replaces the list; none of what was derived from the real one is left."""

    def forget():
        times.recorded.cache_clear()
        times.long_files.cache_clear()

    def replace(costs):
        monkeypatch.setattr(times, "KEPT", tmp_path / "times.json")
        times.KEPT.write_text(json.dumps(costs))
        forget()

    yield replace
    monkeypatch.undo()
    forget()


def junit(folder, phase, *cases):
    text = "".join(CASE.format(*case) for case in cases)
    (folder / f"{phase}.xml").write_text(f"<testsuites><testsuite>{text}</testsuite></testsuites>")


def test_every_listed_file_has_a_cost():
    assert times.recorded()
    assert [name for name, cost in times.recorded().items() if cost < 0] == []


def test_a_file_costs_the_sum_of_its_tests_in_the_longest_phase(tmp_path, recorded):
    recorded({"tests/test_docs.py": 3.0, "tests/test_gone.py": 4.0})
    junit(tmp_path, "sqlite", ("a", "conftest.py", 1.5), ("b", "conftest.py", 2), ("a", "settings.py", 9))
    junit(tmp_path, "postgres", ("a", "conftest.py", 3), ("a", "settings.py", 10))

    times.main([str(tmp_path)])

    written = json.loads(times.KEPT.read_text())
    assert written == {"tests/conftest.py": 3.5, "tests/settings.py": 10, "tests/test_docs.py": 3}


def test_a_file_that_is_not_listed_counts_as_a_middling_one(recorded):
    recorded({"tests/test_a.py": 1.0, "tests/test_b.py": 2.0, "tests/test_c.py": 9.0})

    assert times.cost_s(times.ROOT / "tests/test_new.py") == 2.0
    assert times.cost_s(times.ROOT / "tests/test_c.py") == 9.0


def test_the_files_that_take_the_most_are_not_quick(recorded):
    costs = {"a": 0.5, "c": 0.2, "b": 0.1, "d": 0.7}
    recorded({name: cost * times.QUICK_S for name, cost in costs.items()})

    assert times.long_files() == {times.ROOT / "d"}


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_process_that_still_runs_is_counted():
    before = times._running_s(Path("/proc/self"))
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as busy:
        busy.stdout.readline()
        assert times._running_s(Path("/proc/self")) > before
        busy.communicate(b"\n")


def test_a_process_that_has_ended_has_no_children(tmp_path):
    (tmp_path / "task" / "1").mkdir(parents=True)  # a thread that ended after its name was read
    assert list(times._children(tmp_path)) == []
    assert list(times._children(tmp_path / "ended")) == []
