"""Files of a session: what its tool calls read, edited and wrote, and the commands that they ran."""
