"""One module an event family: what each event changes."""
