"""The attention page: open approvals, failed and finished sessions, and the live lifecycle feed."""
