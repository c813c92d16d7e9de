"""Language models behind one protocol, what they cost, and the ledger that keeps every answer."""
