import { expect } from 'vitest';
import { callsThen } from '../support/app.ts';
import type { Actor } from './actors.ts';

/** What one person does in a day, with a word of their own in everything: nobody else may ever get it. */

export const KINDS = [
  'routine',
  'memory',
  'progress',
  'reminder',
  'file',
  'page',
  'app',
  'served',
  'task',
  'question',
  'end',
] as const;
export type Kind = (typeof KINDS)[number];

/** A word that stands for who it belongs to, and where it was put. */
export const canary = (kind: Kind, name: string): string => `${kind}canaryof${name}`;

type Call = [tool: string, args: Record<string, unknown>];

const ask = (actor: Actor, calls: readonly Call[], end: string) => actor.says(callsThen(calls, end));

/** Addresses of pages: the content of each has the word of its owner. */
export async function day(actor: Actor, page: string): Promise<void> {
  const word = (kind: Kind) => canary(kind, actor.name);
  const { project } = actor;
  await ask(
    actor,
    [
      ['workflow_create', { name: word('routine'), steps: ['workflow_list'] }],
      ['cron_create', { workflow: word('routine'), schedule: '0 9 * * *' }],
      ['remember', { text: `likes ${word('memory')}` }],
      ['report_progress', { message: `found ${word('progress')}` }],
      // its result comes in between, so it is the last
      ['workflow_run', { workflow: word('routine') }],
    ],
    `First ${word('end')}.`,
  );
  await actor.gets(new RegExp(`First ${word('end')}`));
  await actor.gets(new RegExp(`${word('routine')}:`));
  await actor.says(`remind me to see ${word('reminder')} in 2 hours`);
  await actor.gets(new RegExp(`I will remind you .*${word('reminder')}`));

  await ask(
    actor,
    [
      ['workspace_select', { name: project }],
      ['file_write', { workspace: project, path: 'own.txt', content: `${word('file')}\n` }],
      ['file_read', { workspace: project, path: 'own.txt' }],
      ['browser_open', { url: page }],
      ['browser_snapshot', {}],
    ],
    'Second: $LAST',
  );
  expect(await actor.gets(/Second:/)).toContain(word('page'));
  await preview(actor);
  await task(actor);
  await looks(actor);
}

/** An app that is left running: its address leads to this person's app. */
async function preview(actor: Actor): Promise<void> {
  const [printed, served] = [canary('app', actor.name), canary('served', actor.name)];
  const command = `node -e "console.log('${printed}'); require('http').createServer((q, a) => a.end('${served}')).listen(3000, '127.0.0.1')"`;
  await ask(actor, [['app_run', { workspace: actor.project, command, keep: true }]], 'Third: $LAST');
  // a page was read, so the command is asked about
  await actor.agrees();
  const said = await actor.gets(/Third:/);
  const [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? [];
  expect(address, said).toBeDefined();
  expect(await (await fetch(address!)).text()).toBe(served);
}

async function task(actor: Actor): Promise<void> {
  const goal = `write done.txt ${canary('task', actor.name)}; ask Which ${canary('question', actor.name)}? | one | two; append done.txt {answer}`;
  await ask(
    actor,
    [['task_create', { goal, agent: 'practice', workspace: actor.project, timeout: 600_000 }]],
    'Fourth.',
  );
  await actor.gets(/Fourth\./);
  await actor.gets(new RegExp(`Which ${canary('question', actor.name)}`));
  await actor.says('2');
  await actor.gets(/Done in [\s\S]*done\.txt/);
}

/** Everything that lists: by words, and by tools. */
async function looks(actor: Actor): Promise<void> {
  const word = (kind: Kind) => canary(kind, actor.name);
  for (const [says, like] of [
    ['status', /Today: /],
    ['tasks', new RegExp(word('task'))],
    ['schedules', new RegExp(`${word('routine')}[\\s\\S]*${word('reminder')}`)],
    ['memories', new RegExp(word('memory'))],
    ['projects', new RegExp(actor.project)],
    ['apps', /^1: /],
    ['usage', /This chat, today: [\d.]+[kM]? tokens/],
    ['egress', new RegExp(actor.project)],
  ] as const) {
    await actor.says(says);
    await actor.gets(like);
  }
  await ask(
    actor,
    [
      ['task_status', {}],
      ['workflow_list', { includeRuns: true }],
      ['cron_list', {}],
      ['recall', {}],
      ['workspace_list', {}],
      ['app_control', { action: 'log' }],
      ['browser_snapshot', {}],
    ],
    'Fifth: $LAST',
  );
  expect(await actor.gets(/Fifth:/)).toContain(word('page'));
  await actor.says('app stop');
  await actor.gets(/Stopped app-/);
  await actor.says('undo');
  await actor.gets(/^Undone: /);
}
