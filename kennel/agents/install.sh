#!/usr/bin/env bash
# Runs while the image is built, in /opt/agent: installs the packages of one agent and links its programs into /opt/agent/bin under
# names that do not depend on the architecture. Which programs these are says `kennel/agents/<name>/packages/programs.sh`.
set -euo pipefail
cd /opt/agent
mkdir -p bin

# `acp` is an adapter that brings a second copy of its agent as an optional dependency: ours is taken instead
for part in cli acp; do
  [ -d "$part" ] || continue
  omit=(--omit=dev)
  [ "$part" = acp ] && omit+=(--omit=optional)
  (cd "$part" && npm ci "${omit[@]}" --ignore-scripts --no-audit --no-fund)
done

# For `programs.sh`. The links lead to the native programs, so that signals reach the real process.
arch=$(node --print process.arch)
link() {
  [ -e "$2" ] || { echo "There is no $2 in the packages of this version." >&2; exit 1; }
  chmod a+rx "$2"
  ln -sf "$(realpath "$2")" "bin/$1"
}

if [ "$1" != none ]; then
  [ -f programs.sh ] || { echo "There is no agent named $1." >&2; exit 1; }
  . ./programs.sh
fi
rm -rf /root/.npm
chmod -R a+rX /opt/agent
