"""Words for what changed in the requests whose cache was missed. Pure."""

_PLACES = {"system_changed": " in it", "tools_changed": " in a definition", "history_edited": " in a message"}
_TEXTS = {"time": "a time", "id": "an id", "number": "a number", "text": "other text"}
_CHANGES = {
    "added": {"tools_changed": "a tool added", "": "added"},
    "removed": {"tools_changed": "a tool removed", "history_edited": "messages removed", "": "removed"},
    "moved": {"": "tools in another order"},
    "described": {"": "a tool described in other words"},
    "compaction": {"": "a compaction"},
    "prune": {"": "messages pruned"},
}


def change_words(verdict: str, change: str) -> str:
    """Return what changed in the requests of a cause: "a time in it"; "" if that is unknown."""
    if change in _TEXTS:
        return _TEXTS[change] + _PLACES.get(verdict, "")
    words = _CHANGES.get(change, {"": ""})
    return words.get(verdict, words[""])
