#!/bin/sh
# Recomputes the commits of a plan from the salts and bodies that were kept.
#
#   sh commits.sh PLAN
#
# Run it in a bundle or in a copy of the state folder; PLAN is the plan's
# SHA-256. Exit status: 0 the commits are the plan's, 1 they are not, 2 wrong use.
set -eu
LC_ALL=C
export LC_ALL

plan=objects/${1:-}
kept=erasable/${1:-}
[ $# -eq 1 ] && [ -f "$plan" ] || { echo "usage: sh commits.sh PLAN" >&2; exit 2; }
[ -f "$kept" ] || { echo "there is no $kept: it was erased or left out" >&2; exit 2; }

bad() {
	echo "BAD $1"
	exit 1
}

# The value of a key in a line of JSON, where it is a string. No string holds a
# bare quote, so what matches is the key itself.
value() {
	printf '%s\n' "$2" | sed -n 's/.*"'"$1"'":"\([^"]*\)".*/\1/p'
}

# The bytes that hex digits stand for.
bytes() {
	printf "$(printf '%s\n' "$1" | awk '{
		h = "0123456789abcdef"
		for (i = 1; i < length($0); i += 2)
			printf "\\%03o", 16 * (index(h, substr($0, i, 1)) - 1) + index(h, substr($0, i + 1, 1)) - 1
	}')"
}

sum() {
	sha256sum | cut -c 1-64
}

# 64 lower-case hex digits.
digest() {
	case $1 in *[!0-9a-f]*) return 1 ;; esac
	[ ${#1} -eq 64 ]
}

[ "$(sum < "$plan")" = "$1" ] || bad "$plan has other bytes"
items=$(awk '{ gsub(/[{]"n":/, "\n&"); print }' "$plan" | grep '^{"n":')
n=0
while read -r line; do
	item=$(printf '%s\n' "$items" | grep "^{\"n\":$n,") || bad "the plan has no item $n"
	case $line in "{\"n\":$n,"*) ;; *) bad "line $((n + 1)) of $kept is not about item $n" ;; esac

	salt=$(value salt "$line")
	envelope=$(value envelope_sha256 "$line")
	digest "$salt" && digest "$envelope" || bad "item $n has no salt or no envelope"
	[ "$({ bytes "$salt"; bytes "$envelope"; } | sum)" = "$(value before "$item")" ] || bad "item $n: before"

	after=$(value after "$item")
	body=$(value body "$line")
	[ -n "$after" ] || [ -z "$body" ] || bad "item $n has a body that the plan does not know"
	if [ -n "$after" ]; then
		body=$(printf '%s' "$body" | base64 -d | sum)
		[ "$({ bytes "$salt"; bytes "$envelope"; bytes "$body"; } | sum)" = "$after" ] || bad "item $n: after"
	fi
	n=$((n + 1))
done < "$kept"
[ "$n" -eq "$(printf '%s\n' "$items" | wc -l)" ] || bad "$kept ends before the plan does"
echo "OK plan $1: $n items"
