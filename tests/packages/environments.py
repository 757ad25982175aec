"""Distributions built from a clean copy of the checkout, and empty environments to install them into."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.cookiejar import CookieJar
from pathlib import Path

from tests.support.wait import LONGEST_S, until

ROOT = Path(__file__).parents[2]
CONSTRAINTS = ROOT / "constraints.txt"
CODE = ("dashboard/", "loopscope_client/", "recorder/")
MOVED = re.compile(r"^(?=static/|templates/)")  # folders that a wheel has in the package `dashboard`
OF_THE_CLIENT = {f"loopscope_client/{name}" for name in ("LICENSE", "README.md", "pyproject.toml")}
# What would make packages of this checkout or of the user importable, or name another database.
KEPT_BACK = re.compile(r"PYTHON.*|VIRTUAL_ENV|DJANGO_.*|LOOPSCOPE_.*|XDG_.*|DATABASE_URL|REDIS_URL")


def tracked() -> set[str]:
    """Return the files of a wheel of the server: those that git has, without those of the client's build."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", cwd=ROOT).splitlines()
    names = {MOVED.sub("dashboard/", name) for name in listed if (ROOT / name).is_file()}
    return {name for name in names if name.startswith(CODE)} - OF_THE_CLIENT


def files_of(wheel: Path) -> set[str]:
    """Return the names of the files that a wheel installs."""
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def clean_copy(folder: Path) -> Path:
    """Copy the files that git would have in a clone of this checkout, as they are now."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/", ".venv")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def build(source: Path, into: Path) -> tuple[Path, Path]:
    """Build as `make dist` does; return the sdist and the wheel that was built from it."""
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(into), str(source))
    (sdist,), (wheel,) = into.glob("*.tar.gz"), into.glob("*.whl")
    return sdist, wheel


def run(*command: str, cwd: Path | None = None, environment: dict[str, str] | None = None) -> str:
    """Return what a command prints; fail with everything it printed when its status is not 0."""
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@dataclass(frozen=True)
class Environment:
    """A virtual environment with nothing in it but what was installed, used from an empty home folder."""

    folder: Path
    home: Path

    @classmethod
    def create(cls, parent: Path, *requirements: str) -> Environment:
        """Install `requirements` at the versions of constraints.txt, by pip from outside."""
        made = cls(parent / "environment", parent / "home")
        made.home.mkdir()
        run(sys.executable, "-m", "venv", "--without-pip", str(made.folder))
        pip = (sys.executable, "-m", "pip", "--python", str(made.folder / "bin" / "python"))
        run(*pip, "install", "--quiet", "--no-compile", "-c", str(CONSTRAINTS), *requirements)
        run(*pip, "check")
        return made

    @property
    def variables(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not KEPT_BACK.fullmatch(name)}
        path = f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return inherited | {"HOME": str(self.home), "PATH": path}

    @property
    def data(self) -> Path:
        """Where an installed server keeps its data on Linux."""
        return self.home / ".local" / "share" / "loopscope"

    def run(self, program: str, *arguments: str, **variables: str) -> str:
        """Run a program of the environment in the empty home folder."""
        command = (str(self.folder / "bin" / program), *arguments)
        return run(*command, cwd=self.home, environment=self.variables | variables)

    def installed(self) -> set[str]:
        """Return the names of the distributions in it."""
        code = "from importlib.metadata import distributions as d; print(*(x.name for x in d()))"
        return set(self.run("python", "-c", code).split())

    @contextmanager
    def server(self) -> Iterator[Visitor]:
        """Run `loopscope up` on a free port; yield somebody who opened its sign-in link."""
        log = self.home / "log"
        command = [str(self.folder / "bin" / "loopscope"), "up", "--port", "0"]
        with (
            log.open("wb") as output,
            subprocess.Popen(
                command, cwd=self.home, env=self.variables, stdout=output, stderr=output
            ) as process,
        ):
            try:
                yield Visitor(self._sign_in_link(process, log))
            finally:
                process.terminate()
                status = process.wait(LONGEST_S)
        assert status == 0, log.read_text()

    def _sign_in_link(self, process: subprocess.Popen[bytes], log: Path) -> str:
        def printed() -> re.Match[str] | None:
            assert process.poll() is None, log.read_text()
            return re.search(r"http://\S+/signin/\S+", log.read_text())

        return until(printed, log.read_text, longest_s=LONGEST_S)[0]


class Visitor:
    """Somebody with a browser's cookies, signed in by a one-time link."""

    def __init__(self, link: str) -> None:
        self.url = link.partition("/signin/")[0]
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        page = self.page(link)
        field = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert field, page
        form = urllib.parse.urlencode({"csrfmiddlewaretoken": field[1]}).encode()
        request = urllib.request.Request(link, form, {"Origin": self.url, "Referer": link})
        with self._opener.open(request) as answer:
            assert urllib.parse.urlsplit(answer.url).path.startswith("/p/default/"), answer.url

    def get(self, path: str) -> tuple[str, bytes]:
        """Return content type and body; HTTPError if the status is not 200."""
        with self._opener.open(urllib.parse.urljoin(self.url, path), timeout=LONGEST_S) as answer:
            return answer.headers["Content-Type"], answer.read()

    def page(self, path: str) -> str:
        return self.get(path)[1].decode()

    def sessions(self) -> list[dict[str, object]]:
        return json.loads(self.get("/api/v1/sessions")[1])["items"]
