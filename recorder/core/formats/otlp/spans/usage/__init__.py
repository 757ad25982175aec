"""Tokens and costs that senders report, under the names and in the forms of all conventions."""
