import { readFileSync, writeFileSync } from 'node:fs';
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
const AGENTS = '**/kennel/agents/registry.ts';
const STORES = [...GROUND, ...ROOT_FILES, COUNTS, 'store', 'adapters'];

/**
 * Who may import whom. A folder imports only folders that stand above it in this table. `node scripts/import-table.ts` writes the table into biome.json. A test
 * compares the two, and tries one forbidden import of each kind in each folder.
 */
export const IMPORT_TABLE: Record<string, FolderRules> = {
  contracts: { imports: [], packages: [] },
  domain: { imports: ['contracts'], packages: ['chrono-node/en', 'croner', 'yaml', 'zod'] },
  workflows: { imports: GROUND, packages: ['@temporalio/workflow', '@temporalio/common'] },
  telemetry: { imports: [], packages: [] },
  store: { imports: GROUND, owns: ['kysely', 'pg', 'pg-copy-streams'] },
  adapters: { imports: [...GROUND, ...ROOT_FILES] },
  'adapters/model': { imports: [...GROUND, ...ROOT_FILES, COUNTS, 'adapters'], owns: ['openai', '@ai-sdk/anthropic', '@ai-sdk/google'] },
  'adapters/tracing': {
    imports: [...GROUND, ...ROOT_FILES, COUNTS],
    owns: ['api', 'resources', 'sdk-trace-base', 'exporter-trace-otlp-http', 'exporter-trace-otlp-proto'].map((name) => `@opentelemetry/${name}`),
  },
  'adapters/github': { imports: [...GROUND, ...ROOT_FILES, 'adapters'], owns: ['@octokit/core', '@octokit/request-error'] },
  'adapters/kennel': { imports: [...GROUND, ...ROOT_FILES, 'store', 'adapters'], owns: ['dockerode', 'make-fetch-happen', 'cacache'] },
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
  'gateway/intake': { imports: STORES },
  'gateway/channels': { imports: [...STORES, 'gateway/intake'] },
  'gateway/channels/whatsapp': { imports: [...STORES, 'gateway/intake', 'gateway/channels'], owns: ['@whiskeysockets/baileys'] },
  activities: { imports: [...STORES, 'tools', 'gateway/intake', 'gateway/channels'] },
  api: { imports: [...STORES, 'tools', 'gateway/intake', 'gateway/channels'], owns: ['koa', '@koa/router'] },
  client: { imports: GROUND },
  page: { imports: GROUND, packages: ['preact', 'preact/hooks', 'eventsource-parser'], owns: ['preact', 'preact/hooks'] },
  cli: {
    imports: [...STORES, 'tools', 'gateway/intake', 'gateway/channels', 'activities', 'api', 'client'],
    owns: ['@temporalio/worker', 'commander', '@clack/prompts'],
  },
};

const within = (folder: string, outer: string): boolean => folder === outer || folder.startsWith(`${outer}/`);
const tops = [...Object.keys(IMPORT_TABLE).filter((name, _, all) => !all.some((other) => other !== name && within(name, other))), ...ROOT_FILES];
const owners = Object.entries(IMPORT_TABLE).flatMap(([folder, { owns = [] }]) => owns.map((name) => ({ name, folder })));

/** Folders and files of `src` that this folder must not import. */
export const forbiddenFolders = (folder: string): string[] => tops.filter((top) => !within(folder, top) && !IMPORT_TABLE[folder]!.imports.includes(top));

/** Packages with an owner that this folder must not import. */
export const forbiddenPackages = (folder: string): { name: string; folder: string }[] => owners.filter((owner) => !within(folder, owner.folder));

/** The options of Biome's `noRestrictedImports` for a folder of `src`; null: for the files in `src` itself. */
function restrictions(folder: string | null): object {
  const rules: FolderRules = folder ? IMPORT_TABLE[folder]! : { imports: [...GROUND, ...ROOT_FILES] };
  const refused = folder ? forbiddenFolders(folder) : tops.filter((top) => !rules.imports.includes(top));
  const fenced = folder ? forbiddenPackages(folder) : owners;
  const groups = refused.flatMap((top) => {
    if (ROOT_FILES.includes(top)) return [`**/${top}.ts`];
    // packages have folders of this name, too
    if (top === 'client') return [1, 2, 3, 4, 5].map((up) => `${'../'.repeat(up)}client/**`);
    return [`**/${top.split('/').at(-1)}/**`];
  });
  const where = folder ? `src/${folder}` : 'src';
  return {
    paths: Object.fromEntries(fenced.map(({ name, folder: owner }) => [name, `Only src/${owner} imports ${name}.`])),
    patterns: [
      ...(rules.packages
        ? [
            {
              group: ['**', '!./**', '!../**', ...rules.packages.map((name) => `!${name}`)],
              message: `${where} imports ${[...rules.packages, 'nothing else from outside'].join(', ')}.`,
            },
          ]
        : []),
      {
        group: [
          ...groups,
          ...(folder === 'cli' ? [] : ['**/temporal/*.ts']),
          ...['**/kennel/runner/**', '**/kennel/workspace/**', '**/kennel/agents/**', ...(folder === 'workflows' ? [] : [`!${AGENTS}`])],
          '**/tests/**',
        ],
        message: `Arrows point one way: ${where} imports ${rules.imports.length > 0 ? rules.imports.join(', ') : 'no other folder'}. See scripts/import-table.ts.`,
      },
    ],
  };
}

const rule = (options: object) => ({ linter: { rules: { style: { noRestrictedImports: { level: 'error', options } } } } });

/** The overrides of biome.json that fence the folders. A later override replaces an earlier one, so inner folders come after outer ones. */
export const overrides = (): object[] => [
  { includes: ['src/*.ts'], ...rule(restrictions(null)) },
  ...Object.keys(IMPORT_TABLE).map((folder) => ({ includes: [`src/${folder}/**`], ...rule(restrictions(folder)) })),
  {
    includes: ['kennel/**'],
    ...rule({
      patterns: [
        {
          group: ['**/src/**', '!**/src/contracts/**', '**/temporal/**', '**/tests/**', '**/registry.ts', '**/facts.ts'],
          message: 'What runs inside a container knows the contracts and nothing else of the host.',
        },
      ],
    }),
  },
  {
    includes: ['kennel/agents/registry.ts', 'kennel/agents/facts.ts', 'kennel/agents/*/facts.ts'],
    ...rule({
      patterns: [
        { group: ['**', '!**/facts.ts', '!**/src/contracts/**'], message: 'Facts of agents import facts and contracts: every part of the host reads them.' },
      ],
    }),
  },
  {
    includes: ['temporal/**'],
    ...rule({ patterns: [{ group: ['**/src/**', '**/kennel/**', '**/tests/**'], message: 'Getting a Temporal server needs nothing of the product.' }] }),
  },
];

if (import.meta.main) {
  const file = fileURLToPath(new URL('../biome.json', import.meta.url));
  const config = JSON.parse(readFileSync(file, 'utf8'));
  const own = config.overrides.filter((override: { linter: { rules: { style: object } } }) => !('noRestrictedImports' in override.linter.rules.style));
  writeFileSync(file, `${JSON.stringify({ ...config, overrides: [...own, ...overrides()] }, null, 2)}\n`);
}
