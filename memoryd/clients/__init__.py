"""What belongs to a client and is not its transcripts: instruction files, later its hooks and settings."""
