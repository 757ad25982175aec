"""The audit log as admins of a project read it: on its page, in its files and through the API."""
