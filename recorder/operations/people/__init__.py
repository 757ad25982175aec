"""Users, members and invites: changes of them by commands and pages, each with its audit entry."""
