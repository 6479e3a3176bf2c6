import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { INSTALLED_AGENT_NAMES } from '../kennel/agents/registry.ts';
import { PACKAGE_ROOT } from '../src/installation.ts';

/**
 * Says which coding agents are behind the newest release of their packages, and ends with 1 when one is. With names of
 * agents it pins their newest releases and tries them in their containers: an edit, a question over a kill, a cancel.
 * When one of these fails, the former pins are written back.
 */

/** Titles of the situations in `tests/support/providers`. */
const TRIED = [
  'edits a file, runs a command and finishes',
  'asks the person, and hears the answer after the workers were killed',
  'stops a long command when it is cancelled',
];

interface Pins {
  /** folder with package.json and package-lock.json */
  folder: string;
  packages: Array<{ name: string; pinned: string; newest: string }>;
}

type Manifest = { [section in 'dependencies' | 'optionalDependencies']?: Record<string, string> };

const read = (folder: string): Manifest => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;

function pinsOf(agent: string): Pins[] {
  return ['cli', 'acp'].flatMap((part) => {
    const folder = join(PACKAGE_ROOT, 'kennel/agents', agent, 'packages', part);
    if (!existsSync(folder)) return [];
    const { dependencies, optionalDependencies } = read(folder);
    const packages = Object.entries({ ...dependencies, ...optionalDependencies }).map(([name, pinned]) => ({
      name,
      pinned,
      newest: execFileSync('npm', ['view', name, 'version'], { encoding: 'utf8' }).trim(),
    }));
    return [{ folder, packages }];
  });
}

function pinNewest({ folder, packages }: Pins): void {
  const manifest = read(folder);
  for (const section of [manifest.dependencies, manifest.optionalDependencies])
    for (const { name, newest } of packages) if (section?.[name]) section[name] = newest;
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  const lock = [
    'install',
    '--package-lock-only',
    '--omit-lockfile-registry-resolved',
    '--ignore-scripts',
    '--no-audit',
  ];
  execFileSync('npm', lock, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
}

function passes(agent: string): boolean {
  const titles = TRIED.map((title) => title.replaceAll(/[.*+?()[\]{}|^$\\]/g, '\\$&')).join('|');
  const args = ['vitest', 'run', '--project', 'agents', `tests/agents/${agent}.test.ts`, '-t', titles];
  return spawnSync('npx', args, { cwd: PACKAGE_ROOT, stdio: 'inherit' }).status === 0;
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !(INSTALLED_AGENT_NAMES as readonly string[]).includes(name));
if (unknown.length > 0) {
  console.error(`There is no agent ${unknown.join(', ')}. There are ${INSTALLED_AGENT_NAMES.join(', ')}.`);
  process.exit(2);
}
for (const agent of wanted.length > 0 ? wanted : INSTALLED_AGENT_NAMES) {
  const pins = pinsOf(agent);
  const behind = pins.filter(({ packages }) => packages.some(({ pinned, newest }) => pinned !== newest));
  for (const { name, pinned, newest } of pins.flatMap(({ packages }) => packages))
    console.log(`${agent}: ${name} ${pinned}${pinned === newest ? '' : `, newest ${newest}`}`);
  if (behind.length === 0) continue;
  if (wanted.length === 0) {
    process.exitCode = 1;
    continue;
  }
  const files = behind.flatMap(({ folder }) => ['package.json', 'package-lock.json'].map((file) => join(folder, file)));
  const before = files.map((file) => [file, readFileSync(file)] as const);
  for (const each of behind) pinNewest(each);
  if (passes(agent)) console.log(`${agent}: the newest release is pinned.`);
  else {
    for (const [file, bytes] of before) writeFileSync(file, bytes);
    console.error(`${agent}: the newest release failed, and the former one is pinned as before.`);
    process.exitCode = 1;
  }
}
