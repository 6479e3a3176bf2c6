#!/bin/sh
# Temporal takes no password from a file, only from its configuration or the environment.
set -eu
TEMPORAL_DATABASE_PASSWORD="$(cat /run/secrets/temporal/password)"
export TEMPORAL_DATABASE_PASSWORD
exec temporal-server --root / --config /deploy/temporal --env server --allow-no-auth start
