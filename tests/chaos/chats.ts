import { script } from '../support/app.ts';
import type { Client } from './client.ts';
import type { Random } from './random.ts';

/** A message that was acknowledged, and what its turn must have come to. */
export interface Expected {
  what: string;
  threadId: string;
  key: string;
  turnId: string;
  /** the answer that must stand in the thread exactly once; null: the turn was stopped and may have none */
  answer: string | null;
  /** tool calls of the turn */
  calls: number;
}

export const KINDS = [
  'plain',
  'tools',
  'ask',
  'slow',
  'steer',
  'stop',
  'status',
  'other model',
  'fork',
  'summary',
] as const;
export type Kind = (typeof KINDS)[number];

const WEIGHTED: readonly Kind[] = [
  'plain',
  'plain',
  'tools',
  'tools',
  'ask',
  'ask',
  'slow',
  'slow',
  'steer',
  'steer',
  'stop',
  'status',
];
/** Messages to a model whose provider wants its state back with each step. */
export const STATEFUL: readonly Kind[] = ['tools', 'tools', 'ask', 'other model', 'fork', 'summary'];
const words = (count: number): string => Array.from({ length: count }, (_, n) => `w${n}`).join(' ');

type SayReply = { kind: string; turn_id: string | null; inbox_id: string };

/**
 * One chat of a scripted person: message after message, each with an expectation on the record as soon as it is
 * acknowledged.
 */
export class Chat {
  readonly threadId: string;
  readonly #client: Client;
  readonly #random: Random;
  readonly #record: (expected: Expected) => void;
  #count = 0;

  constructor(threadId: string, client: Client, random: Random, record: (expected: Expected) => void) {
    this.threadId = threadId;
    this.#client = client;
    this.#random = random;
    this.#record = record;
  }

  /** Sends one message of some kind and waits until its turn has ended. */
  async message(kind: Kind = this.#random.pick(WEIGHTED)): Promise<void> {
    this.#count += 1;
    const name = `${this.threadId.slice(-6)}-${this.#count}-${kind}`;
    switch (kind) {
      case 'plain':
        return await this.#turn(name, [{ say: `answer ${name}` }], `answer ${name}`);
      case 'tools':
        return await this.#tools(name);
      case 'other model':
        return await this.#tools(name, { model: 'another' });
      case 'fork': {
        const { id } = await this.#client.post<{ id: string }>(`/v1/threads/${this.threadId}/fork`, {}, name);
        return await new Chat(id, this.#client, this.#random, this.#record).message('tools');
      }
      case 'summary': {
        await this.#tools(name);
        const { turn } = await this.#client.post<{ turn: { id: string } }>(
          `/v1/threads/${this.threadId}/compact`,
          {},
          `${name}-compact`,
        );
        return await this.#ended(turn.id);
      }
      case 'slow': {
        const answer = `answer ${name} ${words(20)}`;
        return await this.#turn(name, [{ say: answer, pace: 60 }], answer);
      }
      case 'ask':
        return await this.#asking(name);
      case 'steer':
        return await this.#steered(name);
      case 'stop':
        return await this.#stopped(name);
      case 'status':
        await this.say(name, 'status');
    }
  }

  /** Asks a question and leaves it open; `answer()` answers it by number and waits for the end. */
  async leaveQuestion(): Promise<() => Promise<void>> {
    const name = `${this.threadId.slice(-6)}-waiting`;
    const turnId = await this.#ask(name);
    return async () => {
      await this.say(`${name}-answer`, '2');
      await this.#ended(turnId);
    };
  }

  async #tools(name: string, fields: { model?: string } = {}): Promise<void> {
    const call = [
      ['report_progress', { message: `first ${name}` }],
      ['report_progress', { message: `second ${name}` }],
    ];
    await this.#ended(
      await this.#start(name, [{ call }, { call: [call[0]] }, { say: `answer ${name}` }], `answer ${name}`, 3, fields),
    );
  }

  async #turn(name: string, steps: unknown[], answer: string | null, calls = 0): Promise<void> {
    await this.#ended(await this.#start(name, steps, answer, calls));
  }

  async #start(
    name: string,
    steps: unknown[],
    answer: string | null,
    calls = 0,
    fields: { model?: string } = {},
  ): Promise<string> {
    const body = await this.#client.post<{ turn: { id: string } }>(
      `/v1/threads/${this.threadId}/turns`,
      { prompt: script(steps), ...fields },
      name,
    );
    this.#record({ what: name, threadId: this.threadId, key: name, turnId: body.turn.id, answer, calls });
    return body.turn.id;
  }

  say(key: string, text: string): Promise<SayReply> {
    return this.#client.post<SayReply>(`/v1/threads/${this.threadId}/messages`, { text }, key);
  }

  async #ask(name: string): Promise<string> {
    const steps = [
      { call: [['ask_user', { question: `Which, ${name}?`, options: ['red', 'green'] }]] },
      { say: `${name} chose $LAST` },
    ];
    const turnId = await this.#start(name, steps, `${name} chose green`, 1);
    await this.#client.watch(
      'the question is open',
      this.threadId,
      (detail) => detail.pending_user_inputs.length === 1,
    );
    return turnId;
  }

  async #asking(name: string): Promise<void> {
    const turnId = await this.#ask(name);
    const said = await this.say(`${name}-answer`, '2');
    if (said.kind !== 'answer') throw new Error(`${name}: the answer to an open question was taken as ${said.kind}`);
    await this.#ended(turnId);
  }

  async #steered(name: string): Promise<void> {
    const turnId = await this.#start(name, [{ say: `first ${name} ${words(15)}`, pace: 60 }], null);
    const said = await this.say(`${name}-word`, script([{ say: `answer ${name}` }]));
    // where the turn had ended before the word came, the word is a turn of its own
    const answering = said.turn_id ?? turnId;
    this.#record({
      what: `${name} (${said.kind})`,
      threadId: this.threadId,
      key: `${name}-word`,
      turnId: answering,
      answer: `answer ${name}`,
      calls: 0,
    });
    await this.#ended(turnId);
    await this.#ended(answering);
  }

  async #stopped(name: string): Promise<void> {
    const turnId = await this.#start(name, [{ say: words(60), pace: 60 }], null);
    await this.say(`${name}-word`, 'stop');
    await this.#ended(turnId);
  }

  async #ended(turnId: string): Promise<void> {
    await this.#client.watch(`turn ${turnId} has ended`, this.threadId, (detail) => {
      const turn = detail.turns.find((each) => each.id === turnId);
      return turn && turn.status !== 'in_progress' && turn.status !== 'queued';
    });
  }
}
