"""Static files: collected when a source changed, so nothing has to be built by hand; served by WhiteNoise."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware
from whitenoise.responders import StaticFile
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # as below
    """WhiteNoise's storage, which also hashes the names that our scripts import from each other.

    Django's own `support_js_module_import_aggregation` reads every script, and stops at comments of htmx's.
    """

    patterns = (
        *CompressedManifestStaticFilesStorage.patterns,
        (
            "js/*.js",
            (
                (r"""(?P<matched>from "(?P<url>\./[^"]+)")""", 'from "%(url)s"'),
                (r"""(?P<matched>import\("(?P<url>\./[^"]+)"\))""", 'import("%(url)s")'),
            ),
        ),
    )


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]  # WhiteNoise ships no types
    """WhiteNoise, answering with bytes: our files are small, and Django warns of a file read under ASGI."""

    @staticmethod
    def serve(static_file: StaticFile, request: HttpRequest) -> HttpResponse:
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(found.status))
        del response.headers["Content-Type"]
        for name, value in found.headers:
            response.headers[name] = value
        return response


def collect() -> None:
    """Hash, compress and collect the static files, unless that was done for just these."""
    stamp = settings.STATIC_ROOT / ".collected"
    wanted = hashlib.sha256("\n".join(_sources()).encode()).hexdigest()
    if settings.DEBUG or (stamp.exists() and stamp.read_text() == wanted):
        return
    shutil.rmtree(settings.STATIC_ROOT, ignore_errors=True)  # what a crash left half written stops Django
    in_child("collectstatic", "--no-input")
    stamp.write_text(wanted)


def in_child(*command: str) -> None:
    """Run a command of a first start in a process of its own: here it would leave 20 MB behind for good."""
    asked = [sys.executable, "-m", "django", *command, "--verbosity", "0"]
    subprocess.run(asked, cwd=settings.BASE, check=True)  # noqa: S603  our own words


def _sources() -> Iterator[str]:
    """Name every source file with its size and time."""
    for finder in get_finders():
        for name, storage in finder.list(["CVS", ".*", "*~"]):
            yield f"{name} {storage.size(name)} {storage.get_modified_time(name).timestamp()}"
