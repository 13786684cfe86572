// Package backends says what a store of dead letters is.
//
// It holds the nouns that every store shares (DeadLetter, Ref, Text) and the
// two contracts between the gate and a store: Store, which looks, sends and
// answers what became of a send, and Journal, the rein that a store wears
// while it sends. Package backendtest proves a store against them.
//
// Guarantee: a store that passes backendtest loses no letter, sends none
// without a durable intent, and never claims a send that it cannot prove.
//
// Limit: a Ref names one death of one message as well as the store can tell
// deaths apart. Where a store keeps neither a time of death nor a row version,
// two deaths with equal bytes look the same, and such a store is refused.
package backends
