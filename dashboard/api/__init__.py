"""The read API: recorded data as JSON. `docs/reference/read-api.md` defines each field."""
