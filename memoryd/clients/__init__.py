"""Clients: a folder each behind the contract in `base`; `registry` lists them, `hook` answers their hooks."""
