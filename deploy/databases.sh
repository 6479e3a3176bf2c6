#!/bin/sh
# Users and databases of Fetch and of Temporal on the one PostgreSQL server. It makes what is missing, so it may run at every start.
set -eu
export PGHOST=postgres PGUSER=postgres PGPASSWORD="$(cat /run/secrets/postgres/password)"
# `fetch` is a word of SQL, so it is quoted. The passwords have no quotes in them: deploy/first-start.sh makes them of hex digits.
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --dbname postgres <<SQL
select format('create role %I login', name) from unnest(array['fetch', 'temporal']) name where name not in (select rolname from pg_roles) \gexec
alter role "fetch" password '$(cat /run/secrets/fetch/password)';
alter role temporal password '$(cat /run/secrets/temporal/password)';
select format('create database %I owner %I', name, owner)
  from (values ('fetch', 'fetch'), ('temporal', 'temporal'), ('temporal_visibility', 'temporal')) wanted (name, owner)
  where name not in (select datname from pg_database) \gexec
revoke connect on database "fetch", temporal, temporal_visibility from public;
SQL
echo 'The databases fetch, temporal and temporal_visibility are ready.'
