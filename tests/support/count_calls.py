"""Counts function calls and lines of code as measures of work that do not depend on the machine."""

import sys


def count_calls(function, *args):
    """Return the number of Python and C functions that `function(*args)` calls."""
    calls = 0

    def count(_frame, event, _arg):
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        function(*args)
    finally:
        sys.setprofile(before)
    return calls


def count_lines(function, *args):
    """Return how many lines of Python `function(*args)` runs."""
    number = 0

    def count(_frame, event, _arg):
        nonlocal number
        number += event == "line"
        return count

    before = sys.gettrace()
    sys.settrace(count)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return number
