"""Numbers in addresses."""


def whole_number(text: str) -> int | None:
    """Return a number that may be a key, None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 19 else None
