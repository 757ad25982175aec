"""The whole application: it starts without data, keeps its secrets and sends its policy in every response."""

import json
import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from asgiref.testing import ApplicationCommunicator
from django.db import connection
from django.http import HttpResponse

from dashboard import settings
from dashboard.asgi import application
from dashboard.security.csp import POLICY
from recorder.core.formats import EVENT_VALUES
from tests.support.wait import LONGEST_S

ROOT = Path(__file__).resolve().parent.parent
STATIC = ROOT / "static"
COLLECTING = "import django; django.setup(); from dashboard.web.static_files import collect; collect()"


def python(folder: Path, *arguments: str, **environment: str) -> str:
    """Return what Python prints, in a process of its own with the real settings and `folder` as its data."""
    inherited = {"PATH": os.environ["PATH"], "DJANGO_SETTINGS_MODULE": "dashboard.settings"}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=inherited | {"LOOPSCOPE_DATA": str(folder)} | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return (done.stdout + done.stderr).strip()


def settings_of(folder: Path, expression: str, **environment: str) -> str:
    return python(folder, "-c", f"from django.conf import settings; print({expression})", **environment)


async def ask(path: str) -> HttpResponse:
    """Return what the whole application answers, its raw doors included."""
    scope = {"type": "http", "http_version": "1.1", "scheme": "http", "method": "GET", "query_string": b""}
    line = ApplicationCommunicator(application, scope | {"path": path, "headers": [(b"host", b"testserver")]})
    await line.send_input({"type": "http.request", "body": b"", "more_body": False})
    start = await line.receive_output(LONGEST_S)
    body = await line.receive_output(LONGEST_S)
    await line.wait(LONGEST_S)
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return HttpResponse(body["body"], status=start["status"], headers=headers)


async def test_the_process_says_that_it_answers():
    answer = await ask("/healthz")

    assert (answer.status_code, answer.content) == (200, b'{"status":"ok"}')


@pytest.mark.parametrize("path", ["/signin", "/there-is-no-such-page", "/static/css/base.css"])
def test_every_page_carries_the_policy(client, db, path):
    answer = client.get(path)

    assert answer["Content-Security-Policy"] == POLICY
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert answer["Referrer-Policy"] in {"same-origin", "no-referrer"}
    assert "Access-Control-Allow-Origin" not in answer


@pytest.mark.parametrize("path", ["/healthz", "/ingest/v1/events", "/there-is-no-such-page"])
async def test_whatever_answers_may_load_nothing_by_default(path):
    answer = await ask(path)

    assert answer["Content-Security-Policy"].startswith("default-src 'none'")
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_an_unknown_host_is_refused_with_the_policy_and_one_line_in_the_log(client, caplog):
    answer = client.get("/signin", headers={"host": "rebound.example"})

    assert (answer.status_code, answer["Content-Security-Policy"]) == (400, POLICY)
    assert [record.name for record in caplog.records] == ["django.security.DisallowedHost"]
    assert caplog.text.count("\n") == 1


def test_the_policy_allows_nothing_inline_and_nothing_foreign():
    assert "default-src 'none'" in POLICY
    assert "unsafe" not in POLICY
    assert "http" not in POLICY


def test_a_static_file_is_sent_whole_and_with_its_type(client):
    answer = client.get("/static/favicon.svg")

    assert answer["Content-Type"].startswith("image/svg+xml")
    assert answer.content == (ROOT / "static/favicon.svg").read_bytes()
    assert client.head("/static/favicon.svg").content == b""


def test_the_secret_key_is_made_once_and_is_for_its_owner_alone(tmp_path):
    first = settings_of(tmp_path, "settings.SECRET_KEY")

    assert len(first) > 50
    assert settings_of(tmp_path, "settings.SECRET_KEY") == first
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


def test_data_of_a_checkout_lie_in_its_own_folder():
    assert (settings.IS_CHECKOUT, settings.COMMAND) == (True, "python manage.py")
    assert settings._default_data_folder() == ROOT / "var"


