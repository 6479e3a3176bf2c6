import { randomUUID } from 'node:crypto';
import {
  type AgentContext,
  type ClientCapabilities,
  RequestError,
  type SessionModeState,
  type SessionUpdate,
  type StopReason,
} from '@agentclientprotocol/sdk';
import type { PendingApproval, PendingUserInput, ThreadDetail } from '../../../client/api-client.ts';
import type { Displayed } from '../../../contracts/decision.ts';
import type { EventEnvelope, TurnRecord } from '../../../contracts/records.ts';
import { prefix, storableText } from '../../../domain/text/storable.ts';
import type { Prompt } from './prompt.ts';
import { type Asked, ask, idOf, planIn } from './questions.ts';
import type { ThreadApi } from './thread-api.ts';
import { MODES, modeOf, Updates } from './updates.ts';

/** Dependencies of a session. */
interface SessionDeps {
  api: ThreadApi;
  client: AgentContext;
  capabilities: ClientCapabilities | undefined;
  /** folder of the workspaces */
  workspaces: string;
  /** told of a thread that can no longer be followed */
  failed: (error: unknown) => void;
}

/** A question that waits. `shownAt`: since when the editor shows it, ms since the epoch. */
interface Open {
  asked: Asked;
  settled: AbortController;
  shownAt: number;
  /** the turn that it holds up; questions of coding tasks hold up none */
  turnId: string | null;
  /** its dialogue was closed, or there is none: the next message answers it, or it is asked again */
  typed: boolean;
}

const RECENT_TURNS = 10;

/** A session of an editor: a thread, followed from its events. The thread goes on without it. */
export class Session {
  readonly threadId: string;
  readonly #deps: SessionDeps;
  readonly #updates: Updates;
  readonly #closed = new AbortController();
  /** null: settled already */
  readonly #questions = new Map<string, Open | null>();
  readonly #running = new Set<string>();
  /** prompts that wait for what an event brings */
  readonly #waiting = new Set<() => void>();
  /** the last event of the past; those after it happen now */
  readonly #liveFrom: number;
  #seq: number;
  #mode: string;
  #titled: boolean;
  #cancelled = false;
  #lost: unknown;

  private constructor(deps: SessionDeps, detail: ThreadDetail, replay: boolean) {
    this.threadId = detail.thread.id;
    this.#deps = deps;
    this.#updates = new Updates(deps.workspaces, replay);
    this.#mode = modeOf(detail.thread.mode);
    this.#titled = detail.thread.title !== undefined;
    this.#liveFrom = detail.latest_seq;
    this.#seq = replay ? 0 : detail.latest_seq;
    if (!replay) for (const turn of detail.turns) this.#noteTurn(turn);
  }

  /** Follows a thread. With `replay`, resolves when the editor has been shown all of its past. */
  static async follow(deps: SessionDeps, detail: ThreadDetail, replay: boolean): Promise<Session> {
    const session = new Session(deps, detail, replay);
    session.#follow().catch((error) => session.#fail(error));
    await session.#until(() => session.#seq >= detail.latest_seq);
    for (const approval of detail.pending_approvals ?? []) session.#ask({ approval }, turnOf(approval));
    for (const input of detail.pending_user_inputs ?? []) session.#ask({ input }, turnOf(input));
    return session;
  }

