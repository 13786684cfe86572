#!/usr/bin/env bash
# Everything that must hold before a change is merged, in one command:
#
#   ./testdata/test.sh                       all checks and all tests
#   ./testdata/test.sh -run Patch ./policy   arguments go to "go test" instead of ./...
#
# It needs Go. What else the tests need, a C compiler for the race detector,
# PostgreSQL, PgBouncer and npm, it installs as root on Debian and Ubuntu and
# otherwise asks for; two servers of SQS it takes from npm. The servers are private,
# live in a temporary folder and are gone afterwards. To use other throw-away
# servers, set the three variables of PostgreSQL to a superuser's DSN, a URL, each,
# or the two of SQS to an endpoint each:
#
#   REDRIVE_TEST_POSTGRES     a server
#   REDRIVE_TEST_PG_REPLICA   a streaming replica of it
#   REDRIVE_TEST_PGBOUNCER    a PgBouncer in front of it, with pool_mode=transaction,
#                             default_pool_size=2 and an auth_query, which finds
#                             the roles that tests make
#
#   REDRIVE_TEST_SQS_LOCAL    local-aws-sqs with its account 123456789012 and without
#                             emulateQueueCreationLifecycle
#   REDRIVE_TEST_SQS_FAUX     fauxqs
#
# Tests of SQS also ask AWS itself, in queues that they make and delete, if
# REDRIVE_TEST_SQS_AWS names a region. Only then do the caller's variables AWS_*
# reach the tests.
#
# A missing service is a failure, and so is a skipped test.
set -u -o pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. testdata/services/service.sh
. testdata/services/postgres.sh
. testdata/services/pgbouncer.sh
. testdata/services/sqs.sh

failed="" # the steps that failed, for the last line
step=""   # process group of the step that runs

heading() { printf '\n== %s\n' "$*"; }
die() {
  printf 'test.sh: %s\n' "$*" >&2
  exit 1
}

# --- cleaning up, on every way out

cleanup() {
  trap '' INT TERM HUP # a second Ctrl-C must not leave a server behind
  if [ -n "$step" ] && kill -TERM -- "-$step" 2>/dev/null; then
    for _ in 1 2 3 4 5 6 7 8 9 10; do
      kill -0 -- "-$step" 2>/dev/null || break
      sleep 0.2
    done
    kill -KILL -- "-$step" 2>/dev/null
  fi
  bouncer_stop
  bouncer_allow
  replica_stop
  postgres_stop
  sqs_stop
  # A process that was just killed may still write for a moment.
  rm -rf "$work" 2>/dev/null || { sleep 1; rm -rf "$work"; }
}

# --- what the tests need

# apt_updated: the lists of a fresh machine are empty or stale; once is enough.
apt_updated=""
apt_install() {
  local apt=(apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold)
  export DEBIAN_FRONTEND=noninteractive
  if [ -z "$apt_updated" ]; then "${apt[@]}" update || return; fi
  apt_updated=yes
  "${apt[@]}" install --no-install-recommends "$@" >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; return 1; }
}

