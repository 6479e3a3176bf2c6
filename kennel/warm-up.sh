#!/usr/bin/env bash
# Runs the programs of the image once, so that NODE_COMPILE_CACHE holds what Node compiles of them. Fails where one does not work.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/workspace" "$place/run/gate" "$place/run/home"
cd "$place/workspace"
git init -q
echo 'export const warm = 1;' >warm.ts && git add warm.ts
echo '{"op":"checkpoint","key":"warm","author":{"name":"Fetch","email":"fetch@localhost"}}' |
  FETCH_WORKSPACE_ROOT="$PWD" FETCH_SIDE_GIT="$place/side" node /opt/fetch/kennel/workspace/main.ts
echo '{"op":"map"}' | FETCH_WORKSPACE_ROOT="$PWD" FETCH_SIDE_GIT="$place/side" node /opt/fetch/kennel/workspace/main.ts | grep -q '"warm.ts: warm"'
echo '{"version":1,"taskId":"warm","step":1,"harness":"practice","prompt":"say warm","sessionId":null,"model":null,"permissions":"run","holdMs":1000}' >"$place/run/spec.json"
touch "$place/run/log.ndjson" "$place/run/commands.ndjson"
HOME="$place/run/home" FETCH_RUN_FOLDER="$place/run" node /opt/fetch/kennel/runner/main.ts
grep -q '"outcome":"completed"' "$place/run/log.ndjson" || { cat "$place/run/log.ndjson"; exit 1; }
