#!/usr/bin/env bash
# Package managers that a repository names, as NAME or NAME@VERSION. An exact version that cannot be had is replaced by the newest.
set -euo pipefail
bin=/opt/environment/bin
node=/opt/environment/managers/node
python=/opt/environment/managers/python

# the npm of the base image runs on the Node of today, whatever Node the repository wants
npm_install() {
  # npm would look for the settings of the system below the other prefix
  PATH=/usr/local/bin:/usr/bin:/bin npm install --global --prefix "$node" --globalconfig /usr/local/etc/npmrc --no-audit --no-fund --loglevel=error "$1"
}
# Corepack is not used: it would load the manager in every container
from_npm() {
  npm_install "$2@$3" || npm_install "$2@$4"
  for program in "$node"/bin/*; do ln -sf "$program" "$bin/"; done
}
from_pip() {
  [ -x "$python/$1/bin/pip" ] || python3 -m venv "$python/$1"
  "$python/$1/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check "$1${2:+==$2}" ||
    "$python/$1/bin/pip" install --quiet --no-cache-dir --disable-pip-version-check "$1"
  ln -sf "$python/$1/bin/$1" "$bin/"
}

# what still runs on an older Node
case "$("$bin/node" --version 2>/dev/null || true)" in
  v14.*) pnpm=7 ;;
  v16.*) pnpm=8 ;;
  *) pnpm=10 ;;
esac
for each in "$@"; do
  name=${each%%@*}
  version=${each#"$name"}
  version=${version#@}
  case "$name" in
    pnpm) from_npm pnpm pnpm "${version:-$pnpm}" "$pnpm" ;;
    bun) from_npm bun bun "${version:-1}" 1 ;;
    yarn)
      case "$version" in
        '' | 1 | 1.*) from_npm yarn yarn "${version:-1.22.22}" 1.22.22 ;;
        berry) from_npm yarn @yarnpkg/cli-dist 4 4 ;;
        *) from_npm yarn @yarnpkg/cli-dist "$version" 4 ;;
      esac
      ;;
    poetry | uv | pdm | pipenv) from_pip "$name" "$version" ;;
    *) echo "There is no package manager $name here." >&2; exit 1 ;;
  esac
done
rm -rf /root/.npm /root/.cache
chmod -R a+rX /opt/environment
for each in "$@"; do "$bin/${each%%@*}" --version; done
