import { z } from 'zod';
import { Connection } from './connection.ts';
import { Follower } from './follower.ts';
import { type Detail, type Input, startedTurn, type Turn, threadShape, turnShape } from './shapes.ts';

/**
 * A page in a browser that folds events by reducers. It is of the same origin as the server, so its token is a cookie.
 */
export class Page {
  readonly connection: Connection;
  thread = '';
  stream!: Follower;

  constructor(baseUrl: string, token: string) {
    const cookie = `codewhale_runtime_token=${encodeURIComponent(token)}`;
    this.connection = new Connection(baseUrl, { Cookie: cookie, Origin: baseUrl, 'Sec-Fetch-Site': 'same-origin' });
  }

  async begin(): Promise<void> {
    this.thread = (await this.connection.read(threadShape, 201, 'POST', '/v1/threads', {})).id;
    const address = `${this.connection.baseUrl}/v1/threads/${this.thread}/events?since_seq=`;
    this.stream = new Follower((last) => ({
      url: `${address}${last}`,
      headers: { ...this.connection.headers },
      since: last,
    }));
  }

  detail(): Promise<Detail> {
    return this.connection.detail(this.thread);
  }

  async prompt(text: string): Promise<Turn> {
    return (await this.connection.read(startedTurn, 201, 'POST', `/v1/threads/${this.thread}/turns`, { prompt: text }))
      .turn;
  }

  steer(turn: Turn, text: string): Promise<Turn> {
    return this.connection.read(turnShape, 200, 'POST', `/v1/threads/${this.thread}/turns/${turn.id}/steer`, {
      prompt: text,
    });
  }

  async deny(id: string): Promise<void> {
    await this.connection.read(z.looseObject({ delivered: z.literal(true) }), 200, 'POST', `/v1/approvals/${id}`, {
      decision: 'deny',
      remember: false,
    });
  }

  async answer({ id, request: { questions } }: Input, value: string): Promise<void> {
    const answers = questions.map((question) => ({ id: question.id, label: value, value }));
    await this.connection.read(
      z.looseObject({ delivered: z.literal(true) }),
      200,
      'POST',
      `/v1/user-input/${this.thread}/${id}`,
      { answers },
    );
  }
}
