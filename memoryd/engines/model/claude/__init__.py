"""The user's own `claude` command as a transport: one process for each conversation, with our tools and nothing of the user's.

`command` finds the program and says how it is started; `process` starts it below a `guard`, which ends it when the job dies;
`stream` reads what it prints; `conversation` answers its calls over MCP; `endpoint` is what the budget sends requests to;
`trouble` says what its errors mean; `turn_lock` lets one job at a time use it.
"""
