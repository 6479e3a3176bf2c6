import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startTestApp, type TestApp } from '../support/app.ts';
import { requireDocker } from '../support/docker.ts';
import { containersOf, findTask, kennelReady, startTask, workspace } from '../support/kennel-app.ts';
import {
  type LimitedEndpoint,
  MODEL_CALLER,
  type Refusing,
  startLimitedEndpoint,
} from '../support/limited-endpoint.ts';
import { until } from '../support/until.ts';
import { kill, processesOf, type Victim } from './killer.ts';
import { type Random, seeded } from './random.ts';

/** Kinds of limits, on a clock on which two hours, five hours and a week are a few minutes. */
const windowMs = (kills: number): number => 60_000 + kills * 2_000;
const seconds = (at: number): string => String(Math.ceil(at / 1_000));
const subscription = (until: number, claim: string): Refusing => ({
  status: 429,
  headers: {
    'anthropic-ratelimit-unified-status': 'rejected',
    'anthropic-ratelimit-unified-reset': seconds(until),
    'anthropic-ratelimit-unified-representative-claim': claim,
  },
  until: Math.ceil(until / 1_000) * 1_000,
});
const KINDS: Record<string, (until: number) => Refusing> = {
  header: (until) => ({ status: 429, headers: { 'retry-after': seconds(until - Date.now()) }, until }),
  'five hours': (until) => subscription(until, 'five_hour'),
  week: (until) => subscription(until, 'seven_day'),
  overload: (until) => ({
    status: 529,
    body: { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } },
    until,
  }),
  'no hint': (until) => ({ status: 429, until }),
};
const VICTIMS: readonly Victim[] = ['worker', 'gateway', 'api', 'kennel', 'postgres', 'temporal', 'supervisor'];
/** Longest time from the end of a limit to the answer to a task that waited for it. */
const RESUMES_MS = 60_000;
/** The same where nobody says when it ends: the next time that it is asked about. */
const LONGEST_GUESS_MS = 300_000;

export interface LimitChaosOptions {
  seed: number;
  /** of each kind of limit */
  tasks: number;
  kills: number;
}

export interface LimitChaosResult {
  findings: string[];
  kills: Partial<Record<Victim, number>>;
  /** by kind: ms from the end of the limit to the first answer of each task */
  resumedMs: Record<string, number[]>;
  /** by kind: requests that the endpoint refused */
  refused: Record<string, number>;
}

/**
 * Tasks meet limits of five kinds while processes are killed, and a reboot takes everything at once. Each must go on by
 * itself, soon, and do nothing twice.
 */
export async function runLimitChaos({ seed, tasks, kills }: LimitChaosOptions): Promise<LimitChaosResult> {
  await requireDocker();
  const endpoint = await startLimitedEndpoint();
  const app = await startTestApp({
    ...processesOf(seed),
    FETCH_AUTONOMY: 'autonomous',
    ANTHROPIC_BASE_URL: endpoint.url,
    FETCH_KENNEL_SLOTS: '8',
  });
  try {
    await kennelReady(app);
    const random = seeded(seed);
    const made: Made[] = [];
    for (const kind of Object.keys(KINDS)) for (let at = 0; at < tasks; at++) made.push(await begin(app, kind, at));
    const opensAt: Record<string, number> = {};
    for (const [kind, limit] of Object.entries(KINDS)) {
      endpoint.refuse(limit(Date.now() + windowMs(kills)), modelOf(kind));
      opensAt[kind] = endpoint.endsAt(modelOf(kind));
    }
    // the tasks wait for this file before they ask
    for (const { path } of made) writeFileSync(join(path, 'go'), '');
    const hit = await killAll(app, random, kills, made);
    const quietAt = Date.now();
    await until(
      'every task is over, and reported',
      async () => (await Promise.all(made.map(({ id }) => isReported(app, id)))).every(Boolean),
      600_000,
    );
    return { kills: hit, ...(await auditLimits(app, endpoint, made, { opensAt, quietAt })) };
  } finally {
    await app.close();
    await endpoint.close();
  }
}

