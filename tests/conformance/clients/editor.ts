import { z } from 'zod';
import { Connection } from './connection.ts';
import { Follower, type KnownEvent } from './follower.ts';
import {
  type Detail,
  type Input,
  type Item,
  type Summary,
  startedTurn,
  summaryShape,
  type Thread,
  type Turn,
  threadShape,
  turnShape,
} from './shapes.ts';

/** What the thread view shows. */
export interface View {
  thread: Thread;
  turns: Turn[];
  items: Item[];
}

/**
 * An editor's thread view: a list that is read again and again, and one open thread. It shows its token in a header of
 * its own, reads the thread once, and applies what comes after `latest_seq`: records replace records, and pieces of
 * text are added to what is open.
 */
export class Editor {
  readonly connection: Connection;
  stream!: Follower;
  readonly #turns = new Map<string, Turn>();
  readonly #items = new Map<string, Item>();
  #thread!: Thread;

  constructor(baseUrl: string, token: string) {
    this.connection = new Connection(baseUrl, { 'X-DeepSeek-Runtime-Token': token });
  }

  /** What the side bar asks for before there is a token, and with it. */
  async start(): Promise<void> {
    const open = new Connection(this.connection.baseUrl, {});
    const info = z.looseObject({
      bind_host: z.string(),
      port: z.int(),
      auth_required: z.literal(true),
      version: z.string(),
    });
    await open.read(info, 200, 'GET', '/v1/runtime/info');
    const status = z.looseObject({
      workspace: z.string(),
      git_repo: z.boolean(),
      branch: z.string().nullable(),
      head: z.string().nullable(),
      dirty: z.boolean(),
    });
    await this.connection.read(status, 200, 'GET', '/v1/workspace/status');
    const snapshot = z.looseObject({ id: z.string(), label: z.string(), timestamp: z.int() });
    await this.connection.read(z.array(snapshot), 200, 'GET', '/v1/snapshots?limit=20');
  }

  lanes(search = ''): Promise<Summary[]> {
    return this.connection.read(
      z.array(summaryShape),
      200,
      'GET',
      `/v1/threads/summary?limit=50&search=${encodeURIComponent(search)}`,
    );
  }

  async lane(): Promise<Summary> {
    const lane = (await this.lanes()).find(({ id }) => id === this.#thread.id);
    if (!lane) throw new Error('the open thread is not in the list');
    return lane;
  }

  async create(workspace: string): Promise<string> {
    return (await this.connection.read(threadShape, 201, 'POST', '/v1/threads', { workspace })).id;
  }

  /** Opens the view of a thread, also in the middle of a turn. */
  async open(id: string): Promise<void> {
    const { thread, turns, items, latest_seq: begin } = await this.connection.detail(id);
    this.#thread = thread;
    for (const turn of turns) this.#turns.set(turn.id, turn);
    for (const item of items) this.#items.set(item.id, item);
    this.stream = this.#follow(id, begin);
  }

  /** The view is closed and opened again, as by a reload of the window: questions that wait come with the thread. */
  async reload(): Promise<Detail> {
    await this.stream.close();
    const detail = await this.connection.detail(this.#thread.id);
    this.#turns.clear();
    this.#items.clear();
    await this.open(this.#thread.id);
    return detail;
  }

  async prompt(text: string): Promise<Turn> {
    const { turn } = await this.connection.read(startedTurn, 201, 'POST', `/v1/threads/${this.#thread.id}/turns`, {
      prompt: text,
    });
    // its own message is drawn at once, as the first item
    if (turn.item_ids.length !== 1) throw new Error(`a turn begins with ${turn.item_ids.length} items`);
    return turn;
  }

  /** Answers the new message's item. */
  async steer(turn: Turn, text: string): Promise<string> {
    const steered = await this.connection.read(
      turnShape,
      200,
      'POST',
      `/v1/threads/${turn.thread_id}/turns/${turn.id}/steer`,
      { prompt: text },
    );
    if (steered.steer_count !== turn.steer_count + 1) throw new Error(`a steer counts ${steered.steer_count}`);
    return steered.item_ids.at(-1)!;
  }

  async answer({ id, request }: Input, choice: number): Promise<void> {
    const answers = request.questions.map((question) => ({
      id: question.id,
      label: question.options[choice]!.label,
      value: question.options[choice]!.label,
    }));
    const taken = z.object({ ok: z.literal(true), input_id: z.literal(id), delivered: z.literal(true) });
    await this.connection.read(taken, 200, 'POST', `/v1/user-input/${this.#thread.id}/${id}`, { answers });
  }

  /** A sibling thread, and what its log begins with. */
  async fork(): Promise<{ thread: Thread; first: KnownEvent }> {
    const thread = await this.connection.read(threadShape, 201, 'POST', `/v1/threads/${this.#thread.id}/fork`);
    const stream = this.#follow(thread.id, 0);
    await stream.reached('thread.forked');
    await stream.close();
    return { thread, first: stream.events[0]! };
  }

  view(): View {
    const turns = [...this.#turns.values()];
    return {
      thread: this.#thread,
      turns,
      items: turns.flatMap(({ item_ids: ids }) => ids.map((id) => this.#items.get(id)!)),
    };
  }

  #follow(id: string, begin: number): Follower {
    const address = `${this.connection.baseUrl}/v1/threads/${id}/events?since_seq=`;
    const opening = (last: number) => ({
      url: `${address}${last || begin}`,
      headers: { ...this.connection.headers },
      since: last || begin,
    });
    return new Follower(opening, (event) => this.#apply(event));
  }

  #apply({ event, thread_id: threadId, item_id: itemId, payload }: KnownEvent): void {
    if (threadId !== this.#thread.id) return;
    const { turn, item } = payload as { turn?: Turn; item?: Item };
    if (turn) this.#turns.set(turn.id, turn);
    if (item) this.#items.set(item.id, item);
    if (event !== 'item.delta') return;
    const open = this.#items.get(itemId!);
    if (open?.status !== 'in_progress')
      throw new Error(`text comes for ${itemId}, which is ${open?.status ?? 'unknown'}`);
    if (open.kind === 'agent_message')
      this.#items.set(open.id, { ...open, detail: (open.detail ?? '') + payload.delta });
  }
}
