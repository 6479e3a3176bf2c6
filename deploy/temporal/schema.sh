#!/bin/sh
# Temporal's tables, by its own tool: makes them in an empty database, and brings those of an older server up to date. Run it again after each upgrade.
set -eu
export SQL_PLUGIN=postgres12_pgx SQL_HOST=postgres SQL_PORT=5432 SQL_USER=temporal SQL_PASSWORD="$(cat /run/secrets/temporal/password)"

upgrade() {
  # does nothing where the tables of versions exist
  temporal-sql-tool --database "$1" setup-schema --version 0.0
  temporal-sql-tool --database "$1" update-schema --schema-name "postgresql/v12/$2"
}
upgrade temporal temporal
upgrade temporal_visibility visibility
