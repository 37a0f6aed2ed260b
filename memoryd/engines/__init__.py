"""Engines: they turn memories and what the user said into what shall be changed. They commit nothing themselves."""
