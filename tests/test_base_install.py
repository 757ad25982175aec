"""Without the extra `sso` everything else works, and no page mentions what it adds."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKED = ("allauth", "fido2", "jwt", "qrcode", "requests")
# What `find_spec` and `import` see where the packages are not installed.
WITHOUT = f"import sys; sys.modules.update(dict.fromkeys({BLOCKED!r})); "
CHECK = "import manage; sys.argv = ['manage.py', 'check']; manage.main()"
PAGES = """
import os
os.environ["DJANGO_SETTINGS_MODULE"] = "dashboard.settings"
import django
django.setup()
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
settings.STORAGES = {**settings.STORAGES, "staticfiles": {
    "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
call_command("migrate", verbosity=0)
User.objects.create_user("ada", password="correct horse battery")
client = Client(headers={"host": "localhost"})
page = client.get("/signin").content.decode()
assert "User name" in page
assert "passkey" not in page.lower() and "Sign in with" not in page
for path in ("account/security", "signin/passkey", "signin/code"):
    assert b"passkey" not in client.get("/" + path).content, path
assert client.get("/account/security").status_code == 404
form = {"username": "ada", "password": "correct horse battery"}
assert client.post("/signin", form)["Location"] == "/"
assert client.get("/").status_code == 200
print("done")
"""


@pytest.fixture
def run(tmp_path):
    def run(code, **environment):
        inherited = {name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"}
        inherited |= {"LOOPSCOPE_DATA": str(tmp_path), **environment}
        inherited.pop("DATABASE_URL", None)
        command = [sys.executable, "-c", WITHOUT + code]
        return subprocess.run(command, cwd=ROOT, env=inherited, capture_output=True, text=True, check=False)

    return run


def test_the_check_passes(run):
    done = run(CHECK)
    assert (done.returncode, "no issues" in done.stdout) == (0, True), done.stderr


def test_the_sign_in_page_works_and_offers_a_password_and_a_link_alone(run):
    done = run(PAGES)
    assert done.stdout.endswith("done\n"), done.stderr


@pytest.mark.parametrize(("https", "count"), [("", 0), ("1", 1)])
def test_the_trusted_proxies_of_django_allauth_are_those_of_loopscope(run, https, count):
    code = "import dashboard.settings as s; print(s.ALLAUTH_TRUSTED_PROXY_COUNT)"
    assert run(code, LOOPSCOPE_HTTPS=https).stdout == f"{count}\n"


def test_single_sign_on_without_the_extra_is_refused_in_one_line(run):
    done = run("import dashboard.settings", LOOPSCOPE_OIDC_ISSUER="https://id.acme.example")
    assert done.returncode == 1
    assert done.stderr == "LOOPSCOPE_OIDC_ISSUER needs the extra sso: pip install 'loopscope[sso]'\n"
