package policy

// Effect is what may be done with a message.
type Effect string

// The effects, strictest first. Everything else counts as Never.
const (
	Never          Effect = "never"    // not by a redrive, whoever asks
	EffectApproval Effect = "approval" // when a person has approved the exact plan
	Direct         Effect = "direct"   // at once, within limits
)

// Stricter is the stricter of two effects.
func Stricter(a, b Effect) Effect {
	if a.rank() <= b.rank() {
		return a.known()
	}
	return b.known()
}

func (e Effect) rank() int {
	switch e {
	case Direct:
		return 2
	case EffectApproval:
		return 1
	}
	return 0
}

func (e Effect) known() Effect {
	if e.rank() == 0 {
		return Never
	}
	return e
}
