"""Security: secrets and invisible characters, found and taken out."""
