#!/usr/bin/env bash
# Runs while the image is built: installs the packages of one agent and links its programs into /opt/agent/bin under names
# that do not depend on the architecture. The links lead to the native programs, so that signals reach the real process.
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

arch=$(node --print process.arch)
link() {
  [ -e "$2" ] || { echo "There is no $2 in the packages of this version." >&2; exit 1; }
  chmod a+rx "$2"
  ln -sf "$(realpath "$2")" "bin/$1"
}

case "$1" in
  none) ;;
  claude)
    link claude "cli/node_modules/@anthropic-ai/claude-code-linux-$arch/claude"
    link claude-agent-acp acp/node_modules/.bin/claude-agent-acp
    ;;
  codex)
    link codex "$(echo cli/node_modules/@openai/codex-linux-"$arch"/vendor/*/bin/codex)"
    link codex-acp acp/node_modules/.bin/codex-acp
    ;;
  gemini) link gemini cli/node_modules/@google/gemini-cli/bundle/gemini.js ;;
  copilot)
    link copilot "cli/node_modules/@github/copilot-linux-$arch/copilot"
    # it unpacks 235 MB at its first start: once, here, and read from /opt/agent/cache by every container
    HOME=/tmp/copilot XDG_CACHE_HOME=/opt/agent/cache COPILOT_OFFLINE=true COPILOT_AUTO_UPDATE=false bin/copilot --version
    rm -rf /tmp/copilot
    ;;
  opencode)
    # only the native packages: not every registry has those of all systems, and a lock file of the package around them needs them all
    if [ "$arch" != x64 ]; then
      version=$(node --print 'require("./cli/package.json").optionalDependencies["opencode-linux-x64"]')
      npm install --prefix cli --no-save --ignore-scripts --no-audit --no-fund "opencode-linux-$arch@$version"
      native=opencode-linux-$arch
    elif grep -qw avx2 /proc/cpuinfo; then
      native=opencode-linux-x64
      rm -rf cli/node_modules/opencode-linux-x64-baseline
    else
      # for processors without AVX2; images are built where they run
      native=opencode-linux-x64-baseline
      rm -rf cli/node_modules/opencode-linux-x64
    fi
    link opencode "cli/node_modules/$native/bin/opencode"
    ln -s "$native" cli/node_modules/opencode-ai
    ;;
  *)
    echo "There is no agent named $1." >&2
    exit 1
    ;;
esac
rm -rf /root/.npm
chmod -R a+rX /opt/agent
