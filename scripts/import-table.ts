import { globSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a folder of the source may import besides itself and packages without an owner. */
export interface FolderRules {
  /** other folders of `src` (or files, without extension) */
  imports: readonly string[];
  /** packages that only this folder may import */
  owns?: readonly string[];
  /** when set, the only packages that it may import, because it runs in a sandbox without others */
  packages?: readonly string[];
}

const ROOT_FILES = ['config', 'log', 'installation'];
const GROUND = ['contracts', 'domain'];
/** Whoever does something may count it. */
const COUNTS = 'telemetry';
/** The list of coding agents: data, and all that the host may import of what runs inside containers. */
const AGENTS = 'kennel/agents/registry.ts';
const STORES = [...GROUND, ...ROOT_FILES, COUNTS, 'store', 'adapters'];

/**
 * Who may import whom. A folder imports only folders that stand above it in this table. `node scripts/import-table.ts`
 * writes the table into biome.imports.json. A test compares the two, follows every import of the source to its file,
 * and tries one forbidden import of each kind in each folder.
 */
export const IMPORT_TABLE: Record<string, FolderRules> = {
  contracts: { imports: [], packages: [] },
  domain: {
    imports: ['contracts'],
    packages: ['@formatjs/intl', 'chrono-node/en', 'croner', 'htmlparser2', 'yaml', 'zod'],
  },
  workflows: { imports: GROUND, packages: ['@temporalio/workflow', '@temporalio/common'] },
  telemetry: { imports: [], packages: [] },
  store: { imports: GROUND, owns: ['kysely', 'pg', 'pg-copy-streams'] },
  adapters: { imports: [...GROUND, ...ROOT_FILES] },
  'adapters/model': {
    imports: [...GROUND, ...ROOT_FILES, COUNTS, 'adapters'],
    owns: ['openai', '@ai-sdk/anthropic', '@ai-sdk/google'],
  },
  'adapters/tracing': {
    imports: [...GROUND, ...ROOT_FILES, COUNTS],
    owns: ['api', 'resources', 'sdk-trace-base', 'exporter-trace-otlp-http', 'exporter-trace-otlp-proto'].map(
      (name) => `@opentelemetry/${name}`,
    ),
  },
  'adapters/github': {
    imports: [...GROUND, ...ROOT_FILES, 'adapters'],
    owns: ['@octokit/core', '@octokit/request-error'],
  },
  'adapters/kennel': {
    imports: [...GROUND, ...ROOT_FILES, 'store', 'adapters'],
    owns: ['dockerode', 'make-fetch-happen', 'cacache'],
  },
  'adapters/mcp': {
    imports: [...GROUND, ...ROOT_FILES, 'store', 'adapters'],
    owns: [
      'client/index.js',
      'client/auth.js',
      'client/streamableHttp.js',
      'shared/transport.js',
      'shared/auth.js',
      'server/auth/errors.js',
      'server/index.js',
      'server/streamableHttp.js',
      'types.js',
    ].map((file) => `@modelcontextprotocol/sdk/${file}`),
  },
  tools: { imports: STORES },
  gateway: { imports: STORES },
  'gateway/channels/whatsapp': { imports: [...STORES, 'gateway'], owns: ['@whiskeysockets/baileys'] },
  activities: { imports: [...STORES, 'tools', 'gateway'] },
  api: { imports: [...STORES, 'tools', 'gateway'], owns: ['koa', '@koa/router'] },
  client: { imports: GROUND, packages: ['eventsource-parser'] },
  page: {
    imports: [...GROUND, 'client'],
    packages: ['preact', 'preact/hooks'],
    owns: ['preact', 'preact/hooks'],
  },
  cli: {
    imports: [...STORES, 'tools', 'gateway', 'activities', 'api', 'client'],
    owns: ['@temporalio/worker', 'commander', '@clack/prompts'],
  },
};

/** Folders that stand side by side in a folder, the lowest first. Each imports only those before it. */
export const LAYERS: Record<string, readonly string[]> = {
  store: ['schema', 'postgres', 'chats', 'turns', 'whatsapp', 'telegram', 'home', 'kennel', 'routines', 'owner'],
  gateway: ['intake', 'channels'],
  cli: ['instance', 'chat', 'setup', 'checks', 'roles', 'home', 'protocols', 'commands'],
};

const within = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`);
const layers = Object.entries(LAYERS).flatMap(([outer, inner]) => inner.map((name) => `${outer}/${name}`));
const owners = Object.entries(IMPORT_TABLE).flatMap(([folder, { owns = [] }]) =>
  owns.map((name) => ({ name, folder })),
);

/** Folders of `src` with rules of their own; an inner one after its outer one. */
export const FOLDERS = [...new Set([...Object.keys(IMPORT_TABLE), ...layers])].sort();

/** What a folder may import besides itself. */
function importsOf(folder: string): readonly string[] {
  const outer = folder.split('/')[0]!;
  const { imports } = IMPORT_TABLE[folder] ?? IMPORT_TABLE[outer]!;
  const at = layers.findIndex((layer) => within(folder, layer));
  const lower = at < 0 ? [] : layers.slice(0, at).filter((layer) => within(layer, outer));
  return [...imports.filter((name) => at < 0 || name !== outer), ...lower, ...(at < 0 ? [] : [layers[at]!])];
}

/**
 * The folder whose rules hold for a file; null for the files in `src` itself. Paths are relative to `src`, without
 * extension.
 */
const ruledBy = (file: string): string | null => FOLDERS.findLast((folder) => within(file, folder)) ?? null;

/** Whether a file of `src` may import what lies at a path. Paths are relative to the root of the project. */
export function mayImport(file: string, target: string): boolean {
  const folder = ruledBy(file.replace(/^src\//, ''));
  if (!within(target, 'src')) {
    if (target === AGENTS) return folder !== 'workflows' && folder !== 'contracts';
    return target === 'package.json' || (within(target, 'temporal') && folder !== null && within(folder, 'cli'));
  }
  const path = target.replace(/^src\//, '').replace(/\.tsx?$/, '');
  const allowed = folder ? [folder, ...importsOf(folder)] : [...GROUND, ...ROOT_FILES];
  return allowed.some((name) => within(path, name));
}

/** A file of `src` that lies there. */
const fileIn = (name: string): string => (ROOT_FILES.includes(name) ? `src/${name}.ts` : `src/${name}/file.ts`);

/**
 * Folders and files of `src` that this folder must not import; of a folder inside another one, the outer one where that
 * holds for all of it.
 */
export const forbiddenFolders = (folder: string): string[] =>
  [...FOLDERS, ...ROOT_FILES]
    .filter((name) => !within(folder, name) && !mayImport(fileIn(folder), fileIn(name)))
    .filter((name, _, all) => !all.some((other) => other !== name && within(name, other)));

/** Packages with an owner that this folder must not import. */
export const forbiddenPackages = (folder: string): { name: string; folder: string }[] =>
  owners.filter((owner) => !within(folder, owner.folder));

/** How deep files lie in a folder at most. A test finds a file that lies deeper. */
export const DEPTHS = [0, 1, 2, 3, 4];

/** A path as a file writes it that lies in `from`. */
function written(from: string, target: string): string {
  const path = posix.relative(from, target);
  return path.startsWith('.') ? path : `./${path}`;
}

/**
 * The options of Biome's `noRestrictedImports` for files that lie `depth` folders deep in a folder of `src`; null: for
 * the files in `src` itself.
 */
function restrictions(folder: string | null, depth: number): object {
  const place = ['src', ...(folder ? [folder] : []), ...Array(depth).fill('x')].join('/');
  const rules: FolderRules = (folder && IMPORT_TABLE[folder]) || {
    imports: folder ? importsOf(folder) : [...GROUND, ...ROOT_FILES],
  };
  const refused = folder
    ? forbiddenFolders(folder)
    : [...Object.keys(IMPORT_TABLE), ...ROOT_FILES].filter((top) => !rules.imports.includes(top));
  const fenced = folder ? forbiddenPackages(folder) : owners;
  const where = folder ? `src/${folder}` : 'src';
  const packages = (folder && (IMPORT_TABLE[folder] ?? IMPORT_TABLE[folder.split('/')[0]!])?.packages) || null;
  const outside = [
    'kennel/runner',
    'kennel/workspace',
    'kennel/agents',
    'tests',
    ...(folder && within(folder, 'cli') ? [] : ['temporal']),
  ];
  return {
    paths: Object.fromEntries(fenced.map(({ name, folder: owner }) => [name, `Only src/${owner} imports ${name}.`])),
    patterns: [
      ...(packages
        ? [
            {
              group: ['**', '!./**', '!../**', ...packages.map((name) => `!${name}`)],
              message: `${where} imports ${[...packages, 'nothing else from outside'].join(', ')}.`,
            },
          ]
        : []),
      {
        group: [
          ...refused.map((name) => written(place, `src/${name}`) + (ROOT_FILES.includes(name) ? '.ts' : '/**')),
          ...outside.map((name) => `${written(place, name)}/**`),
          ...(folder && mayImport(fileIn(folder), AGENTS) ? [`!${written(place, AGENTS)}`] : []),
        ],
        message: `Arrows point one way: ${where} imports ${rules.imports.length > 0 ? rules.imports.join(', ') : 'no other folder'}. See scripts/import-table.ts.`,
      },
    ],
  };
}

const rule = (options: object) => ({
  linter: { rules: { style: { noRestrictedImports: { level: 'error', options } } } },
});

const root = fileURLToPath(new URL('..', import.meta.url));

const places = globSync('src/**/*.{ts,tsx}', { cwd: root }).map((file) => posix.dirname(file));

/** The depths at which files lie in a folder now. */
export function depthsInUse(folder: string): number[] {
  const depths = places.filter((place) => within(place, `src/${folder}`)).map((place) => place.split('/').length);
  return DEPTHS.filter((depth) => depths.includes(depth + `src/${folder}`.split('/').length));
}

/**
 * The overrides of the linter that fence the folders. A later override replaces an earlier one, so inner folders come
 * after outer ones. The linter reads all of them for each file: those of the depths in use take it half a minute less.
 */
export const overrides = (depthsOf: (folder: string) => readonly number[]): object[] => [
  { includes: ['src/*.ts'], ...rule(restrictions(null, 0)) },
  ...FOLDERS.flatMap((folder) =>
    depthsOf(folder).map((depth) => ({
      includes: ['ts', 'tsx'].map((extension) => `src/${folder}/${'*/'.repeat(depth)}*.${extension}`),
      ...rule(restrictions(folder, depth)),
    })),
  ),
  {
    includes: ['kennel/**'],
    ...rule({
      patterns: [
        {
          group: [
            '**/src/**',
            '!**/src/contracts/**',
            '**/temporal/**',
            '**/tests/**',
            '**/registry.ts',
            '**/facts.ts',
          ],
          message: 'What runs inside a container knows the contracts and nothing else of the host.',
        },
      ],
    }),
  },
  {
    includes: ['kennel/agents/registry.ts', 'kennel/agents/facts.ts', 'kennel/agents/*/facts.ts'],
    ...rule({
      patterns: [
        {
          group: ['**', '!**/facts.ts', '!**/src/contracts/**'],
          message: 'Facts of agents import facts and contracts: every part of the host reads them.',
        },
      ],
    }),
  },
  {
    includes: ['temporal/**'],
    ...rule({
      patterns: [
        {
          group: ['**/src/**', '!**/src/contracts/user-error.ts', '**/kennel/**', '**/tests/**'],
          message: 'Getting a Temporal server needs nothing of the product but its class of errors for people.',
        },
      ],
    }),
  },
];

if (import.meta.main) {
  writeFileSync(
    posix.join(root, 'biome.imports.json'),
    `{\n"overrides": [\n${overrides(depthsInUse)
      .map((each) => JSON.stringify(each))
      .join(',\n')}\n]\n}\n`,
  );
}
