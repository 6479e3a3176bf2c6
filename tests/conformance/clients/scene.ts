import { expect } from 'vitest';
import { script, type TestApp } from '../../support/app.ts';
import { until } from '../../support/until.ts';
import { Follower } from './follower.ts';

/** Moments of every client's story. */
export type Moment = 'before' | 'streaming' | 'asked';

/**
 * All clients come to a moment before one of them goes on, and what is to happen to the server then happens to all of
 * them at once. In peace nobody waits for the others.
 */
export class Scene {
  readonly #clients: number;
  readonly #app: TestApp | null;
  readonly #come = new Map<Moment, number>();
  readonly #over = new Map<Moment, Promise<void>>();

  /**
   * @param kills the instance whose roles are killed in the middle of the answers and while people are asked; null:
   * nothing is
   */
  constructor(clients: number, kills: TestApp | null) {
    this.#clients = clients;
    this.#app = kills;
  }

  get isPeaceful(): boolean {
    return this.#app === null;
  }

  /** An answer that is not over before every client reads it and the server is killed. */
  get longAnswer() {
    return { say: LONG, pace: this.isPeaceful ? 30 : 100 };
  }

  async at(moment: Moment): Promise<void> {
    const app = this.#app;
    if (!app) return;
    const come = (this.#come.get(moment) ?? 0) + 1;
    this.#come.set(moment, come);
    if (come === this.#clients) this.#over.set(moment, moment === 'before' ? Promise.resolve() : killed(app));
    await (await until(`every client is ${moment}`, () => this.#over.get(moment) && { over: this.#over.get(moment) }))
      .over;
  }
}

async function killed(app: TestApp): Promise<void> {
  for (const role of ['gateway', 'api', 'worker'] as const) app.kill(role);
  await app.whenReady();
}

/** A text that comes in many pieces. */
export const LONG = Array.from({ length: 60 }, (_, n) => `word ${n}`).join(' ');
export const LOOK = ['workflow_list', {}];
let made = 0;
/** a call that a supervised chat asks about */
export const make = () => ['workflow_create', { name: `by-a-client-${++made}`, steps: ['workflow_list'] }];
export const ASK = ['ask_user', { question: 'Which colour?', options: ['Red', 'Blue'] }];
export { script };

/** Somebody who comes late is told the same as somebody who was there, byte for byte; returns the whole log. */
export async function replayIsTheSame(app: TestApp, threadId: string, live: Follower): Promise<Follower> {
  const url = `${app.baseUrl}/v1/threads/${threadId}/events?since_seq=0`;
  const late = new Follower(() => ({ url, headers: { Authorization: 'Bearer test-token' }, since: 0 }));
  const last = live.events.at(-1)!;
  await until('the log is read again', () => (late.events.at(-1)?.seq ?? 0) >= last.seq);
  await late.close();
  expect(late.texts.slice(-live.texts.length)).toEqual(live.texts);
  return late;
}
