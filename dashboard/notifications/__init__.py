"""Browser notifications of lifecycle events, with switches per user."""
