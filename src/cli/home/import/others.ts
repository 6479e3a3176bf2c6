import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isFolder } from './files.ts';
import type { Left } from './found.ts';

/** What an installation of the original has besides, and why it stays there. */
const OTHERS: ReadonlyArray<readonly [path: string, what: string, why: string]> = [
  ['data/tasks.db', 'coding tasks', 'their agents do not run any more; their changes are in the projects'],
  ['data/identity', 'identity files', 'the assistant has no identity files here'],
  ['data/agents', 'agent files', 'agents are chosen by FETCH_KENNEL_AGENTS here'],
  ['data/.wwebjs_auth', 'WhatsApp login', 'another library made it: link this device with `fetch pair`'],
  ['.wwebjs_auth', 'WhatsApp login', 'another library made it: link this device with `fetch pair`'],
];

export function readOthers({ root, data }: { root: string; data: string }): Left[] {
  const inFolder = (path: string): string =>
    path.startsWith('data/') ? join(data, path.slice('data/'.length)) : join(root, path);
  const left = OTHERS.filter(([path]) => existsSync(inFolder(path))).map(([path, what, why]) => ({
    what: `${what} (${path})`,
    why,
  }));
  const projects = join(root, 'workspace');
  const names = isFolder(projects) ? readdirSync(projects).filter((name) => isFolder(join(projects, name))) : [];
  return [
    ...left,
    ...names.map((name) => ({ what: `project ${name}`, why: `bring it in with \`open ${join(projects, name)}\`` })),
  ];
}
