link copilot "cli/node_modules/@github/copilot-linux-$arch/copilot"
# it unpacks 235 MB at its first start: once, here, and read from /opt/agent/cache by every container
HOME=/tmp/copilot XDG_CACHE_HOME=/opt/agent/cache COPILOT_OFFLINE=true COPILOT_AUTO_UPDATE=false bin/copilot --version
rm -rf /tmp/copilot
