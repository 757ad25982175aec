"""Authentication, access and the content security policy."""
