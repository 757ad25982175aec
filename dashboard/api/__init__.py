"""The read API: what was recorded, as JSON, for programs. `docs/api.md` says what each field means."""
