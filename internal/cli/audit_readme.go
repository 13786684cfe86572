package cli

import (
	"bytes"
	"fmt"
)

// readme tells the auditor what is in the bundle, how to check it without this
// program, and what that proves.
func (b *bundle) readme() []byte {
	var out bytes.Buffer
	fmt.Fprintf(&out, `Bundle about plan %[1]s

What is in it
  records.jsonl    every record of the audit log about this plan (%[2]d), as it stands in the log
  objects/         the bytes that these records name by their SHA-256: the plan itself
                   (objects/%[1]s), statements, policies
                   and their files
  erasable/        %[3]s
  commits.sh       recomputes the plan's commits from it
  segments.sha256  the hashes of the log's files when this bundle was made
  SHA256SUMS       the hashes of all files here

How to check it
  The files are those that were bundled:
    sha256sum -c SHA256SUMS
  The plan's bytes are those that were approved and run (both print the same digest):
    sha256sum objects/%[1]s
  The messages are those of the plan. An item of the plan commits to the message that was
  seen, and where another body is sent instead, to that too (raw bytes, one after the other):
    before = SHA-256(salt, envelope_sha256)
    after  = SHA-256(salt, envelope_sha256, SHA-256(body))
    sh commits.sh %[1]s
  A record's "policy" is the SHA-256 of a list of files, and the list the SHA-256 of each:
    cat objects/DIGEST                prints "name sha256" for each file, objects/<sha256>
  A record is what was written (prints the record's own "hash"; here for the first line):
    head -n 1 records.jsonl | tr -d '\n' | head -c -75 | sha256sum
  The records stand in the log: in a copy of the state folder,
    sha256sum -c segments.sha256      the files of the log are still those of that time
    grep -F -x -c -f records.jsonl audit/*.jsonl      counts %[2]d records in all
    redrive-mcp audit verify --state .                the chain has no gap and no change
  A log that went on since has a longer last file; the ones before it are unchanged.

What it proves
  That these bytes were planned, approved and reported as the records say, if the log is
  complete and whoever could write it did not make it up anew. That reaches as far as a
  head or checkpoint that was kept where the log's writer could not change it; without
  one the log is unanchored.
  It does not prove who a person was beyond the "proof" that a record names, nor that a
  consumer did what it was sent.
`, b.plan, b.count, b.contentNote())
	return out.Bytes()
}

// contentNote says what of the content is in the bundle.
func (b *bundle) contentNote() string {
	if !b.content {
		return "nothing: salts and bodies were erased or left out, so that the commits prove nothing"
	}
	return "a file named after the plan, a line of JSON for each item: salt and envelope_sha256 in\n" +
		"                   hex, and in base64 the body, where another one than the stored is sent"
}
