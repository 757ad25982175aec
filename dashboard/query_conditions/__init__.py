"""What a query means for each kind of record: database conditions, spending, and the box that reads it."""
