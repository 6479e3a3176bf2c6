import { z } from 'zod';
import { Connection } from './connection.ts';
import { Follower, type KnownEvent } from './follower.ts';
import { type Detail, type Summary, startedTurn, summaryShape, threadShape, turnShape } from './shapes.ts';

/**
 * A chat bridge: a program between a messenger and one thread. It shows its token as a bearer, sends no body where it
 * has nothing to say, begins each stream behind the last event that it saw, and writes into the chat what a turn said
 * when the turn is over. Approvals are answered in the chat, by their id.
 */
export class Bridge {
  readonly connection: Connection;
  /** what stands in the chat */
  readonly chat: string[] = [];
  thread = '';
  turn = '';
  stream!: Follower;
  /** what the turn that runs has said, by item */
  readonly #said = new Map<string, string>();

  constructor(baseUrl: string, token: string) {
    this.connection = new Connection(baseUrl, { Authorization: `Bearer ${token}` });
  }

  /** Waits for the server without a token, makes a thread, and follows it from where it is. */
  async begin(workspace: string): Promise<void> {
    await this.connection.read(
      z.looseObject({ status: z.literal('ok'), service: z.string(), mode: z.literal('local') }),
      200,
      'GET',
      '/health',
    );
    const fields = { workspace, mode: 'agent', allow_shell: false, trust_mode: false, auto_approve: false };
    const thread = await this.connection.read(threadShape, 201, 'POST', '/v1/threads', fields);
    this.thread = thread.id;
    const { latest_seq: begin } = await this.connection.detail(thread.id);
    this.stream = new Follower(
      (last) => ({
        url: `${this.connection.baseUrl}/v1/threads/${thread.id}/events?since_seq=${last || begin}`,
        headers: { ...this.connection.headers },
        since: last || begin,
      }),
      (event) => this.#hear(event),
    );
  }

  /** What a person wrote: a turn, or the words of the refusal. */
  async prompt(text: string): Promise<void> {
    const { turn } = await this.connection.read(startedTurn, 201, 'POST', `/v1/threads/${this.thread}/turns`, {
      prompt: text,
      input_summary: text,
    });
    if (turn.status !== 'in_progress') throw new Error(`the turn begins as ${turn.status}`);
    this.turn = turn.id;
    this.chat.push(`> ${text}`);
  }

  /** What the person is told who writes while a turn runs. */
  busy(text: string): Promise<string> {
    return this.connection.refused(409, 'POST', `/v1/threads/${this.thread}/turns`, { prompt: text });
  }

  async decide(id: string, decision: 'allow' | 'deny'): Promise<void> {
    const answer = z.object({
      ok: z.literal(true),
      approval_id: z.literal(id),
      decision: z.literal(decision),
      delivered: z.literal(true),
    });
    await this.connection.read(answer, 200, 'POST', `/v1/approvals/${id}`, { decision, remember: false });
  }

  /** What the person is told whose answer comes too late. */
  tooLate(id: string): Promise<string> {
    return this.connection.refused(404, 'POST', `/v1/approvals/${id}`, { decision: 'deny', remember: false });
  }

  async interrupt(): Promise<void> {
    const turn = await this.connection.read(turnShape, 200, 'POST', this.#interrupting());
    if (turn.status !== 'in_progress') throw new Error(`the turn that is asked to end is ${turn.status} at once`);
  }

  nothingToInterrupt(): Promise<string> {
    return this.connection.refused(409, 'POST', this.#interrupting());
  }

  resume(): Promise<z.output<typeof threadShape>> {
    return this.connection.read(threadShape, 200, 'POST', `/v1/threads/${this.thread}/resume`);
  }

  /** The list that it prints. */
  async list(): Promise<string[]> {
    const summaries: Summary[] = await this.connection.read(
      z.array(summaryShape),
      200,
      'GET',
      '/v1/threads/summary?limit=20',
    );
    return summaries.map(({ id, title, latest_turn_status: status }) => `${id} ${title} [${status ?? 'new'}]`);
  }

  #interrupting(): string {
    return `/v1/threads/${this.thread}/turns/${this.turn}/interrupt`;
  }

  #hear({ event, item_id: id, payload }: KnownEvent): void {
    if (event === 'item.delta' && payload.kind === 'agent_message')
      this.#said.set(id!, (this.#said.get(id!) ?? '') + payload.delta);
    if (event === 'approval.required')
      this.chat.push(`? ${payload.approval_id} ${payload.tool_name}: ${payload.description}`);
    if (event === 'approval.decided') this.chat.push(`! ${payload.approval_id} ${payload.decision}`);
    if (event === 'turn.completed') {
      for (const text of this.#said.values()) this.chat.push(`< ${text}`);
      this.#said.clear();
      this.chat.push(`[${payload.turn.status}]`);
    }
  }
}

/** The chat as the thread would have it, without its approvals. */
export const chatOf = ({ turns, items }: Detail): string[] =>
  turns.flatMap((turn) => {
    const own = items.filter((item) => item.turn_id === turn.id);
    const said = own.filter((item) => item.kind === 'agent_message' && item.detail).map((item) => `< ${item.detail}`);
    return [`> ${own.find((item) => item.kind === 'user_message')!.detail}`, ...said, `[${turn.status}]`];
  });
