"""Rot: what a memory names and the repository no longer has. Told without a model, and only told.

`claims` says what a memory takes for granted (`naming`, `commands`, `disclaimers` help it), `git`, `history`, `tree` and
`definers` look at the repository, `check` compares.
"""
