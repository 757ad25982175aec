"""Settings of the tests: the real ones, with a temporary data folder."""

import atexit
import os
import shutil
import tempfile
from zlib import crc32

# Only now is the folder known: the settings read it when they are imported.
FOLDER = tempfile.mkdtemp(prefix="loopscope-tests-")
atexit.register(shutil.rmtree, FOLDER, ignore_errors=True)
os.environ["LOOPSCOPE_DATA"] = FOLDER
os.environ.setdefault("LOOPSCOPE_TESTS_SHARED", FOLDER)  # a worker inherits that of its parent process

from dashboard.settings import *  # noqa: E402, F403
from dashboard.settings import BASE, CHANNEL_LAYERS, DATABASES, REDIS_URL, STATIC_ROOT, STORAGES  # noqa: E402

if "sqlite" in DATABASES["default"]["ENGINE"]:
    # A file, as in real life: in memory, a second thread would not wait for a lock but fail.
    DATABASES["default"]["TEST"] = {"NAME": f"{FOLDER}/test.sqlite3"}
else:
    # One for each checkout: two of them may be tested at once on one server.
    DATABASES["default"]["TEST"] = {"NAME": f"test_loopscope_{crc32(bytes(BASE)):08x}"}
    # This database is dropped at the end; the servers of the tests of faults have databases of their own.
    DATABASES["default"]["OPTIONS"]["options"] = "-c synchronous_commit=off"
if REDIS_URL:
    REDIS_PREFIX = f"loopscope-tests-{os.getpid()}"
    CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = REDIS_PREFIX

STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
STATIC_ROOT.mkdir()
WHITENOISE_USE_FINDERS = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]

# The writer of a test neither indexes nor makes the ledger nor looks for waste: the tests of these say when.
LOOPSCOPE_SEARCH = False
LOOPSCOPE_LEDGER = False
LOOPSCOPE_WASTE = False

# Recorded streams have fixed times, of which the latest are months ago; tests of staleness set the limits.
LOOPSCOPE_STALE_S = LOOPSCOPE_STALE_WAITING_S = 0
