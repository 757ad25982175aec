"""Lines of deleted sessions: removed from the journal, and kept from coming again."""
