package gate

import (
	"strings"
	"time"
	"unicode/utf8"
)

// Bounds of arguments. A value outside is refused with a sentence, never bent.
const (
	MaxIDs          = 200    // ids in one call
	MaxIDLength     = 512    // bytes of one id
	MaxList         = 100    // letters on one page
	DefaultList     = 20     //
	MaxGroups       = 50     // groups in one answer
	DefaultGroups   = 10     //
	MaxShown        = 4000   // characters of store text in one inspect
	MaxReason       = 500    // characters of a reason, a note, a fix reference
	MaxPatchBytes   = 64_000 // bytes of one patch or replacement body
	MaxPayloadBytes = 16 << 20
)

// Filter narrows a listing. All that is set must hold. error_contains matches
// what the caller may see, after redaction.
type Filter struct {
	ErrorContains string `json:"error_contains,omitempty"`
	ErrorClass    string `json:"error_class,omitempty"` // permanent, transient, not_failed, unknown
	Job           string `json:"job,omitempty"`
	Since         string `json:"since,omitempty"` // RFC 3339, time of death, inclusive
	Until         string `json:"until,omitempty"` // RFC 3339, exclusive
	MinAttempts   int    `json:"min_attempts,omitempty"`
	Group         string `json:"group,omitempty"` // a group id of group_dead_letters
}

// Response formats.
const (
	Concise  = "concise"
	Detailed = "detailed"
)

// QueuesArgs are the arguments of list_queues.
type QueuesArgs struct {
	ResponseFormat string `json:"response_format,omitempty"`
}

// GroupArgs are the arguments of group_dead_letters.
type GroupArgs struct {
	Queue          string  `json:"queue"`
	AsOf           string  `json:"as_of,omitempty"`
	Filter         *Filter `json:"filter,omitempty"`
	Limit          int     `json:"limit,omitempty"`   // groups, 1 to MaxGroups
	Refresh        bool    `json:"refresh,omitempty"` // look at the queue anew, where looking costs
	ResponseFormat string  `json:"response_format,omitempty"`
}

// ListArgs are the arguments of list_dead_letters.
type ListArgs struct {
	Queue          string  `json:"queue"`
	AsOf           string  `json:"as_of,omitempty"`
	Filter         *Filter `json:"filter,omitempty"`
	Limit          int     `json:"limit,omitempty"` // letters, 1 to MaxList
	Cursor         string  `json:"cursor,omitempty"`
	Refresh        bool    `json:"refresh,omitempty"` // as in GroupArgs
	ResponseFormat string  `json:"response_format,omitempty"`
}

// InspectArgs are the arguments of inspect_dead_letter.
type InspectArgs struct {
	Queue          string `json:"queue"`
	ID             string `json:"id"`
	Offset         int    `json:"offset,omitempty"` // characters of the payload to pass over
	ResponseFormat string `json:"response_format,omitempty"`
	// Reveal shows a person what redaction hides, as the policy's redact.people
	// grants; it is audited. It is no argument of a tool.
	Reveal bool `json:"-"`
}

// PatchArgs are the arguments of propose_patch. Exactly one of ID, IDs and Group
// selects the letters; exactly one of Patch, MergePatch and ReplaceBody changes
// them.
type PatchArgs struct {
	Queue       string   `json:"queue"`
	ID          string   `json:"id,omitempty"`
	IDs         []string `json:"ids,omitempty"`
	Group       string   `json:"group,omitempty"`
	AsOf        string   `json:"as_of,omitempty"`
	MaxMessages int      `json:"max_messages,omitempty"`
	Patch       RawJSON  `json:"patch,omitempty"`       // RFC 6902
	MergePatch  RawJSON  `json:"merge_patch,omitempty"` // RFC 7396
	ReplaceBody *string  `json:"replace_body,omitempty"`
	Note        string   `json:"note,omitempty"`
	// ResponseFormat detailed shows the diff of up to five letters.
	ResponseFormat string `json:"response_format,omitempty"`
}

// RawJSON is one JSON value, byte for byte as the caller sent it.
type RawJSON []byte

// UnmarshalJSON keeps the bytes.
func (r *RawJSON) UnmarshalJSON(b []byte) error {
	*r = append((*r)[:0], b...)
	return nil
}

// MarshalJSON gives the bytes back.
func (r RawJSON) MarshalJSON() ([]byte, error) {
	if len(r) == 0 {
		return []byte("null"), nil
	}
	return r, nil
}

// Fix says what was mended and when, so that an approver can see whether
// failures stopped.
type Fix struct {
	Ref string `json:"ref"`
	At  string `json:"at,omitempty"` // RFC 3339
}

// RedriveArgs are the arguments of request_redrive. Exactly one of ID, IDs and
// Group selects the letters; a group needs MaxMessages and AsOf.
type RedriveArgs struct {
	Queue          string   `json:"queue"`
	ID             string   `json:"id,omitempty"`
	IDs            []string `json:"ids,omitempty"`
	Group          string   `json:"group,omitempty"`
	AsOf           string   `json:"as_of,omitempty"`
	MaxMessages    int      `json:"max_messages,omitempty"`
	PatchID        string   `json:"patch_id,omitempty"`
	Reason         string   `json:"reason"`
	Fix            *Fix     `json:"fix,omitempty"`
	DryRun         bool     `json:"dry_run,omitempty"`
	Replace        string   `json:"replace,omitempty"` // one's own pending request that this one supersedes
	IdempotencyKey string   `json:"idempotency_key,omitempty"`
}

// GetArgs are the arguments of get_redrive; without RequestID the open requests.
type GetArgs struct {
	RequestID      string `json:"request_id,omitempty"`
	ResponseFormat string `json:"response_format,omitempty"`
}

// CancelArgs are the arguments of cancel_redrive.
type CancelArgs struct {
	RequestID string `json:"request_id"`
	Reason    string `json:"reason,omitempty"`
}

// parseTime reads an RFC 3339 time argument; empty is the zero time.
func parseTime(name, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return t, refuse(CodeBadArgument, "`%s` must be a time such as 2026-12-01T03:00:00Z, got %s.", name, quote(s))
	}
	// The zero time of Go lies in the year 1 and would mean that none was given.
	if t = t.UTC(); t.Year() < 1970 || t.Year() > 9999 {
		return time.Time{}, refuse(CodeBadArgument, "`%s` must lie in the years 1970 to 9999, got %s.", name, quote(s))
	}
	return t, nil
}

// checkText reads a text of the caller's own words.
func checkText(name, s string, required bool) error {
	switch n := utf8.RuneCountInString(s); {
	case required && strings.TrimSpace(s) == "":
		return refuse(CodeBadArgument, "`%s` is missing; say in a sentence why.", name)
	case n > MaxReason:
		return refuse(CodeBadArgument, "`%s` has %d characters; at most %d are taken.", name, n, MaxReason)
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return refuse(CodeBadArgument, "`%s` must be valid UTF-8 without NUL.", name)
	}
	return nil
}

// checkName reads the id of a request or a patch, or a prefix of one. Nothing
// that could be a value of a letter passes.
func checkName(name, s string) error {
	ok := s == "" || len(s) <= 32 && (s[0] == 'r' || s[0] == 'p')
	for i := 0; ok && i < len(s); i++ {
		c := s[i]
		ok = c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z'
	}
	if !ok {
		return refuse(CodeBadArgument, "`%s` %s is not an id as this server gives it.", name, quote(s))
	}
	return nil
}
