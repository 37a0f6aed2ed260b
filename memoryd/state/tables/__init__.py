"""Tables of the state database, a module for each part."""
