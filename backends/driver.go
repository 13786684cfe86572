package backends

import "context"

// Driver is one kind of store, as `type:` names it in a policy. The policy
// decodes its sections strictly into the structs that NewBackend and NewSource
// return, by their yaml tags; a `doc` tag describes a key in the JSON Schema.
type Driver struct {
	Kind       string
	NewBackend func() any // the keys of `backends.NAME` beside `type`
	NewSource  func() any // the keys of `queues.NAME.source` beside `backend`
	// Check finds what is wrong without connecting. Its *ConfigErrors name the
	// key at fault.
	Check func(Config) error
	// Open prepares a store. It does not connect: the first use does.
	Open func(Config) (Store, error)
}

// Config is one backend of a policy with the queues that use it.
type Config struct {
	Name    string         // the backend's name in the policy
	Backend any            // what NewBackend returned, filled
	Sources map[string]any // queue name in the policy -> what NewSource returned, filled
	// Env looks up a variable that the policy names. Stores read no other
	// variable: ambient PG* settings would lead to another database.
	Env func(name string) (string, bool)
	// Folder is the folder of the policy file, for relative file names.
	Folder string
	// Snapshots opens what keeps letters as they were seen, for a Looker. It is
	// called when they are first needed and not by Open or Check, and is nil where
	// there is no state folder. Who opened it does not close it; the store's Close
	// has ended its looks.
	Snapshots func(context.Context) (Snapshots, error)
}

// ConfigError is a fault in one key of a backend or a source.
type ConfigError struct {
	Queue string // empty: the fault is in the backend's own section
	Key   string // dotted path of the key, as in "redrive.set"
	Why   string
	Hint  string
}

func (e *ConfigError) Error() string { return e.Key + ": " + e.Why }
