"""Settings of one project: its title, who and what may enter, its demo data, what runs here."""
