"""How good memoryd is at its work, measured from outside: labelled sessions, the real command, a scorer."""
