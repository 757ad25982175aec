"""Lines that several transcripts of a project hold: each is recorded in one session."""
