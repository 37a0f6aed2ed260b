"""Setting memoryd up for a user, and taking it back: what is changed, its record, and the way back without memoryd itself."""
