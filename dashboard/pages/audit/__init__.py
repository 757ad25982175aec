"""The audit log of a project: who did what. For its admins."""
