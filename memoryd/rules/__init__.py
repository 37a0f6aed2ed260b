"""Rules at the point of action: which memories speak of a tool call, which of them bind, and what came of them."""
