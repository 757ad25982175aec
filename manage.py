#!/usr/bin/env python
"""The command line: `python manage.py help` lists what there is."""

import gc
import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    # What a start imports stays: an eighth of its time went into looking for garbage there.
    gc.set_threshold(100_000, 20, 50)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    execute_from_command_line(sys.argv)
