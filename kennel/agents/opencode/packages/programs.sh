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
