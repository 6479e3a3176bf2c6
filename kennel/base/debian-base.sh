#!/usr/bin/env bash
# Makes a stand-in for the public Node image where no image registry can be reached, and tags it with the same name, so that
# one Dockerfile serves both: Debian 12 by debootstrap, Node and npm from the npm registry, and the user `node` (1000).
# Needs root, debootstrap, npm and a Docker engine.
#
#   kennel/base/debian-base.sh [tag]
#
# DEBIAN_MIRROR  where Debian's packages come from (default http://deb.debian.org/debian)
set -euo pipefail

tag=${1:-node:24-bookworm-slim}
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
node_version=24.21.0
npm_version=11.19.1
case "$(uname -m)" in
  x86_64) arch=x64 ;;
  aarch64 | arm64) arch=arm64 ;;
  *) echo "There is no Node package for $(uname -m)." >&2; exit 1 ;;
esac

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root

echo "Fetching Node $node_version and npm $npm_version"
(
  cd "$work"
  npm pack --silent "node-linux-$arch@$node_version" "npm@$npm_version" >/dev/null
  mkdir node npm
  tar -xzf node-linux-"$arch"-"$node_version".tgz -C node --strip-components=1
  tar -xzf npm-"$npm_version".tgz -C npm --strip-components=1
) &
fetched=$!

echo 'Installing Debian 12'
debootstrap --variant=minbase --include=ca-certificates bookworm "$root" "$mirror" >"$work/debootstrap.log" 2>&1 || {
  tail -n 15 "$work/debootstrap.log" >&2
  exit 1
}
wait "$fetched"

cat >"$root/etc/apt/sources.list" <<LIST
deb $mirror bookworm main
deb $mirror bookworm-updates main
deb ${mirror%/debian}/debian-security bookworm-security main
LIST
# documentation and translations are never read in a container
cat >"$root/etc/dpkg/dpkg.cfg.d/slim" <<'CONF'
path-exclude /usr/share/doc/*
path-exclude /usr/share/man/*
path-exclude /usr/share/locale/*
path-include /usr/share/doc/*/copyright
CONF
# as in the public image: a half-built layer is built again, so dpkg need not sync each file. Nobody reads translated descriptions
echo 'force-unsafe-io' >"$root/etc/dpkg/dpkg.cfg.d/docker-apt-speedup"
echo 'Acquire::Languages "none";' >"$root/etc/apt/apt.conf.d/docker-no-languages"
rm -rf "$root"/var/lib/apt/lists/* "$root"/var/cache/apt/*.bin "$root"/var/cache/apt/archives/*.deb "$root"/usr/share/{man,locale}/* "$root"/var/log/*

# authorities that this machine trusts beyond Debian's (a company's proxy) have to be trusted inside as well
certificates() { awk '/BEGIN CERT/{c=""} {c=c $0 "|"} /END CERT/{print c}' "$1"; }
n=0
while read -r certificate; do
  n=$((n + 1))
  tr '|' '\n' <<<"$certificate" >"$root/usr/local/share/ca-certificates/host-$n.crt"
done < <(comm -13 <(certificates "$root/etc/ssl/certs/ca-certificates.crt" | sort -u) <(certificates /etc/ssl/certs/ca-certificates.crt | sort -u))
chroot "$root" update-ca-certificates >/dev/null 2>&1

install -m 0755 "$work/node/bin/node" "$root/usr/local/bin/node"
mkdir -p "$root/usr/local/lib/node_modules" "$root/usr/local/etc"
cp -r "$work/npm" "$root/usr/local/lib/node_modules/npm"
ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
ln -s ../lib/node_modules/npm/bin/npx-cli.js "$root/usr/local/bin/npx"
chmod 0755 "$root"/usr/local/lib/node_modules/npm/bin/*.js
echo 'cafile=/etc/ssl/certs/ca-certificates.crt' >"$root/usr/local/etc/npmrc"
chroot "$root" groupadd --gid 1000 node
chroot "$root" useradd --uid 1000 --gid node --shell /bin/bash --create-home node

echo "Importing it as $tag"
tar --numeric-owner --one-file-system -C "$root" -c . |
  docker import --change 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' --change "ENV NODE_VERSION=$node_version" \
    --change 'CMD ["node"]' --change 'LABEL fetch.stand-in=yes' - "$tag" >/dev/null
docker run --rm --network none "$tag" sh -c 'echo "Node $(node --version), npm $(npm --version)"'
