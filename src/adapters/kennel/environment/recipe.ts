import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Devcontainer, FoundEnvironment, Language, Service } from '../../../contracts/environment.ts';
import { SETUP_PRESENT } from '../../../contracts/kennel.ts';
import type { Told } from '../../../domain/texts/say.ts';
import { PACKAGE_ROOT } from '../../../installation.ts';
import { installedFor, LABELS } from './versions.ts';

/** The recipe of an image of a repository. Repositories with the same recipe share the image. */
export interface Recipe {
  /** languages and services, for people */
  title: string;
  /** Debian packages, sorted */
  packages: string[];
  /** scripts of `kennel/environment` with their argument */
  scripts: Array<[name: string, argument: string]>;
  services: Service[];
  /** another base than ours, to which a person agreed */
  base: Pick<Devcontainer, 'image' | 'dockerfile' | 'copied' | 'args'> | null;
  /** bash script that an agent proposed and a person agreed to */
  script: string | null;
}

/**
 * Debian packages of each language. Test runners are among them, because most tests of small projects then run without
 * any registry.
 */
const LANGUAGE_PACKAGES: Record<Language, readonly string[]> = {
  node: [],
  python: ['python3', 'python3-dev', 'python3-pip', 'python3-pytest', 'python3-venv', 'python-is-python3'],
  go: [],
  rust: ['cargo-web', 'libssl-dev', 'pkg-config', 'rust-web-clippy', 'rustc-web', 'rustfmt-web'],
  java: ['default-jdk-headless', 'gradle', 'junit4', 'maven'],
  c: ['build-essential', 'cmake', 'ninja-build', 'pkg-config'],
  php: ['composer', 'php-cli', 'php-curl', 'php-intl', 'php-mbstring', 'php-sqlite3', 'php-xml', 'php-zip', 'phpunit'],
  ruby: ['bundler', 'rake', 'ruby', 'ruby-dev', 'ruby-minitest', 'ruby-rspec', 'ruby-test-unit'],
};
/** Compilers for packages of these languages that bring C. */
const COMPILES: ReadonlySet<Language> = new Set(['python', 'go', 'ruby']);
const SERVICE_PACKAGES: Record<Service, readonly string[]> = {
  postgresql: ['postgresql', 'postgresql-client'],
  redis: ['redis-server'],
  mysql: ['mariadb-client', 'mariadb-server'],
};
/** What the programs of the kennel need on a base that is not ours. */
const FOR_NODE = ['libatomic1', 'libstdc++6'];
const SCRIPTS = ['enter.sh', 'go.sh', 'managers.sh', 'node.sh'];
/** The programs of the environment, before every other on PATH. */
const BIN = '/opt/environment/bin';
const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/**
 * The recipe, and what a person should know of the versions. A null recipe needs no image of its own. `agreed`: its
 * devcontainer may be used.
 */
export function recipeOf(
  found: FoundEnvironment,
  agreed: boolean,
  script: string | null = null,
): { recipe: Recipe | null; notes: Told[] } {
  const packages = new Set(found.packages);
  const scripts: Recipe['scripts'] = [];
  const notes: Told[] = [];
  const { devcontainer } = found;
  const base = agreed && devcontainer && (devcontainer.image ?? devcontainer.dockerfile) !== null ? devcontainer : null;
  // its own base has the languages of its other files: a second one of ours would hide them
  for (const wanted of base ? found.languages.filter(({ file }) => file === base.file) : found.languages) {
    const { version, note } = installedFor(wanted);
    if (note) notes.push(note);
    for (const name of LANGUAGE_PACKAGES[wanted.language]) packages.add(name);
    if (COMPILES.has(wanted.language)) packages.add('build-essential');
    if (wanted.language === 'go') scripts.push(['go.sh', version ?? '']);
    if (wanted.language === 'node' && version !== null) scripts.push(['node.sh', version]);
  }
  // its own base has what its files need, too
  const managers = base ? [] : found.managers;
  if (managers.length > 0)
    scripts.push([
      'managers.sh',
      managers.map(({ name, version }) => (version === null ? name : `${name}@${version}`)).join(' '),
    ]);
  if (base) for (const name of FOR_NODE) packages.add(name);
  for (const service of found.services) for (const name of SERVICE_PACKAGES[service]) packages.add(name);
  const title =
    [
      ...found.languages.map(({ language }) => LABELS[language]),
      ...managers.map(({ name }) => name),
      ...found.services,
      ...(script === null ? [] : ['a setup script']),
    ].join(', ') || 'packages';
  const recipe: Recipe = {
    title: base ? `${base.file}, ${title}` : title,
    packages: [...packages].sort(),
    scripts,
    services: [...found.services].sort(),
    base: base && { image: base.image, dockerfile: base.dockerfile, copied: base.copied, args: base.args },
    script,
  };
  return { recipe: recipe.packages.length + scripts.length === 0 && !base && script === null ? null : recipe, notes };
}

const SETUP_FILE = 'setup.sh';

/** Files beside the Dockerfile of a recipe, by name. */
export const filesOf = ({ script }: Recipe): Record<string, string> => ({
  ...scriptFiles(),
  ...(script !== null && { [SETUP_FILE]: script }),
});

