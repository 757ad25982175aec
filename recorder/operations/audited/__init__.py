"""Changes that several endpoints make, each in one transaction with its entry in the audit log."""
