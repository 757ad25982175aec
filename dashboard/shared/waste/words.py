"""Words of the rules that find waste. Pure."""

from __future__ import annotations

LABELS: dict[str, str] = {
    "same_call": "Same call, same result",
    "alternating": "Two calls in alternation",
    "same_error": "Same error again",
    "reread": "Unchanged file read again",
    "cut_output": "Output cut at its limit",
    "thrown_away": "Thrown away",
}
MEANINGS: dict[str, str] = {
    "same_call": "a call with arguments and a result that an earlier call already had",
    "alternating": "two calls, one after the other again and again, with the results they had before",
    "same_error": "a call that failed with the error that an earlier one already had",
    "reread": "a file read again that had not changed since",
    "cut_output": "an answer that ended at its length limit",
    "thrown_away": "a failed turn that was tried again, or a loop that was run again",
}
_COUNTED: dict[str, str] = {  # with the number of times
    "same_call": "same call {}",
    "alternating": "two calls in alternation {}",
    "same_error": "same error {}",
    "reread": "unchanged, read {}",
    "cut_output": "output cut at its limit {}",
    "thrown_away": "thrown away {}",
}
_REPEATS: dict[str, str] = {  # at a call, with the place of the first one
    "same_call": "same call as in {}, result unchanged",
    "alternating": "again as in {}, results unchanged",
    "same_error": "same error as in {}",
    "reread": "file unchanged since {}",
    "cut_output": "output cut at its limit",
    "thrown_away": "thrown away",
}


def label(rule: str) -> str:
    """Return the name of a rule; that of a later version is its own word."""
    return LABELS.get(rule, rule)


def counted(rule: str, times: int) -> str:
    """Return what happened how often: "same call 4 times"."""
    often = "once" if times == 1 else f"{times:,} times"
    return _COUNTED.get(rule, f"{rule} {{}}").format(often)


def repeated(rule: str, first: str) -> str:
    """Return the mark of one call; `first` is the place of the first one in words, or ""."""
    words = _REPEATS.get(rule, rule)
    return words.format(first or "an earlier turn")
