# shellcheck shell=bash
# A private PostgreSQL server for the tests, and a streaming replica of it;
# test.sh reads this file with ".".
#
# Both listen on 127.0.0.1 on ports of their own and on sockets inside the
# folders that they are given; nobody needs a password there. They never touch
# port 5432 or a cluster of the distribution's packages.
#
# fsync is off: it saves what was committed when the machine fails, and no test
# makes that happen. A server that is killed loses nothing by it, for a commit
# still hands its log to the kernel before it is answered.

postgres_pid="" replica_pid="" # set once there is something to stop

# postgres_find prints the folder of the newest server programs it can see.
# Debian and Ubuntu keep them outside PATH, one folder a major version.
postgres_find() {
  local dir best="" major newest=0 on_path
  on_path=$(command -v postgres || true)
  for dir in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin \
    /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin "${on_path%/*}"; do
    [ -x "$dir/initdb" ] && [ -x "$dir/postgres" ] && [ -x "$dir/pg_isready" ] && [ -x "$dir/pg_basebackup" ] || continue
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

# postgres_start FOLDER makes a cluster in FOLDER, starts it and exports
# REDRIVE_TEST_POSTGRES.
postgres_start() {
  postgres_bin=$(postgres_find) || return
  postgres_folder=$1
  service_folder "$1" || return
  (service_exec "$1" "$postgres_bin/initdb" -D "$1/data" -U postgres -A trust -E UTF8 --locale=C --no-sync) \
    >"$1.log" 2>&1 </dev/null || { cat "$1.log" >&2; return 1; }
  cat >>"$1/data/postgresql.conf" <<-CONF || return
	listen_addresses = '127.0.0.1'
	max_connections = 200
	shared_buffers = 32MB
	fsync = off
	CONF
  service_port postgres_try || { cat "$1.log" >&2; return 1; }
  postgres_port=$service_port
  export REDRIVE_TEST_POSTGRES="postgres://postgres@127.0.0.1:$postgres_port/postgres?sslmode=disable"
  echo "PostgreSQL of $postgres_bin on port $postgres_port"
}

# postgres_serve FOLDER PORT sets service_pid. The server is ready when it answers
# on its socket; on a TCP port that is taken another server might answer.
postgres_serve() {
  service_spawn "$1" "$postgres_bin/postgres" -D "$1/data" -p "$2" -k "$1"
  service_ready "$service_pid" "$postgres_bin/pg_isready" -q -U postgres -h "$1" -p "$2" && return
  service_stop "$service_pid" QUIT
  return 1
}

postgres_try() { postgres_serve "$postgres_folder" "$1" && postgres_pid=$service_pid; }
replica_try() { postgres_serve "$replica_folder" "$1" && replica_pid=$service_pid; }

# replica_start FOLDER copies the private server into FOLDER, lets the copy follow
# it and exports REDRIVE_TEST_PG_REPLICA.
replica_start() {
  replica_folder=$1
  service_folder "$1" || return
  (service_exec "$1" "$postgres_bin/pg_basebackup" -D "$1/data" -U postgres -h "$postgres_folder" -p "$postgres_port" \
    --write-recovery-conf --checkpoint=fast --wal-method=stream --no-sync) \
    >"$1.log" 2>&1 </dev/null || { cat "$1.log" >&2; return 1; }
  service_port replica_try || { cat "$1.log" >&2; return 1; }
  export REDRIVE_TEST_PG_REPLICA="postgres://postgres@127.0.0.1:$service_port/postgres?sslmode=disable"
  echo "its replica on port $service_port"
}

# SIGQUIT is PostgreSQL's "immediate" shutdown.
postgres_stop() { service_stop "$postgres_pid" QUIT; postgres_pid=""; }
replica_stop() { service_stop "$replica_pid" QUIT; replica_pid=""; }
