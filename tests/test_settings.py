"""Every setting that a document or an example names exists, and the reference lists all of them."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NAME = re.compile(r"\b(?:LOOPSCOPE_[A-Z][A-Z_]*[A-Z]|DATABASE_URL|REDIS_URL)\b")
PAGES = sorted(
    [
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *(ROOT / "docs").rglob("*.md"),
        *(path for path in (ROOT / "deploy").iterdir() if path.is_file()),
    ]
)
CLIENTS = [*(ROOT / "loopscope_client").rglob("*.py"), *(ROOT / "recorder/management/commands").glob("*.py")]


def words(*files):
    """Return the strings of Python files that are names of settings."""
    trees = (ast.walk(ast.parse(file.read_text())) for file in files)
    texts = {node.value for nodes in trees for node in nodes if isinstance(node, ast.Constant)}
    return {text for text in texts if isinstance(text, str) and NAME.fullmatch(text)}


@cache
def of_clients():
    """Return the variables of the clients and commands, two of which are no settings."""
    return words(*CLIENTS)


# dj_database_url reads this one by itself.
FILES = [
    ROOT / "dashboard" / f"{name}.py"
    for name in ("settings", "sso_settings", "mail_settings", "log_settings")
]
SETTINGS = words(*FILES) | {"DATABASE_URL"}
OIDC = {
    "LOOPSCOPE_OIDC_ISSUER": "https://id.acme.example",
    "LOOPSCOPE_OIDC_CLIENT_ID": "loopscope",
    "LOOPSCOPE_OIDC_CLIENT_SECRET": "secret",
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_setting_that_a_page_names_exists(page):
    # `LOOPSCOPE_LIMITS` is a name of the code.
    assert set(NAME.findall(page.read_text())) <= SETTINGS | of_clients() | {"LOOPSCOPE_LIMITS"}


def test_the_reference_lists_every_setting_and_no_other():
    rows = re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs/reference/settings.md").read_text(), re.M)
    assert {row for row in rows if row in SETTINGS or row not in of_clients()} == SETTINGS
    assert len(rows) == len(set(rows))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DATABASE_URL", "nonsense"),
        ("DATABASE_URL", "postgres://user:secret@host:port/name"),
        ("REDIS_URL", "localhost:6379"),
        ("LOOPSCOPE_DATA", "/dev/null/data"),
        ("LOOPSCOPE_DEPTH", "-1"),
        ("LOOPSCOPE_ID_BYTES", "513"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_in_one_line(name, value):
    refused(name, {name: value})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("LOOPSCOPE_OIDC_ISSUER", OIDC | {"LOOPSCOPE_OIDC_ISSUER": "http://id.acme.example"}),
        ("LOOPSCOPE_OIDC_ISSUER", OIDC | {"LOOPSCOPE_OIDC_ISSUER": "https://id.acme.example/?a=b"}),
        ("LOOPSCOPE_OIDC_ISSUER", OIDC | {"LOOPSCOPE_OIDC_ISSUER": "id.acme.example"}),
        ("LOOPSCOPE_OIDC_ISSUER", OIDC | {"LOOPSCOPE_OIDC_ISSUER": "https://[acme"}),
        ("LOOPSCOPE_OIDC_CLIENT_ID", OIDC | {"LOOPSCOPE_OIDC_CLIENT_ID": ""}),
        ("LOOPSCOPE_OIDC_CLIENT_SECRET", OIDC | {"LOOPSCOPE_OIDC_CLIENT_SECRET": ""}),
        ("LOOPSCOPE_OIDC_CLIENT_ID", {"LOOPSCOPE_OIDC_CLIENT_ID": "loopscope"}),
        ("LOOPSCOPE_OIDC_CLIENT_SECRET", {"LOOPSCOPE_OIDC_CLIENT_SECRET": "secret"}),
        ("LOOPSCOPE_OIDC_ROLES", OIDC | {"LOOPSCOPE_OIDC_ROLES": "agents:owner"}),
        ("LOOPSCOPE_OIDC_ROLES", OIDC | {"LOOPSCOPE_OIDC_ROLE_CLAIM": "groups"}),
        ("LOOPSCOPE_OIDC_ROLE_CLAIM", OIDC | {"LOOPSCOPE_OIDC_ROLES": "agents:viewer"}),
    ],
)
def test_single_sign_on_that_cannot_be_is_refused_in_one_line(name, values):
    refused(name, values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("LOOPSCOPE_SMTP_URL", {"LOOPSCOPE_SMTP_URL": "mail.acme.example:25"}),
        ("LOOPSCOPE_SMTP_URL", {"LOOPSCOPE_SMTP_URL": "smtps://ada:secret@mail.acme.example:port"}),
        ("LOOPSCOPE_SMTP_URL", {"LOOPSCOPE_SMTP_URL": "smtps://ada@mail.acme.example"}),
        ("LOOPSCOPE_SMTP_URL", {"LOOPSCOPE_SMTP_URL": "smtp://mail.acme.example/?tls=1"}),
        ("LOOPSCOPE_SMTP_FROM", {"LOOPSCOPE_SMTP_URL": "smtp://mail.acme.example"}),
        ("LOOPSCOPE_SMTP_FROM", {"LOOPSCOPE_SMTP_FROM": "loops@acme.example"}),
        (
            "LOOPSCOPE_SMTP_FROM",
            {
                "LOOPSCOPE_SMTP_URL": "smtp://mail.acme.example",
                "LOOPSCOPE_SMTP_FROM": "Loops <l@acme.example>",
            },
        ),
    ],
)
def test_a_mail_server_that_cannot_be_is_refused_in_one_line(name, values):
    refused(name, values)


def refused(name, values):
    command = [sys.executable, "-c", "import dashboard.settings"]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, **values}, capture_output=True, text=True, check=False
    )

    assert done.returncode == 1
    assert done.stderr.startswith(name)
    assert done.stderr.count("\n") == 1
    assert "secret" not in done.stderr


def test_names_of_settings_are_found():
    assert {"LOOPSCOPE_DATA", "REDIS_URL", "LOOPSCOPE_EVENT_BYTES"} <= SETTINGS
    assert {"deploy/loopscope.service", "docs/reference/settings.md"} <= {
        page.relative_to(ROOT).as_posix() for page in PAGES
    }
