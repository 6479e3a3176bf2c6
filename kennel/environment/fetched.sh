#!/usr/bin/env bash
# Runs a program with what package managers fetched in a task of this workspace (/run/fetch-fetched, read only). The agent could write all of it, and settings, shims and caches of results
# could make red tests green. So HOME is a new one, and only packages are taken over: where the project has their checksums (go.sum, Cargo.lock), by these.
set -uo pipefail
from=/run/fetch-fetched
has() { [ -d "$from/$1" ]; }

if has go/pkg/mod/cache/download; then
  # Go unpacks it again and compares it with go.sum
  export GOPROXY="file://$from/go/pkg/mod/cache/download" GOSUMDB=off
fi
if has .cargo/registry/cache && [ -f Cargo.lock ]; then
  mkdir -p "$CARGO_HOME/registry/cache"
  cp -r "$from/.cargo/registry/index" "$CARGO_HOME/registry/"
  sums=$(awk '$1 == "name" { gsub(/"/, ""); name = $3 } $1 == "version" { gsub(/"/, ""); version = $3 }
    $1 == "checksum" { gsub(/"/, ""); print $3 "  " name "-" version ".crate" }' Cargo.lock)
  for registry in "$from"/.cargo/registry/cache/*/; do
    to=$CARGO_HOME/registry/cache/$(basename "$registry")
    mkdir -p "$to"
    (cd "$registry" && sha256sum --check --ignore-missing - <<<"$sums") | sed -n 's/: OK$//p' |
      while IFS= read -r crate; do ln -s "$registry$crate" "$to/$crate"; done
  done
  registry=$(sed -nE 's/^registry = "(sparse\+https?:\/\/[A-Za-z0-9._:\/~-]+)"$/\1/p' "$from/.cargo/config.toml" 2>/dev/null | head -n 1)
  [ -z "$registry" ] ||
    printf '[source.crates-io]\nreplace-with = "owner"\n[source.owner]\nregistry = "%s"\n' "$registry" >"$CARGO_HOME/config.toml"
  export CARGO_NET_OFFLINE=true
fi
if has .cargo/git/db; then
  mkdir -p "$CARGO_HOME/git"
  ln -s "$from/.cargo/git/db" "$CARGO_HOME/git/db"
fi
if has .m2/repository; then
  mkdir -p "$HOME/.m2"
  ln -s "$from/.m2/repository" "$HOME/.m2/repository"
  # Maven takes a package only from the registry that it was fetched from
  mirror=$(sed -nE 's/.*<mirrorOf>(\*|central)<\/mirrorOf><url>(https?:\/\/[^<>"]+)<\/url>.*/\1 \2/p' "$from/.m2/settings.xml" 2>/dev/null | head -n 1)
  [ -z "$mirror" ] ||
    printf '<settings><mirrors><mirror><id>owner</id><mirrorOf>%s</mirrorOf><url>%s</url></mirror></mirrors></settings>\n' \
      "${mirror%% *}" "${mirror#* }" >"$HOME/.m2/settings.xml"
fi
# Gradle locks what it reads
for folder in caches/modules-2 wrapper/dists; do
  has ".gradle/$folder" && mkdir -p "$GRADLE_USER_HOME/$(dirname $folder)" && cp -r "$from/.gradle/$folder" "$GRADLE_USER_HOME/$folder"
done
# its packages are loaded from there, without a node_modules
has .yarn/berry/cache && mkdir -p "$HOME/.yarn/berry" && ln -s "$from/.yarn/berry/cache" "$HOME/.yarn/berry/cache"
has .gem && ln -s "$from/.gem" "$HOME/.gem"
if has .local/lib && command -v python3 >/dev/null; then
  # after the modules of the image, and without the files by which a package runs code at the start of Python
  user=$(python3 -c 'import site; print(site.getusersitepackages())')
  mkdir -p "$user"
  cat >"$user/usercustomize.py" <<'PYTHON'
import glob, os, sys
fetched = "/run/fetch-fetched/.local/lib/python%d.%d/site-packages" % sys.version_info[:2]
if os.path.isdir(fetched):
    sys.path.append(fetched)
    # the project itself, installed for editing
    for name in glob.glob(fetched + "/*.pth"):
        with open(name, errors="replace") as lines:
            sys.path.extend(line for line in map(str.strip, lines) if line.startswith("/workspace") and os.path.isdir(line))
PYTHON
fi
exec "$@"
