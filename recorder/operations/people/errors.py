"""The refusal of a change of access."""


class Refused(Exception):
    """The change is not made; the message says why, in words for who asked for it."""
