#!/bin/sh
# Verifies an audit log with standard tools only.
#
#   sh verify.sh AUDIT_FOLDER [SEQ:HASH]...
#
# Each SEQ:HASH is a record noted earlier, somewhere that the writer of the
# folder cannot reach; the log must still contain it. Exit status: 0 the chain
# holds, 1 it does not, 2 wrong use.
set -eu
LC_ALL=C
export LC_ALL

[ $# -ge 1 ] && [ -d "$1" ] || { echo "usage: sh verify.sh AUDIT_FOLDER [SEQ:HASH]..." >&2; exit 2; }
case $1 in
/*) dir=$1 ;;
*) dir=./$1 ;;
esac
shift
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for file in "$dir"/[0-9]*.jsonl; do
	[ -f "$file" ] && [ ! -L "$file" ] || { echo "BAD $file: not a file"; exit 1; }
	[ "$(tr -d '\n\040-\176' < "$file" | head -c 1 | wc -c)" -eq 0 ] || { echo "BAD $file: holds bytes that no record has"; exit 1; }
	[ ! -s "$file" ] || [ "$(tail -c 1 "$file" | wc -l)" -eq 1 ] || { echo "BAD $file: the last line has no newline"; exit 1; }
done

# The chain: what each line must begin and end with, given the one before. The
# part that its hash covers goes to a file, for sha256sum.
awk -v tmp="$tmp" -v heads="$*" '
function bad(why) {
	print "BAD " FILENAME " line " FNR ": " why " (record " seq " was due)"
	failed = 1
	exit 1
}
BEGIN {
	seq = 0
	prev = sprintf("%064d", 0)
	n = split(heads, head, " ")
	for (i = 1; i <= n; i++) wanted[head[i]] = 1
}
FNR == 1 {
	name = FILENAME
	sub(/.*\//, "", name)
	if (name != sprintf("%012d.jsonl", seq)) bad("a segment is missing, or one too many")
	if (seq > 0 && phase != "rotate") bad("the segment before does not end with a rotate record")
}
FNR > 1 && phase == "rotate" { bad("it follows a rotate record") }
length($0) >= 16384 { bad("the line is too long") }
{
	hash = substr($0, length($0) - 65, 64)
	if (substr($0, length($0) - 74) != ",\"hash\":\"" hash "\"}") bad("it does not end with a hash")
	body = substr($0, 1, length($0) - 75)

	start = "{\"v\":1,\"seq\":" seq ",\"prev\":\"" prev "\",\"ts\":\""
	if (substr(body, 1, length(start)) != start) bad("its seq or prev does not follow the record before")
	rest = substr(body, length(start) + 1)
	now = substr(rest, 1, 27)
	if (now < time) bad("its time goes back")
	middle = "\",\"log\":\"" id "\",\"op\":\""
	if (substr(rest, 28, length(middle)) != middle) bad("it is of another log")

	# No string holds a bare quote, so the first match is the key itself.
	phase = substr(rest, index(rest, "\",\"phase\":\"") + 11)
	sub(/".*/, "", phase)

	printf "%s", body > (tmp "/record-" seq)
	close(tmp "/record-" seq)
	print hash "  record-" seq > (tmp "/sums")
	delete wanted[seq ":" hash]
	if (seq == 0) id = hash
	time = now
	prev = hash
	seq++
}
END {
	if (failed) exit 1
	for (missing in wanted) {
		print "BAD the log does not contain " missing
		exit 1
	}
	if (seq == 0) {
		print "BAD there is no record"
		exit 1
	}
	print "OK log " id ": " seq " records, the last is " seq - 1 ":" prev > (tmp "/result")
}' "$dir"/[0-9]*.jsonl

# The hashes.
(cd "$tmp" && sha256sum -c sums > checked 2> /dev/null) || {
	echo "BAD $(grep -v ': OK$' "$tmp/checked" | head -n 1): its hash does not match its bytes"
	exit 1
}
cat "$tmp/result"
