"""The current code opens the database of every released version, loses nothing and continues it."""

import re
from itertools import chain

import pytest
from django.conf import settings

from recorder import __version__
from tests.upgrade.databases import DESCRIPTIONS, FILES, FOLDER, description, restored

VERSIONS = sorted(path for path in FOLDER.iterdir() if re.fullmatch(r"\d+\.\d+\.\d+", path.name))
DATABASE = settings.DATABASES["default"]
VENDOR = "sqlite" if "sqlite" in DATABASE["ENGINE"] else "postgresql"
# The session of cagent with a compaction that cost something, and the sums of compactions.
BILLED_COMPACTION = re.compile("5b1c9e0a-2f57-4a0e-9c55-0d6f2f3a7c01|^Spending .* compaction ")
pytestmark = [pytest.mark.slow, pytest.mark.postgres]


def postgres():
    """Return the server that tests run on, "" for SQLite."""
    if VENDOR == "sqlite":
        return ""
    who = DATABASE["USER"] + (f":{DATABASE['PASSWORD']}" if DATABASE["PASSWORD"] else "")
    return f"postgres://{who}@{DATABASE['HOST'] or '127.0.0.1'}:{DATABASE['PORT'] or 5432}/postgres"


@pytest.fixture(scope="module", params=VERSIONS, ids=lambda path: path.name)
def upgraded(request, tmp_path_factory):
    """The version, and a copy of its database that today's code has migrated."""
    with restored(request.param, tmp_path_factory.mktemp("data"), postgres()) as copy:
        copy.manage("migrate", "--no-input", "--verbosity", "0")
        yield request.param, copy


def lost(then, now, where=""):
    """Yield the paths at which `now` differs from `then`; dicts may have new keys."""
    if isinstance(then, dict) and isinstance(now, dict):
        for key, value in then.items():
            yield from lost(value, now[key], f"{where}/{key}") if key in now else [f"{where}/{key} is gone"]
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for at, (one, other) in enumerate(zip(then, now, strict=True)):
            yield from lost(one, other, f"{where}/{at}")
    elif then != now:
        yield f"{where}: {str(then)[:100]} became {str(now)[:100]}"


def test_the_first_release_and_this_one_left_databases():
    assert VERSIONS[0].name == "0.2.0"
    assert VERSIONS[-1].name <= __version__
    for version in VERSIONS:
        assert {path.name for path in version.iterdir()} == {*FILES.values(), *DESCRIPTIONS.values()}


def comparable(described):
    """Sort the sessions of a description by id: 0.2.0 sorted by arrival, with another `last_active_at`."""
    for project in described["projects"].values():
        sessions = project["api"]["sessions"]
        sessions.sort(key=lambda session: session["session_id"])
        for session in sessions:
            del session["last_active_at"]
        for items in project["api"].values():
            for item in items:
                if item.get("config"):  # two configs of 0.2.0 could have one label
                    item["config"]["label"] = re.sub(" [0-9a-f]{6}$", "", item["config"]["label"])
    return described


def with_exports_of_0_2(described):
    """Put back the exports of other runtimes as 0.2.0 wrote them, without results that only tools sent."""
    for project in described["projects"].values():
        for session, export in project["exports_of_0_2"].items():
            project["exports"][session][1] = export
    return described


def test_nothing_is_lost(upgraded):
    version, copy = upgraded
    then = description(version, VENDOR)

    assert len(then["projects"]["default"]["exports"]) > 20
    now = copy.step("describe")
    if version.name == "0.2.0":
        now = with_exports_of_0_2(now)
    changes = lost(comparable(then), comparable(now))
    # 0.2.0 answered a total also where the runtime had sent none, and no parent in another session.
    corrected = re.compile(r"/(total_tokens: \d+ became None|parent_loop: None became \d+)$")
    assert [change for change in changes if not corrected.search(change)] == []


def test_the_block_ledger_is_filled_from_what_was_recorded_before_it(upgraded):
    _, copy = upgraded

    found = copy.step("ledger")

    assert found["steps"] > 2
    assert (found["calls"], found["gaps"], found["in_ledger"]) == (found["turns"], 0, found["cost"])
    assert found["turns"] > 50


def test_records_are_what_the_journal_says_and_recording_goes_on(upgraded):
    _, copy = upgraded

    found = copy.step("rebuild")

    # What compactions of cagent cost was not recorded before 0.3: a rebuild adds their loops.
    changed = found["changed"]
    changed["default"] = [record for record in changed["default"] if not BILLED_COMPACTION.search(record)]
    assert {"default", "opened"} <= changed.keys()
    assert ([*chain.from_iterable(changed.values())], found["damaged"]) == ([], [])

    exports = copy.step("resume")
    assert exports["opened"] == exports["whole"]
    ((lines, session),) = exports["whole"].values()
    assert re.fullmatch("[0-9a-f]{64}", lines)
    assert re.fullmatch("[0-9a-f]{64}", session)


@pytest.mark.parametrize(
    ("now", "found"),
    [
        ({"a": [1, {"b": 2, "c": 3}], "new": 0}, []),
        ({"a": [1, {"b": 3}]}, ["/a/1/b: 2 became 3"]),
        ({"a": [1]}, ["/a: [1, {'b': 2}] became [1]"]),
        ({}, ["/a is gone"]),
    ],
)
def test_what_is_missing_is_found(now, found):
    assert list(lost({"a": [1, {"b": 2}]}, now)) == found
