"""Event handlers: one module a family of events. A handler reports the records that it changes."""
