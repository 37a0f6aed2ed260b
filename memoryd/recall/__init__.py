"""Handing memories back: which ones help with a prompt, and what a client is shown of them.

`terms` makes search terms of text, `store` keeps which memory has which, `rank` weighs them, `choose` decides or stays
silent, `surface` words what is shown. `claims` and `rot` tell what the code has left behind, `context` what a client
without a memory of its own would load.
"""
