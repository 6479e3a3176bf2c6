import { CompiledQuery } from 'kysely';
import { until } from '../support/until.ts';
import type { Bench, Part } from './bench.ts';
import { type Row, round } from './figures.ts';
import { diskOf } from './processes.ts';

const CHECKPOINT = CompiledQuery.raw('checkpoint');
const ROLES = ['worker', 'gateway', 'api'] as const;
/** the supervisor's own: a role that lived this long is restarted at once */
const STEADY_MS = 31_000;

/**
 * What a kill leaves on disk: rounds of a turn in which the worker, the gateway and the API are killed, beside as many
 * turns without.
 */
export const kills: Part = {
  name: 'kills',
  title: 'Disk for each SIGKILL (worker, gateway and API in the middle of a turn)',
  async run(bench) {
    const rounds = bench.pick(2, 5, 15);
    const kill = await growth(bench, rounds, () => killedTurn(bench));
    const plain = await growth(bench, rounds, () => plainTurn(bench));
    const rows: Row[] = [];
    for (const place of Object.keys(kill) as Array<keyof typeof kill>) {
      rows.push({
        place,
        kills: rounds * ROLES.length,
        'KB with kills': round(kill[place], 0),
        'KB without': round(plain[place], 0),
        'KB per kill': round((kill[place] - plain[place]) / (rounds * ROLES.length), 1),
      });
    }
    return rows;
  },
};

/** KB by place that so many rounds add. */
async function growth({ app }: Bench, rounds: number, round: () => Promise<void>): Promise<ReturnType<typeof diskOf>> {
  const before = diskOf(app.home);
  for (let at = 0; at < rounds; at++) await round();
  // what is in memory only is no less used
  await app.store.db.executeQuery(CHECKPOINT);
  const after = diskOf(app.home);
  for (const place of Object.keys(after) as Array<keyof typeof after>)
    after[place] = (after[place] - before[place]) * 1024;
  return after;
}

async function killedTurn({ app }: Bench): Promise<void> {
  const pids = () => app.state().roles.filter((role) => ROLES.some((name) => name === role.name));
  await until(
    'the roles have lived long enough to be restarted at once',
    () => pids().every((role) => Date.now() - Date.parse(role.since) > STEADY_MS),
    120_000,
  );
  const thread = await app.thread();
  const turnId = await app.turn(thread, [
    { hang: true, times: 1, call: [['report_progress', { message: 'back' }]] },
    { say: `done ${thread}` },
  ]);
  await until('the turn waits for its model', () => app.model.asked(turnId) > 0);
  const old = ROLES.map((role) => app.kill(role));
  await until(
    'their successors are ready',
    () => pids().every((role) => role.state === 'ready' && !old.includes(role.pid ?? 0)),
    60_000,
  );
  await app.ended(thread, turnId);
}

async function plainTurn({ app }: Bench): Promise<void> {
  const thread = await app.thread();
  await app.ended(
    thread,
    await app.turn(thread, [{ call: [['report_progress', { message: 'back' }]] }, { say: `done ${thread}` }]),
  );
}
