"""Members of one project and invites to it."""
