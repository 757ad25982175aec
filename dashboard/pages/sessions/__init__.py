"""The list of sessions, with filters, totals and the comparison of two to four sessions."""
