package cli

// splitIDs splits ids at commas. One that is a JSON array, as the id of a row
// with a key of several columns is, keeps its commas, whatever stands between
// its quotes. Where brackets or quotes do not close, the gate refuses the id.
func splitIDs(list string) (ids []string) {
	if list == "" {
		return nil
	}
	start, depth, quoted := 0, 0, false
	for i := 0; i < len(list); i++ {
		switch c := list[i]; {
		case quoted && c == '\\':
			i++ // what is escaped ends nothing
		case c == '"' && depth > 0:
			quoted = !quoted
		case quoted:
		case c == '[' && (depth > 0 || i == start):
			depth++
		case c == ']' && depth > 0:
			depth--
		case c == ',' && depth == 0:
			ids = append(ids, list[start:i])
			start = i + 1
		}
	}
	return append(ids, list[start:])
}
