"""The pages Calls of a project, with its tool calls, and Turns of a session, with its model calls."""
