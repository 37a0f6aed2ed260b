"""The state database: one SQLite file that makes reading and writing exact.

`database` opens it, `schema` has its tables, the others are named by what they keep; `queries` answers what `status` and
`doctor` ask.
"""
