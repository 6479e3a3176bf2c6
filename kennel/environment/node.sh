#!/usr/bin/env bash
# Another major version of Node, from the npm registry, beside the one that drives the agent.
set -euo pipefail
major=$1
case "$(dpkg --print-architecture)" in
  amd64) arch=x64 ;;
  arm64) arch=arm64 ;;
  *) echo "There is no Node package for $(dpkg --print-architecture)." >&2; exit 1 ;;
esac
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
# each npm needs a Node of its time
case "$major" in
  14) npm=8 ;;
  16) npm=9 ;;
  18 | 19) npm=10 ;;
  *) npm= ;;
esac
# all of it before the other Node is in place: the npm of today runs on the Node of today, and finds its settings beside that
npm pack --silent "node-linux-$arch@$major" ${npm:+"npm@$npm"} >/dev/null
tar -xzf node-linux-"$arch"-*.tgz
install -m 0755 package/bin/node /opt/environment/bin/node
if [ -n "$npm" ]; then
  mkdir -p /opt/environment/npm
  tar -xzf npm-"$npm"*.tgz -C /opt/environment/npm --strip-components=1
  chmod a+rx /opt/environment/npm/bin/*.js
  ln -sf /opt/environment/npm/bin/npm-cli.js /opt/environment/bin/npm
  ln -sf /opt/environment/npm/bin/npx-cli.js /opt/environment/bin/npx
fi
# npm looks for the settings of the system beside its Node
[ ! -f /usr/local/etc/npmrc ] || install -D -m 0644 /usr/local/etc/npmrc /opt/environment/etc/npmrc
rm -rf /root/.npm
chmod -R a+rX /opt/environment
node --version
