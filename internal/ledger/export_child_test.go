package ledger

func childWrites(dir, name string) int { return 0 }
