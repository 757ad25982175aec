"""The integrity page: rejected lines, orphan events and inconsistencies."""
