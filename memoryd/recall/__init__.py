"""Handing memories back: which ones help with a prompt, and what a client is shown of them.

`terms` and `concepts` make search terms of text, `weights` says what they weigh, `store` keeps which memory has which,
`catalogue` keeps that true, `rank` finds, `choose` judges, `surface` words what is shown, `sessions` remembers to whom and
`use` whether it helped. `context` is for clients without a memory of their own.
"""
