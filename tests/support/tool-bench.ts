import type { Client } from '@temporalio/client';
import type { Browsers } from '../../src/adapters/kennel/browser/browsers.ts';
import type { Kennel } from '../../src/adapters/kennel/kennel.ts';
import type { Config } from '../../src/config.ts';
import { onThread } from '../../src/store/chats/thread-transaction.ts';
import { type Db, json } from '../../src/store/postgres/database.ts';
import { openTurn } from '../../src/store/turns/turns.ts';
import type { Tool, ToolContext, ToolOutcome } from '../../src/tools/tool.ts';
import { newThread } from './thread.ts';

/**
 * Calls of tools as a worker makes them, without a workflow around: a chat with a turn, a row for each call, the tool's
 * own `run`.
 */
export interface ToolBench {
  threadId: string;
  chatId: string;
  /** runs a call; the same `callId` again is another attempt of it */
  call(
    name: string,
    args: unknown,
    options?: { callId?: string; kennel?: Kennel; config?: Partial<Config> },
  ): Promise<ToolOutcome>;
  /** what an approval of the call would show */
  preview(name: string, args: unknown): Promise<string | null>;
  context(callId: string): ToolContext;
}

export interface BenchDeps {
  db: Db;
  config: Config;
  kennel: Kennel;
  host: string;
  workspacesFolder: string;
  tools: readonly Tool[];
  browsers?: Browsers;
}

let calls = 0;

export async function toolBench({
  db,
  config,
  kennel,
  host,
  workspacesFolder,
  tools,
  browsers,
}: BenchDeps): Promise<ToolBench> {
  const { threadId, chatId } = await newThread(db);
  const turn = await onThread(db, threadId, (tx) => openTurn(tx, { text: 'go' }));
  const named = (name: string, args: unknown) => {
    const tool = tools.find((each) => each.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return { tool, args: tool.schema.parse(args) as never };
  };
  const context = (callId: string): ToolContext => ({
    callId,
    chatId,
    threadId,
    turnId: turn.id,
    db,
    temporal: undefined as unknown as Client,
    config,
    signal: AbortSignal.timeout(300_000),
    kennel,
    host,
    workspacesFolder,
    browsers,
  });
  return {
    threadId,
    chatId,
    context,
    async call(name, raw, options = {}) {
      const { tool, args } = named(name, raw);
      calls += 1;
      const callId = options.callId ?? `call_test${calls}`;
      await db
        .insertInto('calls')
        .values({
          id: callId,
          provider_id: callId,
          turn_id: turn.id,
          thread_id: threadId,
          item_id: `item_${callId}`,
          step: 1,
          position: 0,
          name,
          args: json(args),
          danger: tool.danger,
          effect: tool.effect,
          state: 'running',
          ok: null,
          output: null,
          started_at: new Date(),
          ended_at: null,
        })
        .onConflict((c) => c.column('id').doNothing())
        .execute();
      const { kennel: other, config: changed } = options;
      return await tool.run(args, {
        ...context(callId),
        ...(other && { kennel: other }),
        ...(changed && { config: { ...config, ...changed } }),
      });
    },
    preview(name, raw) {
      const { tool, args } = named(name, raw);
      return tool.preview ? tool.preview(args, context('call_preview')) : Promise.resolve(null);
    },
  };
}

/**
 * The same kennel, whose worker dies right after the next operation that `when` picks: the effect is there, the result
 * is not.
 */
export function dyingAfter(kennel: Kennel, when: (what: string) => boolean): Kennel {
  let armed = true;
  const die = (what: string) => {
    if (!armed || !when(what)) return;
    armed = false;
    throw new Error(`died after ${what}`);
  };
  const dying: Pick<Kennel, 'workspaceOp' | 'command'> = {
    workspaceOp: async (workspace, op, options) => {
      const answer = await kennel.workspaceOp(workspace, op, options);
      die('preview' in op && op.preview ? `${op.op} preview` : op.op);
      return answer;
    },
    command: async (command) => {
      const result = await kennel.command(command);
      die(command.label);
      return result;
    },
  };
  return Object.assign(Object.create(kennel) as Kennel, dying);
}
