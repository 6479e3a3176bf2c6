import { setTimeout as pause } from 'node:timers/promises';
import { startWhatsAppFixture } from '../support/whatsapp/fixture.ts';
import { seeded } from './random.ts';
import { AHEAD, BURST_EVERY, caughtUp, planned, type WhatsAppChaosOptions } from './whatsapp.ts';
import { startLibrary } from './whatsapp-library.ts';
import { invite, talk } from './whatsapp-people.ts';
import { killAt, type Point, type Prey } from './whatsapp-points.ts';
import { type Tally, tally, type WhatsAppKill } from './whatsapp-tally.ts';

/** What has not been answered by then is taken for lost, and the talk goes on. */
const PATIENCE_MS = 6_000;
/** After the last kill, for what comes late. */
const LAST_WORD_MS = 10_000;

/**
 * The same talk with the library's own way of keeping credentials and of receiving; only the kills of the gateway,
 * because it has no other process.
 */
export async function runDefaultLibrary(options: WhatsAppChaosOptions): Promise<Tally> {
  const fixture = await startWhatsAppFixture();
  const people = invite(fixture);
  const library = await startLibrary(fixture);
  const random = seeded(options.seed + 1);
  const begun = Date.now();
  try {
    const plan = planned(options).filter(({ victim }) => victim === 'gateway');
    const kills: WhatsAppKill[] = [];
    let over = false;
    const talking = talk(people, {
      messages: options.messages,
      burstEvery: BURST_EVERY,
      random,
      patienceMs: PATIENCE_MS,
      allowed: (sent) => over || sent < ((kills.length + AHEAD) * options.messages) / plan.length,
    });
    const prey: Prey = { fixture, store: null, kill: library.kill };
    for (const { victim, point } of plan) {
      await caughtUp(talking, (kills.length / plan.length) * options.messages - people.chatters.length);
      let done: Point | null = null;
      while (!done) done = await killAt(point, prey, random);
      const killed: WhatsAppKill = { victim, point: done, at: Date.now() };
      kills.push(killed);
      options.onKill?.(killed);
    }
    over = true;
    await talking.over;
    await pause(LAST_WORD_MS);
    const seen = tally(fixture, [...talking.spoken, ...talking.hurried]);
    return { ...seen, kills, pairedAgain: library.linked() - 1, seconds: Math.round((Date.now() - begun) / 1000) };
  } finally {
    await library.close();
    await fixture.close();
  }
}
