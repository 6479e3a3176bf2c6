import { z } from 'zod';
import { Connection } from './connection.ts';
import { Follower, type KnownEvent } from './follower.ts';
import { type Detail, type Item, startedTurn, type Thread, type Turn, threadShape, turnShape } from './shapes.ts';

const ORIGIN = 'tauri://localhost';

/** A web view hides every answer that is not for its origin. */
class WebView extends Connection {
  override async send(...request: Parameters<Connection['send']>): ReturnType<Connection['send']> {
    const answer = await super.send(...request);
    if (answer.headers.get('access-control-allow-origin') !== ORIGIN)
      throw new Error(`${request[0]} ${request[1]} is hidden from ${ORIGIN}`);
    return answer;
  }
}

interface Settings {
  auto_approve: boolean;
  allow_shell: boolean;
  trust_mode: boolean;
  mode: string;
  title?: string;
}

/** What it draws for an item. */
interface Card {
  id: string;
  kind: string;
  status: string;
  text: string;
}

/**
 * A desktop program in a web view. It sets what the thread may do with a `PATCH` before each turn, sends `{}` where
 * there is nothing to say, and follows with an EventSource: the token is in the address, and after a break the same
 * address is asked again, from the beginning. What it knows already it leaves out by `seq`.
 */
export class Desktop {
  readonly connection: Connection;
  readonly #token: string;
  readonly cards = new Map<string, Card>();
  thread = '';
  stream!: Follower;
  title: string | undefined;

  constructor(baseUrl: string, token: string) {
    this.#token = token;
    this.connection = new WebView(baseUrl, { Origin: ORIGIN, Authorization: `Bearer ${token}` });
  }

  /** What makes it show its field for the token. */
  async asksForToken(): Promise<boolean> {
    const nobody = new WebView(this.connection.baseUrl, { Origin: ORIGIN });
    return /bearer token required/i.test(await nobody.refused(401, 'GET', '/v1/threads'));
  }

  /** What a web view asks before it sends a request with a token: without one, and for each method. */
  async mayAsk(method: string, path: string): Promise<boolean> {
    const nobody = new WebView(this.connection.baseUrl, { Origin: ORIGIN });
    const asked = {
      'Access-Control-Request-Method': method,
      'Access-Control-Request-Headers': 'authorization,content-type',
    };
    const { status, headers } = await nobody.send('OPTIONS', path, undefined, asked);
    const listed = (name: string) => (headers.get(name) ?? '').toLowerCase().split(/\s*,\s*/);
    const names = listed('access-control-allow-headers');
    return (
      status === 200 &&
      listed('access-control-allow-methods').includes(method.toLowerCase()) &&
      ['authorization', 'content-type'].every((name) => names.includes(name))
    );
  }

  async begin(): Promise<void> {
    this.thread = (await this.connection.read(threadShape, 201, 'POST', '/v1/threads', {})).id;
    const url = `${this.connection.baseUrl}/v1/threads/${this.thread}/events?since_seq=0&token=${encodeURIComponent(this.#token)}`;
    this.stream = new Follower(
      () => ({ url, headers: { Origin: ORIGIN }, since: 0 }),
      (event) => this.#draw(event),
    );
  }

  set(changes: Partial<Settings> & { archived?: boolean }): Promise<Thread> {
    return this.connection.read(threadShape, 200, 'PATCH', `/v1/threads/${this.thread}`, changes);
  }

  /** Every turn begins with the settings of its thread. */
  async prompt(settings: Settings, text: string): Promise<Turn> {
    const set = await this.set(settings);
    for (const [name, value] of Object.entries(settings))
      if (set[name] !== value) throw new Error(`${name} is ${set[name]} after it was set`);
    return (await this.connection.read(startedTurn, 201, 'POST', `/v1/threads/${this.thread}/turns`, { prompt: text }))
      .turn;
  }

  async allowForGood(id: string): Promise<void> {
    await this.connection.read(z.looseObject({ delivered: z.literal(true) }), 200, 'POST', `/v1/approvals/${id}`, {
      decision: 'allow',
      remember: true,
    });
  }

  interrupt(turn: Turn): Promise<Turn> {
    return this.connection.read(turnShape, 200, 'POST', `/v1/threads/${this.thread}/turns/${turn.id}/interrupt`, {});
  }

  async compact(): Promise<Turn> {
    return (await this.connection.read(startedTurn, 202, 'POST', `/v1/threads/${this.thread}/compact`, {})).turn;
  }

  async has(list: '' | '?archived_only=true'): Promise<boolean> {
    return (await this.connection.read(z.array(threadShape), 200, 'GET', `/v1/threads${list}`)).some(
      ({ id }) => id === this.thread,
    );
  }

  /** How many turns of this thread the bill has. */
  async billedTurns(): Promise<number> {
    const numbers = {
      input_tokens: z.int(),
      output_tokens: z.int(),
      cached_tokens: z.int(),
      reasoning_tokens: z.int(),
      cost_usd: z.number(),
      turns: z.int(),
    };
    const report = z.looseObject({
      group_by: z.literal('thread'),
      totals: z.looseObject(numbers),
      buckets: z.array(z.looseObject({ key: z.string(), ...numbers })),
    });
    const { buckets } = await this.connection.read(
      report,
      200,
      'GET',
      '/v1/usage?group_by=thread&since=2020-01-01T00:00:00Z',
    );
    return buckets.find(({ key }) => key === this.thread)?.turns ?? 0;
  }

  #draw({ event, item_id: id, payload }: KnownEvent): void {
    if (event === 'thread.started' || event === 'thread.updated') this.title = payload.thread.title;
    const { item } = payload as { item?: Item };
    if (item) {
      const tool = event === 'item.started' ? payload.tool?.name : undefined;
      this.cards.set(item.id, {
        id: item.id,
        kind: item.kind,
        status: item.status,
        text: item.detail ?? tool ?? item.summary,
      });
    }
    if (event !== 'item.delta') return;
    const card = this.cards.get(id!);
    if (card?.status !== 'in_progress')
      throw new Error(`a piece of text for a card that is ${card?.status ?? 'not there'}`);
    card.text += payload.delta;
  }
}

/** The cards that it draws of a thread that is read whole. */
export const cardsOf = ({ items }: Detail): Card[] =>
  items.map(({ id, kind, status, detail, summary }) => ({ id, kind, status, text: detail ?? summary }));