can_install() { [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; }

need_compiler() {
  command -v "$(go env CC)" >/dev/null && return
  can_install || die "go test -race needs a C compiler ($(go env CC)), and there is none. Install one (Debian: gcc and libc6-dev)."
  echo "installing a C compiler"
  apt_install gcc libc6-dev || die "installing gcc failed"
}

# given NAME...: these servers are the caller's own. Then all of them are.
given() {
  local name missing="" others=""
  for name in "$@"; do
    if [ -n "${!name:-}" ]; then others="$others $name"; else missing="$missing $name"; fi
  done
  [ -n "$others" ] || return
  [ -z "$missing" ] || die "beside$others the tests need$missing; the head of ./testdata/test.sh says what each is. With none of them set it starts the servers itself."
  echo "the servers of$others"
}

need_postgres() {
  if ! postgres_find >/dev/null; then
    can_install || die "the tests need PostgreSQL, and initdb, postgres, pg_isready and pg_basebackup were not found in one folder.
Install them (Debian: apt-get install postgresql), or set REDRIVE_TEST_POSTGRES, REDRIVE_TEST_PG_REPLICA and REDRIVE_TEST_PGBOUNCER; the head of ./testdata/test.sh says to what."
    echo "installing PostgreSQL"
    postgres_install || die "installing PostgreSQL failed"
  fi
  postgres_start "$work/pg" || die "PostgreSQL did not start"
  replica_start "$work/replica" || die "the replica of PostgreSQL did not start"
}

need_bouncer() {
  if ! bouncer_find >/dev/null; then
    can_install || die "the tests need PgBouncer, and the program pgbouncer was not found.
Install it (Debian: apt-get install pgbouncer), or set REDRIVE_TEST_POSTGRES, REDRIVE_TEST_PG_REPLICA and REDRIVE_TEST_PGBOUNCER; the head of ./testdata/test.sh says to what."
    echo "installing PgBouncer"
    bouncer_install || die "installing PgBouncer failed"
  fi
  bouncer_start "$work/bouncer" || die "PgBouncer did not start"
}

need_sqs() {
  if ! command -v npm >/dev/null; then
    can_install || die "the tests need npm and Node, which bring two servers of SQS.
Install them (Debian: apt-get install npm), or set REDRIVE_TEST_SQS_LOCAL and REDRIVE_TEST_SQS_FAUX; the head of ./testdata/test.sh says to what."
    echo "installing npm"
    apt_install npm || die "installing npm failed"
  fi
  sqs_install "$work/npm" || die "npm did not install the servers of SQS"
  sqs_start "$work/sqs" || die "the servers of SQS did not start"
}

# --- the steps

# run NAME COMMAND... runs a step in a process group of its own, in the
# background: so a signal is answered at once, and the whole group, test binaries
# and their children included, can be ended.
run() {
  local name=$1
  shift
  heading "$name"
  set -m
  "$@" </dev/null &
  step=$!
  set +m
  wait "$step" || failed="$failed, $name"
  step=""
}

formatted() {
  local files
  files=$("$(go env GOROOT)/bin/gofmt" -l .) || return
  [ -z "$files" ] || { printf '%s\n' "$files"; return 1; }
}

# tests shows what fails and go's own line for each package. That no test is
# skipped is a rule of the source (internal/rules).
#
# With the race detector comes a check of each conversion of a pointer. The code
# of SQLite is C translated to Go, where it finds nothing and takes most of the
# time, so it is left out there, and there alone. Races are still looked for.
tests() {
  go test -race '-gcflags=modernc.org/...=-d=checkptr=0' -count=1 -timeout 60m -p 2 "$@" 2>&1 | tee "$work/test.log" || return
  grep -qE '^ok ' "$work/test.log" || { echo "no test ran"; return 1; }
}

all_tests() {
  tests ./... || return
  if grep -F '[no tests to run]' "$work/test.log"; then
    echo "a package with test files has no test"
    return 1
  fi
}

# pairs tries what the race detector leaves no time for: it sees one process, and
# these are two, which do any two calls on a plan at once.
pairs() { go test -count=1 -timeout 30m -run TwoCallersAtOnce ./internal/ledger; }

# benchmarks runs each of them once and small, to see that they still work. What
# they measure so is worth nothing; docs/performance.md tells how to measure.
benchmarks() {
  go test -race '-gcflags=modernc.org/...=-d=checkptr=0' -run '^$' -bench . -benchtime 1x -timeout 30m -p 1 . ./backends/sqs/sqstest ./internal/gate ./internal/redrive ./internal/audit
}

command -v go >/dev/null || die "Go is missing: https://go.dev/doc/install"
work=$(mktemp -d "${TMPDIR:-/tmp}/redrive-test.XXXXXX") || exit 1
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
chmod 711 "$work" # the servers run as another user and live below

# Nothing of the caller's surroundings reaches the tests, and what a test that is
# killed leaves behind goes away with the folder.
unset "${!PG@}" REDRIVE_POLICY
if [ -z "${REDRIVE_TEST_SQS_AWS:-}" ]; then
  unset "${!AWS@}"
  # Nor do their files and the credentials of the machine, for which a client would
  # look on the network.
  export AWS_CONFIG_FILE=/dev/null AWS_SHARED_CREDENTIALS_FILE=/dev/null AWS_EC2_METADATA_DISABLED=true
fi
mkdir "$work/tmp"
export TMPDIR="$work/tmp"

heading services
need_compiler
given REDRIVE_TEST_POSTGRES REDRIVE_TEST_PG_REPLICA REDRIVE_TEST_PGBOUNCER || { need_postgres; need_bouncer; }
given REDRIVE_TEST_SQS_LOCAL REDRIVE_TEST_SQS_FAUX || need_sqs

run gofmt formatted
run "go vet" go vet ./...
run staticcheck go tool staticcheck ./...
# Golden files, snapshots and generated docs are compared by the tests themselves.
if [ $# -gt 0 ]; then run "go test $*" tests "$@"; else
  run "go test ./..." all_tests
  run "every pair of callers" pairs
  run benchmarks benchmarks
fi

[ -z "$failed" ] || die "failed: ${failed#, }"
