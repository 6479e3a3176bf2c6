import { expect } from 'vitest';
import type { TurnRecord } from '../../src/contracts/records.ts';
import { script, type TestApp } from '../support/app.ts';
import { until } from '../support/until.ts';
import type { HeldPages } from './held-pages.ts';
import { openStream, type Stream } from './stream.ts';

const AUTH = { authorization: 'Bearer test-token' };

/**
 * One thread on a running instance with its event stream open, and what a client can do to it; each answer is checked
 * against the recorded one.
 */
export class Run {
  readonly app: TestApp;
  readonly pages: HeldPages;
  readonly thread: string;
  readonly stream: Stream;
  turn = '';

  private constructor(app: TestApp, pages: HeldPages, thread: string, stream: Stream) {
    this.app = app;
    this.pages = pages;
    this.thread = thread;
    this.stream = stream;
  }

  static async begin(app: TestApp, pages: HeldPages, fields: Record<string, unknown> = {}): Promise<Run> {
    const thread = await app.thread(fields);
    return new Run(app, pages, thread, await Run.follow(app, thread, 0));
  }

  static follow(app: TestApp, thread: string, since: number): Promise<Stream> {
    return openStream(`${app.baseUrl}/v1/threads/${thread}/events?since_seq=${since}`, AUTH);
  }

  /** 201, with the turn in progress and its user message as the first item */
  async start(steps: unknown[], fields: Record<string, unknown> = {}): Promise<void> {
    const { status, body } = await this.app.request('POST', `/v1/threads/${this.thread}/turns`, {
      prompt: script(steps),
      ...fields,
    });
    const { turn } = body as { turn: TurnRecord };
    expect([status, turn?.status, turn?.item_ids.length, turn?.steer_count]).toEqual([201, 'in_progress', 1, 0]);
    this.turn = turn.id;
  }

  /** 202, with a turn that has no item yet; 409 until it has ended */
  async compact(reason?: string): Promise<void> {
    const { status, body } = await this.app.request('POST', `/v1/threads/${this.thread}/compact`, {
      ...(reason !== undefined && { reason }),
    });
    const { turn } = body as { turn: TurnRecord };
    expect([status, turn]).toMatchObject([
      202,
      { status: 'in_progress', item_ids: [], input_summary: reason ?? 'Manual context compaction' },
    ]);
    this.turn = turn.id;
  }

  async steer(text: string): Promise<void> {
    const { status, body } = await this.app.request('POST', `/v1/threads/${this.thread}/turns/${this.turn}/steer`, {
      prompt: text,
    });
    expect([status, body]).toMatchObject([200, { id: this.turn, status: 'in_progress', steer_count: 1 }]);
  }

  async interrupt(): Promise<void> {
    const { status, body } = await this.app.request('POST', `/v1/threads/${this.thread}/turns/${this.turn}/interrupt`);
    expect([status, body]).toMatchObject([200, { id: this.turn, status: 'in_progress' }]);
  }

  /** Decides the `count`th approval of the thread; a second decision finds nothing to decide. */
  async decide(decision: 'allow' | 'deny', options: { remember?: boolean; count?: number } = {}): Promise<void> {
    const { call } = await this.stream.reached('approval.required', options.count);
    const post = () =>
      this.app.request('POST', `/v1/approvals/${call}`, {
        decision,
        ...(options.remember !== undefined && { remember: options.remember }),
      });
    expect(await post()).toEqual({ status: 200, body: { ok: true, approval_id: call, decision, delivered: true } });
    expect(await post()).toEqual({
      status: 404,
      body: { error: { message: `no pending approval with id '${call}'`, status: 404 } },
    });
  }

  async answer(
    answers: Array<{ id: string; label: string; value: string }>,
    input?: string,
  ): Promise<{ status: number; body: unknown }> {
    const { call } = await this.stream.reached('user_input.required');
    return await this.app.request('POST', `/v1/user-input/${this.thread}/${input ?? call}`, { answers });
  }

  /** waits until the model has been asked for an answer to this turn so often */
  async modelAsked(times = 1): Promise<void> {
    await until(
      'the model is asked',
      () => this.app.model.requests().filter(({ requestId }) => requestId.startsWith(this.turn)).length >= times,
    );
  }

  async done(turns = 1): Promise<void> {
    await this.stream.reached('turn.completed', turns);
  }
}
