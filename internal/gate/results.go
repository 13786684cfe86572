package gate

// Results are what tools and commands print. Times are RFC 3339 in UTC, empty
// where unknown. Ids are strings. Text that came from a store stands only in
// the field named `text`, behind a notice and inside a fence.

// QueuesResult answers list_queues.
type QueuesResult struct {
	AsOf    string      `json:"as_of"`
	Stopped string      `json:"stopped,omitempty"` // why nothing is redriven now
	Queues  []QueueInfo `json:"queues"`
	Next    string      `json:"next"`
}

// QueueInfo is one queue of the policy.
type QueueInfo struct {
	Queue    string   `json:"queue"`
	Store    string   `json:"store"`              // postgres, sqlite …
	Letters  *int     `json:"letters,omitempty"`  // absent where the store does not answer
	AtLeast  bool     `json:"at_least,omitempty"` // there are more than `letters`
	Oldest   string   `json:"oldest,omitempty"`
	Newest   string   `json:"newest,omitempty"`
	Expires  string   `json:"first_expiry,omitempty"`
	Redrive  string   `json:"redrive"`          // direct, approval, never; "depends" where rules decide
	Rules    []string `json:"rules,omitempty"`  // detailed: each rule in a sentence
	Limits   string   `json:"limits,omitempty"` // of redrives without a person
	Most     int      `json:"max_messages"`     // letters in one request
	Patch    []string `json:"patch,omitempty"`  // paths that a patch may change
	Open     int      `json:"open_requests"`
	Pending  int      `json:"pending"`
	Unknown  int      `json:"unknown,omitempty"` // messages whose outcome a person must settle
	Last     string   `json:"last_outcome,omitempty"`
	TimeLeft string   `json:"time_left,omitempty"` // of the pending request that expires first
	Error    string   `json:"error,omitempty"`     // the store does not answer: our sentence
	Warnings []string `json:"warnings,omitempty"`
}

// Count is the number of letters, 0 where the store does not answer.
func (q QueueInfo) Count() int {
	if q.Letters == nil {
		return 0
	}
	return *q.Letters
}

// GroupResult answers group_dead_letters.
type GroupResult struct {
	Queue    string      `json:"queue"`
	AsOf     string      `json:"as_of"`
	Scanned  int         `json:"scanned"`
	Groups   []GroupInfo `json:"groups"`
	Others   int         `json:"other_groups,omitempty"`  // groups beyond the limit
	OtherSum int         `json:"other_letters,omitempty"` // letters in them
	Look     *LookInfo   `json:"look,omitempty"`
	Most     int         `json:"-"`    // letters in one request, for hints; list_queues tells agents
	Text     string      `json:"text"` // "[1] label" for each group
	Next     string      `json:"next"`
}

// GroupInfo is one error group.
type GroupInfo struct {
	N      int      `json:"n"` // its line in text
	Group  string   `json:"group"`
	Count  int      `json:"count"`
	Class  string   `json:"class"`
	Code   string   `json:"code,omitempty"` // the policy's code for the class
	First  string   `json:"first_seen,omitempty"`
	Last   string   `json:"last_seen,omitempty"`
	Sample []string `json:"sample_ids"`
	Policy string   `json:"policy"` // what the policy would say to the newest letter, in a sentence
}

// ListResult answers list_dead_letters.
type ListResult struct {
	Queue   string       `json:"queue"`
	AsOf    string       `json:"as_of"`
	Letters []LetterInfo `json:"letters"`
	Scanned int          `json:"scanned"`
	Cursor  string       `json:"next_cursor,omitempty"`
	Look    *LookInfo    `json:"look,omitempty"`
	Text    string       `json:"text"` // "[1] job: error" for each letter
	Next    string       `json:"next"`
}

// LetterInfo is one row of a list.
type LetterInfo struct {
	N        int    `json:"n"` // its line in text
	ID       string `json:"id"`
	Group    string `json:"group"`
	Class    string `json:"class"`
	Code     string `json:"code,omitempty"`
	Died     string `json:"died,omitempty"`
	Attempts string `json:"attempts,omitempty"` // "3 of 3"
	Size     int    `json:"payload_bytes,omitempty"`
	Replays  int    `json:"replays,omitempty"`
	Claimed  string `json:"claimed_by,omitempty"` // request id
}

