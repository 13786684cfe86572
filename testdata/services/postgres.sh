# shellcheck shell=bash
# A private PostgreSQL server for the tests; test.sh reads this file with ".".
#
# The server listens on 127.0.0.1 on a port of its own and on a socket inside
# the folder it is given; nobody needs a password there. It never touches port
# 5432 or a cluster of the distribution's packages. Durability settings stay at
# PostgreSQL's defaults: the tests are about what survives a crash.

postgres_pid="" # set once there is something to stop

# postgres_find prints the folder of the newest server programs it can see.
# Debian and Ubuntu keep them outside PATH, one folder a major version.
postgres_find() {
  local dir best="" major newest=0 on_path
  on_path=$(command -v postgres || true)
  for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin \
    /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin "${on_path%/*}"; do
    [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && [ -x "$dir/pg_isready" ] || continue
    major=$("$dir/postgres" --version | sed 's/^[^0-9]*\([0-9]*\).*/\1/')
    if [ "$major" -gt "$newest" ]; then best=$dir newest=$major; fi
  done
  [ -n "$best" ] && printf '%s\n' "$best"
}

# postgres_install installs the distribution's server without letting it start
# one: by default the package makes a cluster "main" and runs it on port 5432.
postgres_install() {
  local conf=/etc/postgresql-common/createcluster.conf
  apt_install postgresql-common || return
  sed -i '/^[[:space:]]*create_main_cluster[[:space:]]*=/d' "$conf" || return
  echo 'create_main_cluster = false' >>"$conf" || return
  apt_install postgresql
}

# postgres_exec becomes the command, in the server's folder and not as root, as
# which PostgreSQL refuses to run. Call it in a subshell. setpriv, unlike runuser
# and su, leaves no process between the server and our signals.
postgres_exec() {
  cd "$postgres_folder" || exit
  if [ "$(id -u)" -ne 0 ]; then exec "$@"; fi
  exec setpriv --reuid="$(id -u "$postgres_user")" --regid="$(id -g "$postgres_user")" --init-groups "$@"
}

# postgres_start FOLDER makes a cluster in FOLDER, starts it and exports
# REDRIVE_TEST_POSTGRES. The port is found by trying: looking for a free one
# first would leave a moment in which somebody else takes it.
postgres_start() {
  local bin port
  bin=$(postgres_find) || return
  postgres_folder=$1 postgres_user=postgres
  id "$postgres_user" >/dev/null 2>&1 || postgres_user=nobody
  mkdir "$1" && chmod 700 "$1" || return
  if [ "$(id -u)" -eq 0 ]; then chown "$postgres_user" "$1" || return; fi
  (postgres_exec "$bin/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --locale=C) \
    >"$1.log" 2>&1 </dev/null || { cat "$1.log" >&2; return 1; }
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    port=$((20000 + RANDOM % 12000)) # below the ports that systems hand out by themselves
    if postgres_try "$bin" "$port"; then
      export REDRIVE_TEST_POSTGRES="postgres://postgres@127.0.0.1:$port/postgres?sslmode=disable"
      echo "PostgreSQL of $bin on port $port"
      return 0
    fi
  done
  cat "$1.log" >&2
  return 1
}

# postgres_try BIN PORT starts the server as our own child, in a process group of
# its own: Ctrl-C must not reach it before it is asked to end, and we can wait
# for its very end. It is ready when it answers on its socket; on a TCP port that
# is taken another server might answer.
postgres_try() {
  set -m
  postgres_exec "$1/postgres" -D "$postgres_folder/data" -p "$2" -k "$postgres_folder" \
    -c listen_addresses=127.0.0.1 -c shared_buffers=32MB -c max_connections=100 \
    >"$postgres_folder.log" 2>&1 </dev/null &
  postgres_pid=$!
  set +m
  for _ in {1..600}; do
    kill -0 "$postgres_pid" 2>/dev/null || break
    if "$1/pg_isready" -q -U postgres -h "$postgres_folder" -p "$2"; then return 0; fi
    sleep 0.1
  done
  postgres_stop
  return 1
}

# postgres_stop ends the server at once (SIGQUIT is PostgreSQL's "immediate"
# shutdown) and waits until it is gone; after ten seconds it is killed.
postgres_stop() {
  [ -n "$postgres_pid" ] || return 0
  kill -QUIT "$postgres_pid" 2>/dev/null
  for _ in {1..100}; do
    kill -0 "$postgres_pid" 2>/dev/null || break
    sleep 0.1
  done
  kill -KILL -- "-$postgres_pid" 2>/dev/null
  wait "$postgres_pid" 2>/dev/null
  postgres_pid=""
}
