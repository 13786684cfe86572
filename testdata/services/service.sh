# shellcheck shell=bash
# What the private servers of the tests have in common; test.sh reads this file
# with ".".
#
# Each server is our own child, in a process group of its own: Ctrl-C must not
# reach it before it is asked to end, and we can wait for its very end. None runs
# as root, which the servers refuse.

service_user=postgres
id "$service_user" >/dev/null 2>&1 || service_user=nobody

# service_folder FOLDER makes the folder of a server.
service_folder() {
  mkdir "$1" && chmod 700 "$1" || return
  [ "$(id -u)" -ne 0 ] || chown "$service_user" "$1"
}

# service_exec FOLDER COMMAND... becomes the command, in the folder. Call it in a
# subshell. setpriv, unlike runuser and su, leaves no process between the server
# and our signals.
service_exec() {
  cd "$1" || exit
  shift
  if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi
  exec setpriv --reuid="$(id -u "$service_user")" --regid="$(id -g "$service_user")" --init-groups "$@"
}

# service_spawn FOLDER COMMAND... starts a server, whose words go to FOLDER.log,
# and sets service_pid.
service_spawn() {
  set -m
  service_exec "$@" >"$1.log" 2>&1 </dev/null &
  service_pid=$!
  set +m
}

# service_ready PID TEST... waits until the test succeeds. It fails when the
# server has ended, or after a minute.
service_ready() {
  local pid=$1
  shift
  for _ in {1..1200}; do
    kill -0 "$pid" 2>/dev/null || return
    if "$@" >/dev/null 2>&1; then return 0; fi
    sleep 0.05
  done
  return 1
}

# service_stop PID SIGNAL ends a server and waits until it is gone; after ten
# seconds it is killed. Without a PID there is nothing to end.
service_stop() {
  [ -n "$1" ] || return 0
  kill "-$2" "$1" 2>/dev/null
  for _ in {1..200}; do
    kill -0 "$1" 2>/dev/null || break
    sleep 0.05
  done
  kill -KILL -- "-$1" 2>/dev/null
  wait "$1" 2>/dev/null
}

# service_port START... calls START with one port after another until it
# succeeds, and sets service_port. The port is found by trying: looking for a free
# one first would leave a moment in which somebody else takes it.
service_port() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    service_port=$((20000 + RANDOM % 12000)) # below the ports that systems hand out by themselves
    if "$@" "$service_port"; then return 0; fi
  done
  return 1
}
