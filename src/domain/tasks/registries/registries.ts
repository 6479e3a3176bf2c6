import { english, type Say } from '../../texts/say.ts';
import { type AskedHost, shownHost, warningsBut } from '../egress.ts';

/**
 * Which registries the package managers of a project use, as they say themselves. No list of registries is in our
 * source.
 */

/** Files that say that a package manager has something to load. */
export const MANIFESTS: Readonly<Record<string, string>> = {
  'package.json': 'npm',
  'requirements.txt': 'pip',
  'pyproject.toml': 'pip',
  'go.mod': 'go',
  'Cargo.toml': 'cargo',
  'pom.xml': 'maven',
};

/** Package managers whose registries a check asks for, besides those above. Tasks ask when a program wants a host. */
export const CHECKED_MANAGERS = ['gradle', 'composer', 'bundler', 'dotnet'];

/**
 * Prints `<package manager> <address>` for each registry that the project in the current folder uses, of the package
 * managers in FETCH_MANAGERS. The name has a `+` for those besides the usual one. It runs in a container without a
 * network: settings and files of a project are a stranger's.
 */
export const REGISTRIES_SCRIPT = `
wanted() { case " $FETCH_MANAGERS " in *" $1 "*) command -v "\${2:-$1}" >/dev/null ;; *) false ;; esac; }
if wanted npm && [ -f package.json ] && [ ! -e node_modules ]; then
  node -e 'const { dependencies, devDependencies } = JSON.parse(require("fs").readFileSync("package.json", "utf8")); process.exit(Object.keys({ ...dependencies, ...devDependencies }).length > 0 ? 0 : 1)' &&
  npm config list --json 2>/dev/null | node -e 'for (const [key, value] of Object.entries(JSON.parse(require("fs").readFileSync(0, "utf8")))) if (/(^|:)registry$/.test(key)) console.log(key === "registry" ? "npm" : "npm+", value)'
fi
if wanted pip python3 && { [ -s requirements.txt ] || grep -qs '^dependencies' pyproject.toml; } && python3 -m pip --version >/dev/null 2>&1; then
  echo "pip \${PIP_INDEX_URL:-$(python3 -m pip config get global.index-url 2>/dev/null || python3 -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)')}"
  sed -nE 's/^(-i|--index-url|--extra-index-url)[ =]+/pip+ /p' requirements.txt 2>/dev/null
fi
if wanted go && grep -qs '^require' go.mod; then
  go env GOPROXY | tr ',|' '\\n\\n' | sed '1s/^/go /; 2,$s/^/go+ /'
fi
# these two name theirs only where they cannot reach it
if wanted cargo; then
  if [ -n "\${FETCH_MIRROR_CARGO:-}" ]; then echo "cargo $FETCH_MIRROR_CARGO"
  else CARGO_NET_RETRY=0 timeout 10 cargo fetch 2>&1 | sed -nE 's/.*Could not resolve host: ([a-z0-9.-]+).*/cargo https:\\/\\/\\1\\//p' | head -n 1
  fi
fi
if wanted maven mvn; then
  timeout 20 mvn -B test-compile 2>&1 | sed -nE 's/.*from\\/to ([^ ]+) \\((https?:[^ )]+)\\).*/\\1 \\2/p' | head -n 1 | sed -E 's/^central /maven /; t; s/^[^ ]+ /maven+ /'
fi
if wanted bundler bundle && [ -f Gemfile ]; then
  sed -nE 's/^ *source[ (]+.(https?:[a-zA-Z0-9._:\\/-]+).*/bundler \\1/p' Gemfile
  sed -nE 's/^ *remote: (https?:[^ ]+)$/bundler+ \\1/p' Gemfile.lock 2>/dev/null
fi
if wanted composer && [ -f composer.json ]; then
  composer config --list 2>/dev/null | sed -nE 's/^\\[repositories\\..*\\.url\\] (https?:[^ ]+)$/composer \\1/p'
  sed -nE 's/^ *"url": "(https?:\\/\\/[^/"]+\\/).*/composer+ \\1/p' composer.lock 2>/dev/null | sort -u
fi
if wanted dotnet && ls | grep -qE '\\.(sln|slnx|[a-z]{2}proj)$'; then
  dotnet nuget list source --format short 2>/dev/null | sed -nE 's/^E (https?:[^ ]+)$/dotnet \\1/p'
fi
if wanted gradle sh && ls | grep -q '^build.gradle'; then
  sed -nE 's/^distributionUrl=(https?)\\\\?(:.*)$/gradle+ \\1\\2/p' gradle/wrapper/gradle-wrapper.properties 2>/dev/null
  cat build.gradle* settings.gradle* 2>/dev/null | sed -nE 's/.*ur[li][ =(]+.(https?:[a-zA-Z0-9._:\\/-]+).*/gradle \\1/p'
fi
exit 0
`;

export interface Registry extends AskedHost {
  manager: string;
  /** of the registry that its package manager uses where nothing else is said; null for another one */
  address: string | null;
}

const MOST = 12;

/**
 * The registries in the output of the script, each once; what cannot be reached by TLS only where `isPlain` says so.
 */
export function registriesIn(output: string, isPlain: (at: AskedHost) => boolean): Registry[] {
  const found = new Map<string, Registry>();
  for (const line of output.slice(0, 20_000).split('\n')) {
    const [, manager, further, address] =
      /^(npm|pip|go|cargo|maven|gradle|composer|bundler|dotnet)(\+?) (https?:\/\/\S{1,500})$/.exec(line) ?? [];
    const url = address === undefined ? null : URL.parse(address);
    if (!manager || !url || !/^[a-z0-9_.-]+$/.test(url.hostname)) continue;
    const at = {
      host: url.hostname.replace(/\.$/, ''),
      port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    };
    if (url.protocol === 'http:' && !isPlain(at)) continue;
    const known = found.get(`${at.host}:${at.port}`);
    const usual = further || url.username || url.password ? null : url.href;
    if (!known) found.set(`${at.host}:${at.port}`, { manager, ...at, address: usual });
    else if (known.manager === manager) known.address ??= usual;
  }
  return [...found.values()].slice(0, MOST);
}

export const registryOptions = (say: Say = english): string[] => [say('button.yes'), say('button.no')];

const KNOWN = ['npm', 'pip', 'go', 'cargo', 'maven'] as const;

/** The question before the first task of a project. `tools`: the package managers. `own`: the owner's mirrors. */
export function registryQuestion(
  {
    workspace,
    tools,
    hosts,
    own = [],
  }: { workspace: string; tools: readonly string[]; hosts: readonly AskedHost[]; own?: readonly AskedHost[] },
  say: Say = english,
): string {
  const [tool] = tools;
  const known = tools.length === 1 ? KNOWN.find((each) => each === tool) : undefined;
  const what = known ? say(`registry.${known}`) : say('registry.other', { tools: say.list(tools) });
  const shown = hosts.map((host) => shownHost(host, say));
  const question =
    hosts.length === 1
      ? say('registry.one', { workspace, what, host: shown[0]! })
      : [say('registry.many', { workspace, what }), ...shown.map((host) => `- ${host}`)].join('\n');
  return [question, ...warningsBut(own, hosts, say)].join('\n');
}
