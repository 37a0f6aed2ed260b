"""The ledger: one SQLite file that makes reading and writing exact. `database` opens it, `schema` shapes it,
`ledger` keeps transcripts and turns, `report` answers what commands ask.
"""
