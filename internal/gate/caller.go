package gate

// Kinds of callers.
const (
	KindAgent  = "agent"
	KindPerson = "person"
)

// Caller is who asks, as far as it is known. Nothing of it is authenticated in
// guardrail mode; it is recorded as declared.
type Caller struct {
	Kind      string // KindAgent or KindPerson
	Principal string // whom an agent acts for (serve --principal); a person's name
	OSUser    string
	Host      string
	Client    string // the MCP client's name and version, as it declares them
	Session   string // one connection of one client
}

// Name is the caller as records and statements show it: "agent claude-code 2.1
// for luis", "person ana".
func (c Caller) Name() string {
	if c.Kind == KindPerson {
		return "person " + c.Principal
	}
	name := "agent"
	if c.Client != "" {
		name += " " + c.Client
	}
	if c.Principal != "" {
		name += " for " + c.Principal
	}
	return name
}
