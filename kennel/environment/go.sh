#!/usr/bin/env bash
# A Go of today. Debian's is too old to fetch newer ones by itself, but it knows where modules come from, and checks what comes: Go's
# toolchains are modules. It goes again afterwards. A version is a number such as 1.27.4; without one, the first builds older modules.
set -euo pipefail
wanted=${1:-}
first=1.27.4
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$place"
export GOPATH=$place/path GOFLAGS=-modcacherw DEBIAN_FRONTEND=noninteractive

apt-get update
apt-get install -y --no-install-recommends golang-go
name=golang.org/toolchain@v0.0.1-go$first.linux-$(dpkg --print-architecture)
go mod download "$name"
apt-get purge -y --auto-remove golang-go
apt-get clean
rm -rf /var/lib/apt/lists/*

root=$GOPATH/pkg/mod/$name
# the archive keeps no permissions
chmod -R a+rX "$root"
chmod a+x "$root"/bin/* "$root"/pkg/tool/*/*
if [ -n "$wanted" ] && [ "$wanted" != "$first" ]; then
  root=$(GOTOOLCHAIN=go$wanted "$root/bin/go" env GOROOT)
fi
rm -rf /usr/local/go
cp -r "$root" /usr/local/go
chmod -R a+rX /usr/local/go
ln -sf /usr/local/go/bin/go /usr/local/go/bin/gofmt /opt/environment/bin/
/usr/local/go/bin/go version
