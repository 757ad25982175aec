"""Both distributions, installed into empty environments, have all their files and dependencies."""

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from urllib.parse import urljoin

import pytest

import loopscope_client
import recorder
from tests.packages.environments import ROOT, Environment, build, clean_copy, files_of, run, tracked

pytestmark = pytest.mark.slow
OF_EXTRAS = (
    "recorder.pubsub.redis_relay",
    "dashboard.security.shared_attempts",
    "dashboard.pages.account.sign_in_methods.",
    "dashboard.security.single_sign_on.",
)
PROGRAM = """\
from loopscope_client import Client

client = Client("URL", "TOKEN")
with client.loop(agent="cook", model="my-model", provider="my-provider") as loop:
    loop.user("What can I make of leeks?")
    with loop.turn() as turn:
        turn.answer("Soup, of *course*.", input=18, output=5)
    with loop.tool("larder", {"shelf": 2}) as tool:
        tool.result("potatoes")
assert client.close(30), client.status
"""
IMPORT_EVERYTHING = """
import importlib, os, pkgutil, django, dashboard, recorder, loopscope_client
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
django.setup()
names = [
    found.name
    for package in (dashboard, recorder, loopscope_client)
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    if found.name != "recorder.client" and not found.name.startswith(OF_EXTRAS)
]
for name in names:
    importlib.import_module(name)
print(len(names))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return clean_copy(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def server_dist(source, tmp_path_factory):
    return build(source, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def client_dist(source, tmp_path_factory):
    return build(source / "loopscope_client", tmp_path_factory.mktemp("client-dist"))


@pytest.fixture(scope="module")
def server_environment(server_dist, tmp_path_factory):
    return Environment.create(tmp_path_factory.mktemp("server"), str(server_dist[1]))


@pytest.fixture(scope="module")
def client_environment(client_dist, tmp_path_factory):
    return Environment.create(tmp_path_factory.mktemp("client"), str(client_dist[1]))


def metadata(wheel):
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def test_the_wheel_of_the_server_holds_every_file_of_its_packages(server_dist):
    found = files_of(server_dist[1])

    assert found == tracked()
    assert any(name.endswith(".woff2") for name in found)
    assert any(name.startswith("recorder/demo/tapes/") for name in found)
    assert "recorder/migrations/0001_initial.py" in found


def test_pip_builds_the_same_wheel_from_a_clone(source, server_dist, tmp_path):
    """pip installs the build backend by itself, from what pyproject.toml names."""
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(source))
    (wheel,) = tmp_path.glob("*.whl")

    assert files_of(wheel) == files_of(server_dist[1])
    assert metadata(wheel).items() == metadata(server_dist[1]).items()


def test_the_wheel_of_the_client_holds_the_client_and_needs_nothing(client_dist):
    fields = metadata(client_dist[1])

    of_the_client = {name for name in tracked() if name.startswith("loopscope_client/")}
    assert files_of(client_dist[1]) == of_the_client
    assert "loopscope_client/py.typed" in of_the_client
    assert (fields["Name"], fields.get_all("Requires-Dist")) == (
        *("loopscope-client", ["zstandard>=0.23; extra == 'zstd'"]),
    )  # an extra: nothing is installed without being asked for


def test_both_distributions_are_of_one_version_with_an_entry_in_the_changelog(server_dist, client_dist):
    released = re.search(r"^## (\d\S+) - \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.M)

    assert released
    versions = {metadata(wheel)["Version"] for _, wheel in (server_dist, client_dist)}
    assert versions == {recorder.__version__} == {loopscope_client.__version__} == {released[1]}


def test_what_development_needs_is_not_published(server_dist):
    fields = metadata(server_dist[1])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert fields.get_all("Provides-Extra") == ["postgres", "redis", "sso", "zstd"]
    extras = sum(map(len, project["optional-dependencies"].values()))
    assert len(fields.get_all("Requires-Dist")) == len(project["dependencies"]) + extras


def test_the_sdists_name_no_folder_of_this_machine(server_dist, client_dist):
    for sdist, _ in (server_dist, client_dist):
        with tarfile.open(sdist) as archive:
            names = archive.getnames()
        assert all(not name.startswith(("/", "..")) for name in names)
        assert not [name for name in names if "/tests/" in name or name.endswith(".pyc")]


def test_both_licences_are_one():
    assert (ROOT / "loopscope_client/LICENSE").read_text() == (ROOT / "LICENSE").read_text()


def test_every_module_can_be_imported_with_the_declared_dependencies_alone(server_environment):
    code = IMPORT_EVERYTHING.replace("OF_EXTRAS", repr(OF_EXTRAS))

    count = int(server_environment.run("python", "-c", code).split()[-1])

    assert count > 300
    others = {"pytest", "psycopg", "redis", "django-allauth", "loopscope-client"}
    assert not others & server_environment.installed()


def test_data_lie_in_the_folder_of_the_platform_unless_another_is_named(server_environment, tmp_path):
    def data(**variables):
        code = "import dashboard.settings as s; print(s.DATA)"
        return Path(server_environment.run("python", "-c", code, **variables).strip())

    assert data() == server_environment.data.resolve()
    assert data(XDG_DATA_HOME=str(tmp_path)) == tmp_path.resolve() / "loopscope"
    named = tmp_path / "named"
    assert data(XDG_DATA_HOME=str(tmp_path), LOOPSCOPE_DATA=str(named)) == named.resolve()


def test_the_command_lists_its_commands_and_its_version(server_environment):
    listed = server_environment.run("loopscope", "--help")

    ours = {
        path.stem for app in ("dashboard", "recorder") for path in (ROOT / app).glob("management/commands/*")
    }
    for name in ours - {"__init__", "__pycache__"}:
        assert re.search(rf"^ +{name}$", listed, re.M), name
    assert server_environment.run("loopscope", "--version").strip() == recorder.__version__


def test_an_installed_server_records_what_the_installed_client_sends(server_environment, client_environment):
    with server_environment.server() as visitor:
        token = server_environment.run(
            "loopscope", "token", "create", "--project", "default", "--scopes", "ingest", "--name", "laptop"
        ).strip()
        assert len(PROGRAM.splitlines()) == 10
        program = PROGRAM.replace("URL", visitor.url).replace("TOKEN", token)
        client_environment.run("python", "-c", program)

        (session,) = visitor.sessions()
        assert (session["title"], session["outcome"]) == ("What can I make of leeks?", "completed")
        listed, one = visitor.page("/p/default/sessions"), visitor.page(session["url"])
        assert "What can I make of leeks?" in listed
        assert "<em>course</em>" in one
        assert_static_files(visitor, listed)

        lines = client_environment.home / "events.jsonl"
        lines.write_text(
            '{"type":"AgentStart","agent_id":"a","session_id":"tailed","loop_id":"tailed.a.1",'
            '"timestamp":"2026-01-01T00:00:00Z"}\n'
        )
        client_environment.run("loopscope-tail", str(lines), "--once", "--url", visitor.url, "--token", token)
        assert {item["session_id"] for item in visitor.sessions()} == {session["session_id"], "tailed"}

    assert client_environment.installed() == {"loopscope-client"}
    assert {"loopscope.sqlite3", "secret_key", "static"} <= {
        path.name for path in server_environment.data.iterdir()
    }
    assert "nothing found" in server_environment.run("loopscope", "check_integrity")


def assert_static_files(visitor, page):
    """Load what a page names: style sheets, scripts, icons, and the fonts that its style sheets name."""
    named = set(re.findall(r'(?:href|src)="(/static/[^"#]+)', page))
    assert {Path(name).suffix for name in named} >= {".css", ".js", ".svg"}
    fonts = set()
    for name in named:
        kind, body = visitor.get(name)
        assert body, name
        if "css" in kind:
            fonts |= {urljoin(name, found) for found in re.findall(r'url\("?([^")]+\.woff2)', body.decode())}
    assert len(fonts) == 2
    for name in fonts:
        assert visitor.get(name) == ("font/woff2", (ROOT / plain(name)).read_bytes())


def plain(name):
    """Return the name of a collected static file without its hash."""
    return re.sub(r"\.[0-9a-f]{12}(?=\.)", "", name.lstrip("/"))


def test_type_checkers_see_the_types_of_the_installed_client(client_environment, tmp_path):
    (tmp_path / "program.py").write_text(
        'from loopscope_client import Client\n\nreveal_type(Client("", "").status.sent)\nClient(1, 2)\n'
    )
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    command += ["--python-executable", str(client_environment.folder / "bin/python"), "program.py"]

    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout

    assert 'Revealed type is "int"' in output
    assert output.count("error:") == 2, output


def test_a_program_that_uses_the_old_name_of_the_client_is_warned():
    code = "from recorder.client import AsyncClient, Client, Status; print(Client.__module__)"

    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.stdout == "loopscope_client.client\n"
    assert "DeprecationWarning: recorder.client is now loopscope_client" in done.stderr
