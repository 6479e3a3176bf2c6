#!/usr/bin/env bash
# Makes sure that a Docker engine answers. If none does, on Debian and as root, it installs the missing Debian packages and starts dockerd detached. Anywhere
# else it says what to do. It is safe to run again at any time.
#
#   scripts/docker-engine.sh [further flags for dockerd]
#
# DOCKERD_LOG  log of the daemon (default /var/log/dockerd.log)
set -euo pipefail

answers() { timeout 10 docker info --format '{{.ServerVersion}}' 2>/dev/null | grep -q '[0-9]'; }
say() { printf '%s\n' "$*"; }
version() { say "Docker engine $(docker version --format '{{.Server.Version}}') answers"; }

if command -v docker >/dev/null && answers; then version; exit 0; fi

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  case "$(uname -s)" in
    Darwin) say 'No Docker engine answers. Install and start Docker Desktop (https://docs.docker.com/desktop/setup/install/mac-install/), OrbStack or Colima.' >&2 ;;
    *) say 'No Docker engine answers. Install it (https://docs.docker.com/engine/install/), start it (sudo systemctl enable --now docker), and add yourself to its group (sudo usermod -aG docker "$USER", then log in again).' >&2 ;;
  esac
  exit 1
fi

# two simultaneous callers must not start two daemons
exec 9>/var/lock/fetch-docker-engine.lock
flock 9
if command -v docker >/dev/null && answers; then version; exit 0; fi

# debootstrap makes the base image when no registry can be reached
missing=()
command -v dockerd >/dev/null || missing+=(docker.io)
command -v iptables >/dev/null || missing+=(iptables)
command -v debootstrap >/dev/null || missing+=(debootstrap)
[ -e /etc/ssl/certs/ca-certificates.crt ] || missing+=(ca-certificates)
if [ "${#missing[@]}" -gt 0 ]; then
  say "Installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

# a killed daemon may remain as a zombie until its parent waits for it
alive() {
  local folder name
  for folder in /proc/[0-9]*; do
    read -r name <"$folder/comm" || continue
    [ "$name" = dockerd ] || continue
    grep -q '^State:[[:space:]]*Z' "$folder/status" || return 0
  done 2>/dev/null
  return 1
}

log=${DOCKERD_LOG:-/var/log/dockerd.log}
starts=0
for _ in $(seq 1 120); do
  if answers; then version; exit 0; fi
  if ! alive; then
    [ "$starts" -lt 3 ] || break
    starts=$((starts + 1))
    say "Starting dockerd (log: $log)"
    # left by a killed daemon: dockerd refuses to start while any process has that id
    rm -f /var/run/docker.pid
    setsid nohup dockerd "$@" >>"$log" 2>&1 </dev/null 9>&- &
  fi
  sleep 0.5
done
say "dockerd does not answer. The end of $log:" >&2
tail -n 15 "$log" >&2
exit 1
