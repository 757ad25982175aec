"""The errors of writing notes, each with a message for the person or program that wrote."""


class Refused(Exception):
    """An entry that breaks a rule; nothing was written. `code` names the rule in answers of the API."""

    def __init__(self, message: str, code: str = "bad_note") -> None:
        super().__init__(message)
        self.code = code


class NoTarget(Exception):
    """The session, loop, turn, event or evaluation does not exist in the project."""


class NotAllowed(Exception):
    """The author may see the entry but not change it."""
