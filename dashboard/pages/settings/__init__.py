"""Settings of one project: title, tokens, members, retention, demo data, versions."""
