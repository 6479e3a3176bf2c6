#!/bin/sh
# Health check of a container with roles: what the roles wrote last (FETCH_HEALTH_FILE), if that is recent. A process that hangs writes nothing.
file=${FETCH_HEALTH_FILE:-/tmp/fetch-health}
[ -e "$file" ] || { echo 'The roles have not started yet.'; exit 1; }
[ -n "$(find "$file" -newermt '30 seconds ago')" ] || { echo 'The roles have not answered for 30 seconds.'; exit 1; }
cat "$file"
grep -q '^ok$' "$file"
