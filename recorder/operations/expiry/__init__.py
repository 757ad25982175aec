"""The periods for which a project's data is kept, and the deletion of sessions and notes that are older."""
