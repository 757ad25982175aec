"""The reads of the session page: primary keys in, what a partial shows out, a fixed number of SQL queries."""
