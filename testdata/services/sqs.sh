# shellcheck shell=bash
# Two private servers that speak as Amazon SQS does; test.sh reads this file with
# ".".
#
# They are packages of npm, each right where the other is not: local-aws-sqs
# knows move tasks and tells where a message died, fauxqs knows FIFO groups and
# deduplication and keeps its queues when it is killed. What each lacks stands in
# backends/sqs/sqstest. The versions are those of testdata/sqs/package-lock.json,
# Node's too.

sqs_local_pid="" sqs_faux_pid="" # set once there is something to stop

# sqs_install FOLDER installs both into the folder. No package gets to run a
# script of its own.
sqs_install() {
  mkdir "$1" && cp testdata/sqs/* "$1" || return
  (cd "$1" && npm ci --ignore-scripts --prefer-offline --no-audit --no-fund --no-update-notifier --loglevel=error) \
    >"$1.log" 2>&1 </dev/null || { cat "$1.log" >&2; return 1; }
  chmod -R go+rX "$1" # the servers run as another user
  sqs_packages=$1
}

# sqs_node prints a Node that is new enough for fauxqs: the one that came with it,
# or, on systems for which none is packaged, the one of PATH.
sqs_node() {
  local node
  for node in "$sqs_packages"/node_modules/node-*/bin/node "$(command -v node)"; do
    [ -x "$node" ] && "$node" -e 'require("node:sqlite")' 2>/dev/null && { printf '%s\n' "$node"; return; }
  done
  echo "fauxqs needs Node 22.5 or newer, and $(command -v node) is $(node --version)" >&2
  return 1
}

# sqs_start FOLDER starts both and exports REDRIVE_TEST_SQS_LOCAL and
# REDRIVE_TEST_SQS_FAUX.
sqs_start() {
  sqs_program=$(sqs_node) || return
  sqs_folder=$1
  service_folder "$1-local" && service_folder "$1-faux" || return
  service_port sqs_try local || { cat "$1-local.log" >&2; return 1; }
  sqs_local_pid=$service_pid
  export REDRIVE_TEST_SQS_LOCAL="http://127.0.0.1:$service_port"
  echo "local-aws-sqs on port $service_port"
  service_port sqs_try faux || { cat "$1-faux.log" >&2; return 1; }
  sqs_faux_pid=$service_pid
  export REDRIVE_TEST_SQS_FAUX="http://127.0.0.1:$service_port"
  echo "fauxqs on port $service_port"
}

# sqs_try SCRIPT PORT. Without the port there is nothing to listen on and the
# program ends; it is ready when it says so. Nothing of our surroundings, such as
# NODE_OPTIONS, changes what it does.
sqs_try() {
  local folder=$sqs_folder-$1
  service_spawn "$folder" env -i HOME="$folder" TMPDIR="$folder" \
    "$sqs_program" "$sqs_packages/$1.mjs" "$2" "$folder/data"
  service_ready "$service_pid" grep -qx up "$folder.log" && return
  service_stop "$service_pid" TERM
  return 1
}

sqs_stop() {
  service_stop "$sqs_local_pid" TERM
  service_stop "$sqs_faux_pid" TERM
  sqs_local_pid="" sqs_faux_pid=""
}