// InspectResult answers inspect_dead_letter.
type InspectResult struct {
	Queue      string      `json:"queue"`
	ID         string      `json:"id"`
	Group      string      `json:"group"`
	Class      string      `json:"class"`
	Code       string      `json:"code,omitempty"`
	ReasonFrom string      `json:"reason_from"` // row, attribute, envelope, lookup, none
	Attempts   string      `json:"attempts,omitempty"`
	Enqueued   string      `json:"enqueued,omitempty"`
	LastTry    string      `json:"last_attempt,omitempty"`
	Died       string      `json:"died,omitempty"`
	Expires    string      `json:"expires,omitempty"`
	Payload    PayloadInfo `json:"payload"`
	Replays    int         `json:"replays"`
	Earlier    []Earlier   `json:"earlier_redrives,omitempty"`
	Claimed    string      `json:"claimed_by,omitempty"`
	Policy     PolicyInfo  `json:"policy"`
	Offset     int         `json:"offset"`
	NextOffset int         `json:"next_offset,omitempty"`
	Text       string      `json:"text"`
	Next       string      `json:"next"`
}

// PayloadInfo is about a payload, not the payload.
type PayloadInfo struct {
	Bytes       int    `json:"bytes"`
	ContentType string `json:"content_type"`
	Provenance  string `json:"provenance"` // as_received, as_stored
	Patchable   bool   `json:"patchable"`
	WhyNot      string `json:"why_not,omitempty"`
	Hidden      int    `json:"hidden_values,omitempty"`
	Withheld    string `json:"withheld,omitempty"` // why the body is not shown at all
}

// Earlier is one earlier redrive of the same message.
type Earlier struct {
	RequestID string `json:"request_id"`
	At        string `json:"at"`
	Outcome   string `json:"outcome"`
}

// PolicyInfo is what the policy says to a redrive of one letter.
type PolicyInfo struct {
	Unpatched string   `json:"unpatched"` // direct, approval, never
	Why       string   `json:"why"`
	Allowed   string   `json:"allowed,omitempty"` // what would be allowed instead
	Patched   string   `json:"patched"`           // the same letter, patched
	Paths     []string `json:"patch_paths,omitempty"`
}

// PatchResult answers propose_patch.
type PatchResult struct {
	PatchID  string    `json:"patch_id,omitempty"` // absent where it applies to none
	Queue    string    `json:"queue"`
	Applies  int       `json:"applies"`
	Same     int       `json:"no_change,omitempty"`
	Fails    int       `json:"does_not_apply,omitempty"`
	Why      []ItemWhy `json:"why,omitempty"`    // up to 10
	Schema   string    `json:"schema,omitempty"` // passes, "fails for N", absent where the policy has none
	Paths    []string  `json:"paths"`            // what differs
	Hidden   []string  `json:"hidden_paths,omitempty"`
	Expires  string    `json:"expires,omitempty"`
	Decision string    `json:"policy"` // what the policy would say to the patched letters
	Text     string    `json:"text"`   // the byte diff of the first letters
	Next     string    `json:"next"`
}

// ItemWhy is one letter and what stands against it, in our words.
type ItemWhy struct {
	ID      string `json:"id"`
	Why     string `json:"why"`
	Letters int    `json:"letters,omitempty"` // so many letters have the same; id is one of them
}

// RequestResult answers request_redrive and get_redrive for one request.
type RequestResult struct {
	// Status: dry_run, pending_approval, approved, running, done, partial,
	// halted, unknown, denied, expired, cancelled, void.
	Status    string         `json:"status"`
	RequestID string         `json:"request_id,omitempty"`
	Digest    string         `json:"digest,omitempty"`
	Queue     string         `json:"queue"`
	Messages  int            `json:"messages"`
	LeftOut   map[string]int `json:"left_out,omitempty"` // never, claimed, changed …
	Rule      string         `json:"rule,omitempty"`
	Why       string         `json:"why,omitempty"`
	Who       string         `json:"who,omitempty"` // "1 of oncall"
	Decided   string         `json:"decided,omitempty"`
	Sent      int            `json:"sent"`
	Skipped   int            `json:"skipped,omitempty"`
	Failed    int            `json:"failed,omitempty"`
	Unknown   int            `json:"unknown,omitempty"`
	Waiting   int            `json:"waiting,omitempty"`
	Released  int            `json:"released,omitempty"` // not sent, and free to be requested again
	WouldBe   string         `json:"would_be,omitempty"` // of a dry run: direct or approval
	Items     []ItemOutcome  `json:"items,omitempty"`    // concise: those not sent, up to 20
	Expires   string         `json:"expires,omitempty"`
	NotAfter  string         `json:"not_after,omitempty"`
	Effect    string         `json:"effect,omitempty"`   // what a redrive does in this store
	Returned  int            `json:"returned,omitempty"` // dead again since
	Next      string         `json:"next"`
}

// ItemOutcome is one message of a request.
type ItemOutcome struct {
	ID      string `json:"id"`
	Outcome string `json:"outcome"` // waiting, sent, skipped, failed, unknown
	Why     string `json:"why,omitempty"`
	NewID   string `json:"new_id,omitempty"`
}

// StatusResult answers get_redrive and cancel_redrive.
type StatusResult struct {
	Requests []RequestResult `json:"requests"`
	Next     string          `json:"next"`
}
