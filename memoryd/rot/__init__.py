"""Rot: names in memories that the repository no longer has. Found without a model, and only reported.

`claims` says what a memory takes for granted (`naming`, `commands`, `disclaimers` help it), `git`, `history`, `tree` and
`definers` look at the repository, `check` compares.
"""
