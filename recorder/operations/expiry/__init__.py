"""How long each kind of data of a project is kept, and the deletion of sessions and notes that are older."""
