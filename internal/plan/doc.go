// Package plan is what exactly would happen, frozen before anybody says yes.
//
// Guarantee: a plan is bytes, stored once, and its digest is the SHA-256 of
// those bytes. Decode accepts exactly what Encode wrote. Each message is bound
// by commitments to what it is now and to what would be sent; whoever holds the
// salts can prove them, and nobody can guess a short payload from them.
//
// Limit: a plan binds bytes of messages, not their meaning to a consumer, and
// it says nothing about whether somebody allowed it.
package plan
