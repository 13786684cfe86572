// Package audit writes, reads and verifies the log of what was asked, decided
// and done: JSON lines in which every record carries the SHA-256 of its own
// bytes and of the record before it.
//
// It guarantees that a record is on disk before Append returns; that records of
// several processes form one gapless chain; that a changed, missing, moved,
// doubled or foreign record is found by Verify, and by sha256sum alone; and
// that no line holds a byte that a terminal would obey.
//
// Its limit: who may write the folder may compute the whole chain anew, or cut
// its end off. What is proved reaches as far as the newest (seq, hash) that was
// kept where that writer cannot reach it. The state folder must be on a local
// filesystem that does not show unwritten blocks inside a file after a power
// loss (ext4 and XFS with their defaults, APFS).
//
// # Format
//
// A record is one JSON object on one line of at most 16 KiB, printable ASCII
// only, its keys in the order of the fields of Record. It ends with
//
//	,"hash":"<64 hex>"}
//
// and a newline. hash is the SHA-256 of the line without its newline and
// without its last 75 bytes; prev is the hash of the record before, 64 zeros in
// the first; seq counts from 0 without a gap; log is the hash of record 0, and
// empty in record 0 itself, which holds a random nonce. ts is RFC 3339 in UTC
// with six decimals and never goes back. A key whose value is empty is left
// out, except v, seq, prev, ts, log, op, phase and hash.
//
// Segments are audit/<seq of their first record, 12 digits>.jsonl. The last
// record of a segment that has a successor is a rotate record.
package audit
