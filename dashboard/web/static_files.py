"""Static files: collected at start if a source changed, without a build step; served by WhiteNoise."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from django.conf import settings
from django.contrib.staticfiles.finders import AppDirectoriesFinder, get_finders
from django.core.files.base import ContentFile, File
from django.core.files.storage import FileSystemStorage
from django.http import HttpRequest, HttpResponse
from rjsmin import jsmin
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage

# `{% htmx_script version=2 %}` of the templates names some of these.
OF_PACKAGES = "django_htmx/*-2*.min.js"


class FilesOfPackages(AppDirectoriesFinder):
    """Django's finder of the files of installed packages, of which only those are listed that pages may load.

    The others are twice as large as ours: compressing them took a third of the time of a first start.
    """

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        yield from (found for found in super().list(ignore_patterns) if fnmatchcase(found[0], OF_PACKAGES))


class HashedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # as below
    """WhiteNoise's storage, which also minifies the scripts in js/ and hashes the names of their imports.

    Every import is hashed: a module that is loaded by both of its names would run twice on a page.
    Django's own `support_js_module_import_aggregation` parses every script, and fails on comments in htmx.
    """

    keep_only_hashed_files = True  # no page names the others
    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        (
            "js/*.js",
            (
                (r"""(?P<matched>from ?"(?P<url>\.{1,2}/[^"]+)")""", 'from "%(url)s"'),
                (r"""(?P<matched>import\("(?P<url>\.{1,2}/[^"]+)"\))""", 'import("%(url)s")'),
            ),
        ),
    )

    def _save(self, name: str, content: File[bytes]) -> str:
        if name.startswith("js/"):
            content.seek(0)
            content = ContentFile(jsmin(content.read()))
        return str(super()._save(name, content))


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise ships no types
    """WhiteNoise that responds with bytes: files are small, and Django warns of synchronous files in ASGI."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        static = static_file.get_response(request.method, request.META)
        body = b""
        if static.file is not None:
            with static.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(static.status))
        del response.headers["Content-Type"]
        for name, value in static.headers:
            response.headers[name] = value
        return response


def collect() -> None:
    """Hash, compress and collect the static files, unless the sources are unchanged since the last time."""
    stamp = settings.STATIC_ROOT / ".collected"
    digest = hashlib.sha256("\n".join(_sources()).encode()).hexdigest()
    if settings.DEBUG or (stamp.exists() and stamp.read_text() == digest):
        return
    # A crash may have left incomplete files, which stop Django.
    shutil.rmtree(settings.STATIC_ROOT, ignore_errors=True)
    in_child("collectstatic", "--no-input")
    stamp.write_text(digest)


def in_child(*command: str) -> None:
    """Run a management command in a child process: in this one it would leave 20 MB of memory in use."""
    arguments = [sys.executable, "-m", "django", *command, "--verbosity", "0"]
    subprocess.run(arguments, cwd=settings.BASE, check=True)  # noqa: S603  constant commands


def _sources() -> Iterator[str]:
    """Yield the name, size and modification time of every source file."""
    for finder in get_finders():
        for name, storage in finder.list(["CVS", ".*", "*~"]):
            yield f"{name} {storage.size(name)} {storage.get_modified_time(name).timestamp()}"
