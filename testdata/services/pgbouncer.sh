# shellcheck shell=bash
# A private PgBouncer in front of the private PostgreSQL server; test.sh reads
# this file with ".".
#
# It pools by transaction, and a role gets two sessions of the server, whatever
# number of clients it has: so clients do share sessions, and what one leaves
# behind the next one meets. It asks the server for roles that it does not know,
# and nobody needs a password.

bouncer_pid=""    # set once there is something to stop
bouncer_policy="" # the file that keeps the packaged service from starting, while it stands

# bouncer_find prints the program, which Debian keeps where only root looks.
bouncer_find() { PATH="$PATH:/usr/sbin:/usr/local/sbin" command -v pgbouncer; }

# bouncer_install installs the distribution's package, whose service neither
# starts nor stays enabled: it would run on port 6432 from now on. Where there is
# a policy-rc.d already, as in most containers, it decides instead of ours.
bouncer_install() {
  local policy=/usr/sbin/policy-rc.d status
  if ! [ -e "$policy" ]; then
    bouncer_policy=$policy
    printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" || return
  fi
  apt_install pgbouncer
  status=$?
  bouncer_allow
  [ "$status" -eq 0 ] || return "$status"
  update-rc.d pgbouncer disable >/dev/null 2>&1
  [ ! -x /etc/init.d/pgbouncer ] || /etc/init.d/pgbouncer stop >/dev/null 2>&1
  return 0
}

# bouncer_allow takes our policy-rc.d away again.
bouncer_allow() {
  [ -z "$bouncer_policy" ] || rm -f "$bouncer_policy"
  bouncer_policy=""
}

# bouncer_start FOLDER starts it and exports REDRIVE_TEST_PGBOUNCER.
bouncer_start() {
  bouncer_program=$(bouncer_find) || return
  bouncer_folder=$1
  service_folder "$1" || return
  service_port bouncer_try || { cat "$1.log" >&2; return 1; }
  export REDRIVE_TEST_PGBOUNCER="postgres://postgres@127.0.0.1:$service_port/postgres?sslmode=disable"
  echo "PgBouncer of $bouncer_program on port $service_port"
}

# bouncer_try PORT. There is no socket beside the port, so without the port there
# is nothing to listen on and the program ends. It is ready when it says so.
bouncer_try() {
  cat >"$bouncer_folder.ini" <<-CONF || return
	[databases]
	* = host=127.0.0.1 port=$postgres_port auth_user=postgres
	[pgbouncer]
	listen_addr = 127.0.0.1
	listen_port = $1
	unix_socket_dir =
	auth_type = trust
	auth_query = SELECT usename, passwd FROM pg_catalog.pg_shadow WHERE usename = \$1
	pool_mode = transaction
	default_pool_size = 2
	max_client_conn = 1000
	server_idle_timeout = 5
	query_wait_timeout = 20
	CONF
  chmod 644 "$bouncer_folder.ini" || return
  service_spawn "$bouncer_folder" "$bouncer_program" "$bouncer_folder.ini"
  bouncer_pid=$service_pid
  service_ready "$bouncer_pid" grep -q "process up" "$bouncer_folder.log" && return
  bouncer_stop
  return 1
}

# SIGINT would wait for transactions that are open; SIGTERM ends at once.
bouncer_stop() { service_stop "$bouncer_pid" TERM; bouncer_pid=""; }
