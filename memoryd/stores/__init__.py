"""Stores: what one's own machines and a team share memories through; `base.py` says what is asked of one."""