def test_the_database_is_sqlite_in_the_data_folder_without_database_url(tmp_path):
    engine = "settings.DATABASES['default']['ENGINE'], settings.DATABASES['default']['NAME']"

    assert str(tmp_path / "loopscope.sqlite3") in settings_of(tmp_path, engine)
    assert "postgresql" in settings_of(
        tmp_path, engine, DATABASE_URL="postgres://someone@127.0.0.1/loopscope"
    )


def test_behind_https_django_has_nothing_to_warn_about(tmp_path):
    production = {
        "LOOPSCOPE_HTTPS": "1",
        "LOOPSCOPE_PROXIES": "2",
        "LOOPSCOPE_ALLOWED_HOSTS": "loops.example.com",
        "LOOPSCOPE_SMTP_URL": "smtps://loops:secret@mail.example.com",
        "LOOPSCOPE_SMTP_FROM": "loops@example.com",
    }
    output = python(tmp_path, "manage.py", "check", "--deploy", **production)

    assert output == "System check identified no issues (3 silenced)."


def test_a_setting_that_is_not_a_number_is_named(tmp_path):
    output = settings_of(tmp_path, "settings.LOOPSCOPE_LIMITS", LOOPSCOPE_EVENT_BYTES="4M")

    assert output == "LOOPSCOPE_EVENT_BYTES must be a whole number, not '4M'"


def test_the_limits_are_those_of_the_protocol(settings):
    assert (
        settings.LOOPSCOPE_LIMITS
        | {
            "event_bytes": 4 * 2**20,
            "event_values": EVENT_VALUES,
            "frame_bytes": 4 * 2**20 + 64 * 2**10,
            "frame_events": 500,
            "body_bytes": 8 * 2**20,
            "inflated_bytes": 16 * 2**20,
            "depth": 128,
            "id_bytes": 512,
            "credit_bytes": 2**20,
        }
        == settings.LOOPSCOPE_LIMITS
    )


def test_an_acknowledged_commit_is_on_the_disk(db):
    own = connection.copy()
    for option in ("options", "pool"):  # on PostgreSQL the tests turn the sync of commits off
        own.settings_dict["OPTIONS"].pop(option, None)
    with closing(own), own.cursor() as cursor:
        if connection.vendor == "sqlite":
            expected = {"PRAGMA journal_mode": "wal", "PRAGMA synchronous": 2, "PRAGMA foreign_keys": 1}
        else:
            expected = {"SHOW synchronous_commit": "on", "SHOW fsync": "on"}
        for question, answer in expected.items():
            cursor.execute(question)
            assert cursor.fetchone()[0] == answer, question


def test_of_packages_only_htmx_is_collected_and_every_name_has_a_hash(tmp_path):
    assert python(tmp_path, "-c", COLLECTING) == ""

    manifest = tmp_path / "static/staticfiles.json"
    collected = json.loads(manifest.read_text())["paths"]
    sources = {path.relative_to(STATIC).as_posix() for path in STATIC.rglob("*") if path.is_file()}
    of_packages = set(collected) - sources
    assert {"django_htmx/htmx-2.min.js", "django_htmx/ext/hx-ws-2.min.js"} <= of_packages
    assert {name[:12] for name in of_packages} == {"django_htmx/"}
    assert not {"django_htmx/htmx-2.js", "django_htmx/htmx-4.min.js"} & of_packages
    assert not [name for name in collected if (manifest.parent / name).exists()]


def test_static_files_are_collected_once_and_again_when_one_changes(tmp_path):
    stamp, manifest = tmp_path / "static/.collected", tmp_path / "static/staticfiles.json"

    assert python(tmp_path, "-c", COLLECTING) == ""
    made = manifest.stat().st_mtime_ns
    assert python(tmp_path, "-c", COLLECTING) == ""
    assert manifest.stat().st_mtime_ns == made

    stamp.write_text("what the sources were before")
    assert python(tmp_path, "-c", COLLECTING) == ""
    assert manifest.stat().st_mtime_ns > made
