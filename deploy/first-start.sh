#!/bin/sh
# Before the first start: the state folder gets its owner, and each server a password. Does nothing where these exist, so it may run at every start.
set -eu

# the folder of the host (FETCH_HOME) may have been made by the engine, for root
mkdir -p "$FETCH_HOME/secrets"
chown 1000:1000 "$FETCH_HOME" "$FETCH_HOME/secrets"
chmod 700 "$FETCH_HOME" "$FETCH_HOME/secrets"

# what Temporal stores is encrypted from the first start on
keys=$FETCH_HOME/payload-keys
if [ ! -e "$keys" ]; then
  (umask 077 && od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$keys.new" && echo >>"$keys.new")
  chown 1000:1000 "$keys.new"
  mv "$keys.new" "$keys"
fi

# 0444: only the containers that need a secret have its volume, and their users differ
secret() {
  [ -s "$1" ] && return
  od -An -N32 -tx1 /dev/urandom | tr -d ' \n' >"$1.new"
  chmod 444 "$1.new"
  mv "$1.new" "$1"
}
for owner in postgres temporal fetch grafana; do secret "/run/secrets/$owner/password"; done

url=/run/secrets/fetch/database-url
if [ ! -s "$url" ]; then
  printf 'postgres://fetch:%s@postgres:5432/fetch' "$(cat /run/secrets/fetch/password)" >"$url.new"
  chmod 444 "$url.new"
  mv "$url.new" "$url"
fi

# SearXNG takes its key from its settings; JSON is what `web_search` reads
searxng=/run/searxng/settings.yml
if [ ! -s "$searxng" ]; then
  cat >"$searxng.new" <<YAML
use_default_settings: true
server:
  secret_key: $(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')
  limiter: false
  public_instance: false
  image_proxy: false
search:
  formats:
    - html
    - json
YAML
  chmod 444 "$searxng.new"
  mv "$searxng.new" "$searxng"
fi
echo "$FETCH_HOME and the passwords of the servers are ready."
