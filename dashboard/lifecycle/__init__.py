"""The lifecycle stream: turns that start and end and approvals requested, over all projects. Live only.

Event types and reasons are those of Grida's contract.
"""
