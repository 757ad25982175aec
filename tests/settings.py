"""Settings of the tests: the real ones, with a temporary data folder."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from secrets import token_hex

MEMORY = Path("/dev/shm")  # a file system in memory, where no commit waits for a disk
ROOM = 2 * 2**30

# The process that starts the workers makes both, and they inherit them: a word that no other run has, for
# names outside of its folder, and the folder of all its files, which it removes at the end.
RUN = os.environ.setdefault("LOOPSCOPE_TESTS_RUN", token_hex(4))
if not (shared := os.environ.get("LOOPSCOPE_TESTS_SHARED")):
    has_room = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM
    shared = tempfile.mkdtemp(prefix="loopscope-tests-", dir=MEMORY if has_room else None)
    os.environ["LOOPSCOPE_TESTS_SHARED"] = shared
    atexit.register(shutil.rmtree, shared, ignore_errors=True)
# Only now is the folder known: the settings read it when they are imported.
FOLDER = tempfile.mkdtemp(prefix="data-", dir=shared)
os.environ["LOOPSCOPE_DATA"] = FOLDER

from dashboard.settings import *  # noqa: E402, F403
from dashboard.settings import CHANNEL_LAYERS, DATABASES, REDIS_URL, STATIC_ROOT, STORAGES  # noqa: E402

if "sqlite" in DATABASES["default"]["ENGINE"]:
    # A file, as in real life: in memory, a second thread would not wait for a lock but fail.
    DATABASES["default"]["TEST"] = {"NAME": f"{FOLDER}/test.sqlite3"}
else:
    DATABASES["default"]["TEST"] = {"NAME": f"test_loopscope_{RUN}"}
    # This database is dropped at the end; the servers of the tests of faults have databases of their own.
    DATABASES["default"]["OPTIONS"]["options"] = "-c synchronous_commit=off"
if REDIS_URL:
    REDIS_PREFIX = f"loopscope-tests-{RUN}-{os.getpid()}"
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
