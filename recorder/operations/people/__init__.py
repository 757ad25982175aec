"""Users, members and invites: the only code that changes them, each change with its audit entry."""
