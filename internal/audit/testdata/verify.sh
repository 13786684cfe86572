#!/bin/sh
# Verifies an audit log with standard tools only.
#
#   sh verify.sh AUDIT_FOLDER [SEQ:HASH]...
#
# Each SEQ:HASH is a record noted earlier, somewhere that the writer of the
# folder cannot reach; the log must still contain it. Exit status: 0 the chain
# holds, 1 it does not (the first bad line is named), 2 wrong use.
set -eu
LC_ALL=C
export LC_ALL

[ $# -ge 1 ] && [ -d "$1" ] || { echo "usage: sh verify.sh AUDIT_FOLDER [SEQ:HASH]..." >&2; exit 2; }
dir=$1
shift

seq=0                                                   # the number due next
prev=0000000000000000000000000000000000000000000000000000000000000000
log=                                                    # the hash of record 0
time=
phase=
wanted=" $* "                                           # heads not met yet

bad() {
	echo "BAD $name line $number: $1 (record $seq was due)"
	exit 1
}

for file in "$dir"/[0-9]*.jsonl; do
	name=${file##*/}
	number=0
	[ -f "$file" ] && [ ! -L "$file" ] || bad "is not a file"
	[ "$name" = "$(printf '%012d.jsonl' "$seq")" ] || bad "a segment is missing, or one too many"
	[ "$seq" = 0 ] || [ "$phase" = rotate ] || bad "the segment before does not end with a rotate record"
	[ "$(tr -d '\n\040-\176' < "$file" | head -c 1 | wc -c)" -eq 0 ] || bad "holds bytes that no record has"
	[ ! -s "$file" ] || [ "$(tail -c 1 "$file" | wc -l)" -eq 1 ] || bad "the last line has no newline: cut short, or being written"
	first=$seq
	while IFS= read -r line; do
		number=$((number + 1))
		[ "${#line}" -lt 16384 ] || bad "the line is too long"
		[ "$seq" = "$first" ] || [ "$phase" != rotate ] || bad "it follows a rotate record"

		# The last 75 bytes are ,"hash":"<64 hex>"} and the hash covers the rest.
		hash=$(printf %s "$line" | tail -c 66 | head -c 64)
		body=${line%",\"hash\":\"$hash\"}"}
		[ "$body" != "$line" ] || bad "it does not end with a hash"
		sum=$(printf %s "$body" | sha256sum | cut -c 1-64)
		[ "$sum" = "$hash" ] || bad "its hash does not match its bytes"

		# What the line must begin with, given the record before.
		case $line in
		'{"v":1,"seq":'"$seq"',"prev":"'"$prev"'","ts":"'???????????????????????????'","log":"'"$log"'","op":"'*) ;;
		*) bad "its seq, prev or log does not follow the record before" ;;
		esac
		# No string holds a bare quote, so the first match is the key itself.
		now=${line#*'","ts":"'}
		now=${now%%'"'*}
		[ ! "$time" \> "$now" ] || bad "its time goes back"
		phase=${line#*'","phase":"'}
		phase=${phase%%'"'*}

		case $wanted in
		*" $seq:$hash "*) wanted="${wanted%%" $seq:$hash "*} ${wanted#*" $seq:$hash "}" ;;
		esac
		[ "$seq" -gt 0 ] || log=$hash
		time=$now
		prev=$hash
		seq=$((seq + 1))
	done < "$file"
done

name=end
number=0
[ "$seq" -gt 0 ] || bad "there is no record"
set -- $wanted
[ $# -eq 0 ] || bad "the log does not contain $*"
echo "OK log $log: $seq records, the last is $((seq - 1)):$prev"
