"""Known vulnerabilities of the pinned versions, from advisories in files."""

import json

import pytest

from tools import audit

PINS = "anyio==4.16.0\nzope-interface==8.7\n"


def advisory(name="anyio", *, events=(), versions=(), kind="ECOSYSTEM", ecosystem="PyPI", **more):
    affected = {
        "package": {"ecosystem": ecosystem, "name": name},
        "ranges": [{"type": kind, "events": list(events)}],
        "versions": list(versions),
    }
    return {"id": "PYSEC-1", "affected": [affected], **more}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return the exit status for some advisories, each a file."""
    (tmp_path / "constraints.txt").write_text(PINS)
    monkeypatch.setattr(audit, "CONSTRAINTS", tmp_path / "constraints.txt")
    folder = tmp_path / "advisories"
    folder.mkdir()

    def run(*advisories):
        for number, each in enumerate(advisories):
            (folder / f"{number}.json").write_text(json.dumps(each))
        return audit.main([str(folder)])

    return run


ZERO = {"introduced": "0"}
AFFECTED = [
    advisory(events=[ZERO]),
    advisory(events=[ZERO, {"fixed": "4.16.1"}]),
    advisory(events=[{"introduced": "4.16"}, {"last_affected": "4.16.0"}]),
    advisory(events=[ZERO, {"fixed": "4.1"}, {"introduced": "4.9"}, {"fixed": "4.100"}]),
    advisory("Zope.Interface", versions=["8.6", "8.7.0"]),
]
OTHERS = [
    advisory(events=[ZERO, {"fixed": "4.16.0"}]),
    advisory(events=[ZERO, {"last_affected": "4.15"}]),
    advisory(events=[{"introduced": "5.0rc1"}]),
    advisory(events=[ZERO], kind="GIT"),
    advisory(events=[ZERO], ecosystem="npm"),
    advisory("django", events=[ZERO]),
    advisory(versions=["4.1", "not-a-version"]),
    advisory(events=[ZERO], withdrawn="2026-01-01T00:00:00Z"),
]


@pytest.mark.parametrize("number", range(len(AFFECTED)))
def test_a_version_that_an_advisory_affects_is_named(run, capsys, number):
    assert run(*OTHERS, AFFECTED[number]) == 1
    assert "PYSEC-1" in capsys.readouterr().out


def test_advisories_of_other_versions_and_packages_find_nothing(run, capsys):
    assert run(*OTHERS) == 0
    assert capsys.readouterr().out == "0 vulnerabilities in 2 packages, by 8 advisories\n"


@pytest.mark.parametrize("content", [[], {}, "PYSEC-1"])
def test_what_is_no_advisory_is_an_error(run, capsys, content):
    assert run(content) == 2
    assert "no advisory" in capsys.readouterr().err


def test_no_advisories_are_no_clean_result(run):
    assert run() == 2


def test_the_versions_of_this_project_are_read():
    pins = audit.pinned(audit.CONSTRAINTS.read_text())
    assert len(pins) > 50
    assert pins["django"].major >= 5