const isReported = async (app: TestApp, id: string): Promise<boolean> =>
  (await app.store.db.selectFrom('outbox').select('id').where('id', '=', `out_${id}_result`).executeTakeFirst()) !==
  undefined;

interface Made {
  id: string;
  kind: string;
  path: string;
}

const modelOf = (kind: string): string => kind.replace(' ', '-');

async function begin(app: TestApp, kind: string, at: number): Promise<Made> {
  const name = `${modelOf(kind)}-${at}`;
  const { path, git } = await workspace(app, name);
  writeFileSync(join(path, 'ask.mjs'), MODEL_CALLER);
  writeFileSync(join(path, '.gitignore'), 'go\n');
  git('add', '.');
  git('commit', '-qm', 'a program that asks the model');
  const goal = `append a.txt before; run while [ ! -e go ]\\; do sleep 0.2\\; done; run node ask.mjs ${modelOf(kind)}; append b.txt after`;
  return { id: (await startTask(app, goal, { workspace: name })).id, kind, path };
}

/** Kills one role after the other; in the middle of it everything at once, containers too, as a power cut does. */
async function killAll(
  app: TestApp,
  random: Random,
  wanted: number,
  made: readonly Made[],
): Promise<Partial<Record<Victim, number>>> {
  const hit: Partial<Record<Victim, number>> = {};
  for (let done = 0; done < wanted; ) {
    await pause(random.between(0, 2_500));
    const victims = done === Math.floor(wanted / 2) ? VICTIMS : [random.pick(VICTIMS)];
    if (victims.length > 1)
      for (const id of made.flatMap(({ id: task }) => containersOf(task)))
        execFileSync('docker', ['rm', '-f', id], { stdio: 'ignore' });
    for (const victim of victims) {
      if (!(await kill(app, victim))) continue;
      hit[victim] = (hit[victim] ?? 0) + 1;
      done += 1;
    }
    await app.whenReady();
  }
  return hit;
}

async function auditLimits(
  app: TestApp,
  endpoint: LimitedEndpoint,
  made: readonly Made[],
  { opensAt, quietAt }: { opensAt: Record<string, number>; quietAt: number },
): Promise<Omit<LimitChaosResult, 'kills'>> {
  const findings: string[] = [];
  const resumedMs: Record<string, number[]> = {};
  const refused: Record<string, number> = {};
  for (const kind of Object.keys(KINDS)) {
    const requests = endpoint.requests().filter(({ model }) => model === modelOf(kind));
    refused[kind] = requests.filter(({ answered }) => !answered).length;
    resumedMs[kind] = requests.filter(({ answered }) => answered).map(({ at }) => at - opensAt[kind]!);
    // while processes die, nobody can go on
    const due =
      Math.max(opensAt[kind]!, quietAt) - opensAt[kind]! + (kind === 'no hint' ? LONGEST_GUESS_MS : RESUMES_MS);
    const late = resumedMs[kind].filter((ms) => ms > due);
    if (late.length > 0)
      findings.push(`${kind}: ${late.length} went on after more than ${due} ms (${late.join(', ')})`);
  }
  for (const { id, kind, path } of made) {
    const task = await findTask(app, id);
    const wrong = (what: string): void => void findings.push(`${kind}, task ${id}: ${what}`);
    if (task.state !== 'completed') wrong(`it is ${task.state}: ${task.reason}`);
    for (const [file, text] of [
      ['a.txt', 'before\n'],
      ['b.txt', 'after\n'],
    ] as const)
      if (textOf(join(path, file)) !== text) wrong(`${file} is ${JSON.stringify(textOf(join(path, file)))}`);
    const told = await app.store.db
      .selectFrom('outbox')
      .select('body')
      .where('id', 'like', `out_${id}_limit%`)
      .execute();
    if (told.length > 1) wrong(`it told of its wait ${told.length} times`);
    const reports = await app.store.db.selectFrom('outbox').select('id').where('id', '=', `out_${id}_result`).execute();
    if (reports.length !== 1) wrong(`it has ${reports.length} reports`);
  }
  return { findings, resumedMs, refused };
}

function textOf(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return null;
  }
}
