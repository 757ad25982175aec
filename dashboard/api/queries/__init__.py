"""What the read API reads, each page in a fixed number of SQL queries."""
