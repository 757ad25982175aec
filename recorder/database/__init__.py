"""Plain SQL, row mapping and the error taxonomy."""