  get modes(): SessionModeState {
    return { currentModeId: this.#mode, availableModes: MODES };
  }

  /** Says something in the thread, and follows what comes of it to its end. */
  async prompt(prompt: Prompt): Promise<StopReason> {
    this.#cancelled = false;
    this.#updates.expectEcho(prompt.text);
    try {
      await this.#giveTitle(prompt.text);
      const said = await this.#deps.api.say(this.threadId, prompt, this.#displayed(), `editor ${randomUUID()}`);
      if (this.#cancelled && said.turn_id) await this.#deps.api.interrupt(this.threadId, said.turn_id);
      const { latest_seq } = await this.#detail();
      await this.#until(() => this.#seq >= latest_seq);
      this.#askAgain();
      return said.turn_id === null ? 'end_turn' : await this.#endOf(said.turn_id);
    } finally {
      this.#updates.dropEcho(prompt.text);
    }
  }

  /** Stops what runs. */
  async cancel(): Promise<void> {
    this.#cancelled = true;
    for (const turnId of [...this.#running]) await this.#deps.api.interrupt(this.threadId, turnId);
  }

  async setMode(mode: string): Promise<void> {
    await this.#deps.api.change(this.threadId, { mode });
    this.#mode = mode;
  }

  /** Follows no longer. */
  close(): void {
    this.#closed.abort();
    for (const question of this.#questions.values()) question?.settled.abort();
    this.#fail(new RequestError(-32603, 'the session was closed'));
  }

  /** The end of a turn that has begun, or a question that only the next prompt can answer. */
  async #endOf(turnId: string): Promise<StopReason> {
    const needsWords = () =>
      [...this.#questions.values()].some((question) => question?.typed && question.turnId === turnId);
    await this.#until(() => !this.#running.has(turnId) || needsWords());
    if (this.#cancelled) return 'cancelled';
    if (this.#running.has(turnId)) return 'end_turn';
    const turn = (await this.#detail()).turns.find(({ id }) => id === turnId);
    if (turn?.status === 'failed') throw new RequestError(-32603, turn.error ?? 'the turn failed');
    return turn?.status === 'interrupted' || turn?.status === 'canceled' ? 'cancelled' : 'end_turn';
  }

  async #follow(): Promise<void> {
    if (this.#seq >= this.#liveFrom) await this.#goLive();
    for await (const event of this.#deps.api.events(this.threadId, this.#seq, this.#closed.signal)) {
      await this.#show(this.#updates.of(event));
      this.#note(event);
      if (this.#seq < this.#liveFrom && event.seq >= this.#liveFrom) await this.#goLive();
      this.#seq = event.seq;
      this.#wake();
    }
  }

  /** Texts that are streamed right now are shown as far as they are. */
  async #goLive(): Promise<void> {
    await this.#show(this.#updates.live());
  }

  #note({ event, seq, turn_id, payload }: EventEnvelope): void {
    const { turn, changes } = payload as { turn?: TurnRecord; changes?: { mode?: string } };
    if ((event === 'turn.started' || event === 'turn.completed') && turn) this.#noteTurn(turn);
    if (typeof changes?.mode === 'string') this.#mode = modeOf(changes.mode);
    const settled = SETTLES.has(event) ? (payload.approval_id ?? payload.input_id ?? payload.id) : undefined;
    if (typeof settled === 'string') this.#settle(settled);
    // the thread itself says which of the questions of the past are open
    if (seq <= this.#liveFrom) return;
    if (event === 'approval.required') this.#ask({ approval: payload as unknown as PendingApproval }, turn_id);
    if (event === 'user_input.required') this.#ask({ input: payload as unknown as PendingUserInput }, turn_id);
  }

  #noteTurn({ id, status }: TurnRecord): void {
    if (status === 'in_progress' || status === 'queued') this.#running.add(id);
    else this.#running.delete(id);
  }

  #ask(asked: Asked, turnId: string | null): void {
    const id = idOf(asked);
    if (this.#questions.has(id)) return;
    const question: Open = { asked, settled: new AbortController(), shownAt: Date.now(), turnId, typed: false };
    this.#questions.set(id, question);
    this.#askNow(question).catch(this.#deps.failed);
  }

  /** A message that answered none of the open questions would otherwise wait behind them for ever. */
  #askAgain(): void {
    for (const question of this.#questions.values()) {
      if (!question?.typed || this.#cancelled) continue;
      question.typed = false;
      this.#askNow(question).catch(this.#deps.failed);
    }
  }

  async #askNow(question: Open): Promise<void> {
    const { asked } = question;
    const { api, client, capabilities, workspaces } = this.#deps;
    const { signal } = question.settled;
    const entries = planIn(asked);
    if (entries.length > 0) await this.#show([{ sessionUpdate: 'plan', entries }]);
    const asking = { api, client, capabilities, workspaces, threadId: this.threadId, settled: signal };
    const how = await ask(asking, asked).catch((error) => {
      if (!signal.aborted) this.#deps.failed(error);
      return 'typed' as const;
    });
    if (how === 'settled' || signal.aborted) return;
    const content = { type: 'text' as const, text: typedText(asked) };
    if (!this.#cancelled) await this.#show([{ sessionUpdate: 'agent_message_chunk', messageId: idOf(asked), content }]);
    question.typed = true;
    this.#wake();
  }

  #settle(id: string): void {
    this.#questions.get(id)?.settled.abort();
    this.#questions.set(id, null);
  }

  /** What the editor shows, so that a bare yes counts for nothing else. */
  #displayed(): Displayed[] {
    const open = [...this.#questions].flatMap(([id, question]) =>
      question ? [{ id, ms: Math.max(0, Date.now() - question.shownAt) }] : [],
    );
    return open.slice(0, MOST_DISPLAYED);
  }

  /** Lists of sessions show the first message of one. */
  async #giveTitle(text: string): Promise<void> {
    if (this.#titled || text === '') return;
    this.#titled = true;
    const title = prefix(storableText(text).replace(/\s+/g, ' '), LONGEST_TITLE);
    // it is only a name
    await this.#deps.api.change(this.threadId, { title }).catch(this.#deps.failed);
  }

  async #detail(): Promise<ThreadDetail> {
    const detail = await this.#deps.api.detail(this.threadId, RECENT_TURNS);
    if (!detail) throw new RequestError(-32602, 'unknown sessionId');
    return detail;
  }

  async #show(updates: readonly SessionUpdate[]): Promise<void> {
    for (const update of updates)
      await this.#deps.client.notify('session/update', { sessionId: this.threadId, update });
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!holds()) {
      if (this.#lost !== undefined) throw this.#lost;
      await new Promise<void>((resolve) => this.#waiting.add(resolve));
    }
  }

  #wake(): void {
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #fail(error: unknown): void {
    this.#lost ??= error;
    this.#wake();
  }
}

/** As many as a message may name. */
const MOST_DISPLAYED = 100;
const LONGEST_TITLE = 72;
/** The detail of a thread has the turn with each open question. */
const turnOf = (pending: object): string | null =>
  'turn_id' in pending && typeof pending.turn_id === 'string' ? pending.turn_id : null;

const SETTLES: ReadonlySet<string> = new Set([
  'approval.decided',
  'approval.timeout',
  'user_input.answered',
  'user_input.canceled',
]);

/** A question that is answered by writing. */
function typedText(asked: Asked): string {
  if ('approval' in asked) return `\n${asked.approval.description} Answer yes or no.\n`;
  const [question] = asked.input.request.questions;
  const options = (question?.options ?? []).map(({ label }, index) => `\n${index + 1}. ${label}`).join('');
  return `\n${question?.question ?? 'I have a question.'}${options}\n`;
}
