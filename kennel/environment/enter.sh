#!/usr/bin/env bash
# Runs a program in the environment of the repository, after the services that its image names (FETCH_SERVICES). They run as the user of
# the container, on loopback, with empty data in /tmp, and end with the container.
set -uo pipefail
place=/tmp/fetch-services
log=$place/log

postgresql() {
  local bin data=$place/postgresql
  bin=$(echo /usr/lib/postgresql/*/bin)
  "$bin/initdb" --pgdata="$data" --username=postgres --auth=trust --encoding=UTF8 --no-locale --no-sync || return 1
  "$bin/pg_ctl" --pgdata="$data" --log="$place/postgresql.log" --wait --timeout=30 \
    --options="-c listen_addresses=127.0.0.1 -c unix_socket_directories=$place -c fsync=off" start
}

redis() {
  redis-server --bind 127.0.0.1 --save '' --dir "$place" --daemonize yes || return 1
  for _ in $(seq 150); do redis-cli -h 127.0.0.1 ping && return 0; sleep 0.1; done
  return 1
}

mysql() {
  local data=$place/mysql
  mariadb-install-db --no-defaults --datadir="$data" --auth-root-authentication-method=normal --skip-test-db || return 1
  mariadbd --no-defaults --datadir="$data" --bind-address=127.0.0.1 --socket="$place/mysql.sock" --pid-file="$place/mysql.pid" &
  for _ in $(seq 300); do mariadb-admin --no-defaults --socket="$place/mysql.sock" --user=root ping && return 0; sleep 0.1; done
  return 1
}

if [ -n "${FETCH_SERVICES:-}" ] && mkdir -p "$place"; then
  for service in $FETCH_SERVICES; do
    "$service" >>"$log" 2>&1 || { echo "The service $service did not start:"; tail -n 5 "$log"; } >&2
  done
fi
# Cargo and Maven know no variable for a registry. A file that somebody wrote there stays; one of ours is written again, because the registry may be another one. Without the variable
# (tests after a task, which have no network) it stays as well: what is loaded is found by it
mark='written by fetch'
ours() { [ ! -e "$1" ] || grep -q "$mark" "$1"; }
if [ -n "${FETCH_MIRROR_CARGO:-}" ] && ours "$CARGO_HOME/config.toml" && mkdir -p "$CARGO_HOME"; then
  printf '# %s\n[source.crates-io]\nreplace-with = "owner"\n[source.owner]\nregistry = "sparse+%s"\n' "$mark" "$FETCH_MIRROR_CARGO" >"$CARGO_HOME/config.toml"
fi
if [ -n "${FETCH_MIRROR_MAVEN:-}" ] && ours "$HOME/.m2/settings.xml" && mkdir -p "$HOME/.m2"; then
  printf '<!-- %s --><settings><mirrors><mirror><id>owner</id><mirrorOf>%s</mirrorOf><url>%s</url></mirror></mirrors></settings>\n' \
    "$mark" "${FETCH_MIRROR_MAVEN_OF:-*}" "$(sed 's/&/\&amp;/g' <<<"$FETCH_MIRROR_MAVEN")" >"$HOME/.m2/settings.xml"
fi
exec "$@"