const scriptFiles = (): Record<string, string> =>
  Object.fromEntries(
    SCRIPTS.map((name) => [
      `environment/${name}`,
      readFileSync(join(PACKAGE_ROOT, 'kennel/environment', name), 'utf8'),
    ]),
  );

/**
 * The Dockerfile of a recipe. What changes seldom comes first: the layers of the languages stay when the runner or the
 * agent changes. `kennel`: the image with the runner and the agent. Its first instruction is that of
 * `kennel/Dockerfile`, whose layer the engine then uses again.
 */
export function dockerfileOf(
  recipe: Recipe,
  at: { base: string; kennel: string; user: { uid: number; gid: number } },
): string {
  const { uid, gid } = at.user;
  const lines = [
    `FROM ${at.base}`,
    ...(recipe.base ? ['USER 0:0', 'SHELL ["/bin/sh", "-c"]', `RUN ${CHECK}`] : []),
    ...packageLines(recipe),
    'COPY environment /opt/environment',
    `RUN mkdir -p ${BIN} && chmod -R a+rX /opt/environment`,
    // another base has no Node of ours; what an agent of ours runs with stays apart from what the repository wants
    `COPY --from=${at.kennel} /usr/local/bin/node /opt/fetch/bin/node`,
    ...(recipe.base
      ? [
          `COPY --from=${at.kennel} /usr/local/lib/node_modules/npm /opt/environment/npm-own`,
          'RUN command -v node >/dev/null || { ln -s /opt/fetch/bin/node /opt/environment/bin/node && ln -s /opt/environment/npm-own/bin/npm-cli.js /opt/environment/bin/npm && ln -s /opt/environment/npm-own/bin/npx-cli.js /opt/environment/bin/npx; }',
        ]
      : []),
    `ENV PATH=${BIN}:/run/fetch/home/.local/bin:/opt/agent/bin:${recipe.base ? `\${PATH:-${SYSTEM_PATH}}` : SYSTEM_PATH} LANG=C.UTF-8 FETCH_SERVICES="${recipe.services.join(' ')}"`,
    ...recipe.scripts.map(([name, argument]) => `RUN bash /opt/environment/${name} ${argument}`.trim()),
    // it may use all of the above, and what changes more often comes after it
    ...(recipe.script === null
      ? []
      : [
          `COPY ${SETUP_FILE} /opt/environment/`,
          `RUN DEBIAN_FRONTEND=noninteractive bash /opt/environment/${SETUP_FILE}`,
          `ENV ${SETUP_PRESENT}=${createHash('sha256').update(recipe.script).digest('hex')}`,
        ]),
    // a login shell sets PATH again
    `RUN printf 'PATH="%s"\\n' "$PATH" >/etc/profile.d/fetch-environment.sh`,
    `RUN { getent group ${gid} >/dev/null || groupadd --gid ${gid} kennel; } && { getent passwd ${uid} >/dev/null || useradd --uid ${uid} --gid ${gid} --no-create-home --home-dir /run/fetch/home --shell /bin/bash kennel; } && mkdir -p /workspace /run/fetch /home/kennel`,
    `COPY --from=${at.kennel} --chown=${uid}:${gid} /opt/fetch /opt/fetch`,
    `COPY --from=${at.kennel} /opt/agent /opt/agent`,
    'ENV NODE_COMPILE_CACHE=/opt/fetch/compiled',
    ...(recipe.base ? ['RUN /opt/fetch/bin/node --version'] : []),
    'WORKDIR /workspace',
    'ENTRYPOINT ["bash", "/opt/environment/enter.sh"]',
    'CMD ["/opt/fetch/bin/node", "/opt/fetch/kennel/runner/main.ts"]',
    `USER ${uid}:${gid}`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Other systems have other packages. */
export const OTHER_SYSTEM = 'fetch: this base is neither Debian nor Ubuntu';
const CHECK = `command -v apt-get >/dev/null || { echo '${OTHER_SYSTEM}' >&2; exit 1; }`;

/** Packages with manual pages for alternatives fail where a slim image has no folder for them. */
const install = (packages: readonly string[]): string =>
  `RUN mkdir -p /usr/share/man/man1 /usr/share/man/man7 && apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends ${packages.join(' ')} && apt-get clean && rm -rf /var/lib/apt/lists/*`;

function packageLines({ base, packages }: Recipe): string[] {
  const ofKennel = systemPackages();
  // another base shares no layer with the kennel, so everything is installed at once: the lists are fetched once
  if (base) return [install([...ofKennel.names, ...packages])];
  return [ofKennel.instruction, ...(packages.length > 0 ? [install(packages)] : [])];
}

/** The instruction of `kennel/Dockerfile` that installs what the runner needs, word by word, and the packages in it. */
function systemPackages(): { instruction: string; names: string[] } {
  const dockerfile = readFileSync(join(PACKAGE_ROOT, 'kennel/Dockerfile'), 'utf8');
  const instruction = /^RUN apt-get update(?:.*\\\n)*.*$/m.exec(dockerfile)?.[0];
  const names = /apt-get install -y --no-install-recommends ([a-z0-9+. -]+)/
    .exec(instruction ?? '')?.[1]
    ?.trim()
    .split(' ');
  if (!instruction || !names) throw new Error('kennel/Dockerfile installs no packages');
  return { instruction, names };
}
