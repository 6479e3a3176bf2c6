import { setTimeout as pause } from 'node:timers/promises';
import type { TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../support/whatsapp-app.ts';
import { kill, processesOf } from './killer.ts';
import { type Random, seeded } from './random.ts';
import { invite, type People, type Talk, talk } from './whatsapp-people.ts';
import { killAt, POINTS, type Point, type Prey } from './whatsapp-points.ts';
import { auditBursts, auditLeftovers, auditRetries, type Tally, tally, type WhatsAppKill } from './whatsapp-tally.ts';

export interface WhatsAppChaosOptions {
  seed: number;
  kills: number;
  messages: number;
  /** stop killing after so long even when fewer were done */
  maxMinutes?: number;
  onKill?: (kill: WhatsAppKill) => void;
  /** looks at the instance before it is gone */
  inspect?: (world: WhatsAppApp, kills: readonly WhatsAppKill[]) => void;
}

/** Far above any recovery, so that only a lost message reaches it. */
const PATIENCE_MS = 180_000;
export const BURST_EVERY = 10;
/** Before a kill the talk is given so long to catch up: a client that always dies at once proves little. */
const CATCH_UP_MS = 20_000;
/** The talk may be so many kills ahead: every moment that is waited for needs a message that brings it. */
export const AHEAD = 5;

/** Who dies and where, in order: mostly the gateway, else the worker or PostgreSQL. The seed decides. */
export function planned({
  seed,
  kills,
}: Pick<WhatsAppChaosOptions, 'seed' | 'kills'>): Array<Omit<WhatsAppKill, 'at'>> {
  const random = seeded(seed);
  const points = Object.keys(POINTS) as Point[];
  return Array.from({ length: kills }, (_, at) => {
    const share = random.next();
    const point = points[at % points.length]!;
    if (share < 0.65) return { victim: 'gateway', point };
    return { victim: share < 0.83 ? 'worker' : 'postgres', point: 'anytime' };
  });
}

/** A whole instance, linked to a local WhatsApp, whose processes are killed while people write to it. */
export async function runWhatsAppChaos(options: WhatsAppChaosOptions): Promise<Tally> {
  let people!: People;
  const world = await startWhatsAppApp((fixture) => {
    people = invite(fixture);
    return {
      ...processesOf(options.seed),
      WHATSAPP_NUMBER: 'dedicated',
      TRUSTED_PHONE_NUMBERS: people.numbers.join(','),
      WHATSAPP_RATE_LIMIT: '100000',
    };
  });
  const { app, fixture } = world;
  // as phones that were switched off meanwhile: what has to be asked for again is lost
  fixture.faults.resends = false;
  const kills: WhatsAppKill[] = [];
  try {
    const begun = Date.now();
    const random = seeded(options.seed + 1);
    const plan = planned(options);
    let over = false;
    const talking = talk(people, {
      messages: options.messages,
      burstEvery: BURST_EVERY,
      random,
      patienceMs: PATIENCE_MS,
      // the talk lasts as long as the killing
      allowed: (sent) => over || sent < ((kills.length + AHEAD) * options.messages) / plan.length,
    });
    const prey: Prey = { fixture, store: app.store, kill: () => killNow(app) };
    const end = begun + (options.maxMinutes ?? Number.POSITIVE_INFINITY) * 60_000;
    for (const { victim, point } of plan) {
      if (Date.now() > end) break;
      await caughtUp(talking, (kills.length / plan.length) * options.messages - people.chatters.length);
      let done: Point | null = null;
      // it may be restarting, or have died of another kill, at the very moment
      while (!done)
        done =
          victim === 'gateway' ? await killGateway(app, prey, point, random) : await killOther(app, victim, random);
      const killed: WhatsAppKill = { victim, point: done, at: Date.now() };
      kills.push(killed);
      options.onKill?.(killed);
    }
    over = true;
    await talking.over;
    await app.whenReady();
    await until('nothing is under way any more', () => nothingUnderWay(app), PATIENCE_MS).catch(() => {});
    const seen = tally(fixture, talking.spoken);
    await auditBursts(app.store.db, talking.hurried, seen);
    await auditRetries(app.store.db, fixture, seen);
    await auditLeftovers(app.store.db, seen);
    seen.inbound += talking.hurried.length;
    return {
      ...seen,
      kills,
      pairedAgain: fixture.devices.length - 1,
      seconds: Math.round((Date.now() - begun) / 1000),
    };
  } finally {
    options.inspect?.(world, kills);
    await world.close();
  }
}

export const caughtUp = (talking: Talk, share: number): Promise<unknown> =>
  until('the talk has caught up', () => talking.done() >= share, CATCH_UP_MS).catch(() => null);

function killNow(app: TestApp): boolean {
  const pid = app.state().roles.find((role) => role.name === 'gateway')?.pid;
  if (!pid) return false;
  try {
    return process.kill(pid, 'SIGKILL');
  } catch {
    // died a moment ago by itself
    return false;
  }
}

async function killGateway(app: TestApp, prey: Prey, point: Point, random: Random): Promise<Point | null> {
  await until('a gateway runs', () => app.state().roles.find((role) => role.name === 'gateway')?.pid, 60_000);
  return await killAt(point, prey, random);
}

async function killOther(app: TestApp, victim: 'worker' | 'postgres', random: Random): Promise<Point | null> {
  await pause(random.between(0, 1500));
  await until(`a ${victim} runs`, () => app.state().roles.find((role) => role.name === victim)?.pid, 60_000);
  return (await kill(app, victim)) ? 'anytime' : null;
}

async function nothingUnderWay({ store: { db } }: TestApp): Promise<boolean> {
  const unhandled = await db.selectFrom('wa_inbox').select('seq').where('handled_at', 'is', null).execute();
  const queued = await db.selectFrom('outbox').select('id').where('state', '=', 'queued').execute();
  const running = await db.selectFrom('turns').select('id').where('status', 'in', ['queued', 'in_progress']).execute();
  return unhandled.length + queued.length + running.length === 0;
}
