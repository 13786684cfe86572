// Package rawjson treats JSON as bytes: it finds, compares, masks and edits
// values inside a document without decoding the document.
//
// Guarantee: what an operation does not name stays byte for byte, so digits,
// key order, white space and escapes survive. Only strict JSON is worked on:
// RFC 8259, valid UTF-8, one value, no name twice in an object (however it is
// escaped), at most [MaxDepth] levels. Everything else is refused, because two
// readers may understand it differently. Errors never contain text of a
// document, which is somebody else's and may be hostile.
//
// Limit: a document is held in memory whole, with up to 24 bytes of index for
// each value in it. Callers bound the size. Slices that are returned may share
// memory with the document they came from.
package rawjson
