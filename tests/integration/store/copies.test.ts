import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StepState } from '../../../src/contracts/model.ts';
import type { ThreadRecord } from '../../../src/contracts/records.ts';
import { toModelMessages } from '../../../src/domain/chat/context/context.ts';
import { derivedId } from '../../../src/store/chats/ids.ts';
import {
  attach,
  attachmentOfChat,
  bytesOfAttachment,
  saveAttachment,
} from '../../../src/store/chats/messages/attachments.ts';
import { onThread } from '../../../src/store/chats/thread-transaction.ts';
import { chatOfThread, eraseTexts } from '../../../src/store/chats/threads/threads.ts';
import { runningAppsOf } from '../../../src/store/kennel/workspaces/apps.ts';
import { json } from '../../../src/store/postgres/database.ts';
import { copyThread, GroupThread } from '../../../src/store/turns/copy-thread.ts';
import { findCallOutput } from '../../../src/store/turns/steps/calls.ts';
import { addSummary, loadHistory, messageOfChat } from '../../../src/store/turns/steps/transcript.ts';
import { usageReport } from '../../../src/store/turns/steps/usage.ts';
import { threadDetail } from '../../../src/store/turns/thread-detail.ts';
import { openTurn } from '../../../src/store/turns/turns.ts';
import { startTestDatabase, type TestDatabase } from '../../support/database.ts';
import { saidTurn } from '../../support/said.ts';
import { newThread } from '../../support/thread.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await startTestDatabase();
}, 60_000);
afterAll(() => database?.close());

const db = () => database.store.db;
const copy = (source: string, key?: string): Promise<ThreadRecord> =>
  copyThread(db(), {
    source,
    settings: ({ model, workspace, mode, allow_shell, trust_mode, auto_approve, title }) => ({
      model,
      workspace,
      mode,
      allow_shell,
      trust_mode,
      auto_approve,
      title,
    }),
    chatKey: (address) => address,
    ...(key !== undefined && { key: { id: `fork ${source} ${key}`, fingerprint: 'same' } }),
    announce: (tx, { thread, sourceId }) =>
      tx.append({ event: 'thread.forked', payload: { thread, source_thread_id: sourceId } }),
  });

/** A call that a turn has made, as the model's step and the tool leave it. */
async function called(
  threadId: string,
  turnId: string,
  name: string,
  end: { state: 'done' | 'running'; output?: string; metadata?: object; given?: StepState },
): Promise<string> {
  const id = derivedId('call_', turnId, name);
  await onThread(db(), threadId, async ({ now }) => {
    const itemId = derivedId('item_', id);
    const item = {
      id: itemId,
      turn_id: turnId,
      thread_id: threadId,
      kind: 'tool_call' as const,
      summary: name,
      detail: '{}',
    };
    await now
      .insertInto('items')
      .values({
        ...item,
        status: end.state === 'done' ? 'completed' : 'in_progress',
        metadata: null,
        started_at: new Date(),
        ended_at: end.state === 'done' ? new Date() : null,
      })
      .execute();
    await now
      .insertInto('calls')
      .values({
        ...{
          id,
          provider_id: 'p',
          turn_id: turnId,
          thread_id: threadId,
          item_id: itemId,
          step: 1,
          position: 0,
          name,
          args: '{}',
        },
        ...{
          danger: 'SAFE',
          effect: 'idempotent',
          state: end.state,
          ok: end.state === 'done' || null,
          output: end.output ?? null,
        },
        metadata: end.metadata ? json(end.metadata) : null,
        sources: '[]',
        ended_at: end.state === 'done' ? new Date() : null,
        started_at: new Date(),
      })
      .execute();
    const message = {
      id: derivedId('msg_', id),
      thread_id: threadId,
      turn_id: turnId,
      role: 'assistant' as const,
      content: '',
      tokens: 1,
    };
    await now
      .insertInto('transcript')
      .values({ ...message, call_ids: json([id]), step_state: end.given ? JSON.stringify(end.given) : null })
      .execute();
  });
  return id;
}

async function attached(threadId: string, turnId: string, name: string): Promise<string> {
  const id = derivedId('msg_', turnId, name).replace('msg_', 'att_');
  const file = {
    id,
    threadId,
    kind: 'document' as const,
    mime: 'text/plain',
    name,
    data: Buffer.from(`bytes of ${name}`),
    preview: null,
    text: `text of ${name}`,
  };
  await saveAttachment(db(), file);
  await onThread(db(), threadId, (tx) => attach(tx, derivedId('item_', turnId, 'user'), [id]));
  return id;
}

const shown = async (threadId: string) => {
  const { summary, messages, calls, files } = await loadHistory(db(), threadId);
  // ids differ, and stand in what reads on
  return JSON.stringify(toModelMessages('', summary, messages, calls, files)).replaceAll(
    /(call|msg|att)_[0-9a-f]{16}/g,
    '$1_id',
  );
};

describe('a copy of a thread', () => {
  it('shows the model and the screens what the source shows, in its order', async () => {
    const { threadId } = await newThread(db());
    const first = await saidTurn(db(), threadId, 'one', 'answer one');
    await attached(threadId, first, 'letter.txt');
    const second = await saidTurn(db(), threadId, 'two', 'answer two');
    await called(threadId, second, 'web_fetch', { state: 'done', output: 'a page '.repeat(2_000) });
    const { id } = await copy(threadId);
    expect(await shown(id)).toBe(await shown(threadId));
    const [source, made] = [(await threadDetail(db(), threadId))!, (await threadDetail(db(), id))!];
    const texts = ({ items }: typeof source) =>
      items.map(({ kind, status, summary, detail, metadata }) => ({ kind, status, summary, detail, metadata }));
    expect(texts(made)).toEqual(texts(source));
    expect(made.turns.map(({ usage, status }) => [usage, status])).toEqual(
      source.turns.map(({ usage, status }) => [usage, status]),
    );
    const ids = ({ turns, items }: typeof source) => [...turns, ...items].map((each) => each.id);
    expect(new Set(ids(source)).intersection(new Set(ids(made))).size).toBe(0);
  });

  it('begins where the conversation of the source began, with its summary', async () => {
    const { threadId } = await newThread(db());
    for (const word of ['left behind', 'summed up', 'open']) await saidTurn(db(), threadId, word, `answer ${word}`);
    const { messages } = await loadHistory(db(), threadId);
    await addSummary(db(), threadId, messages[1]!.ord, '', []);
    await addSummary(db(), threadId, messages[3]!.ord, 'the summary', []);
    const { id } = await copy(threadId);
    const read = await loadHistory(db(), id);
    expect([read.summary, read.messages.map(({ content }) => content)]).toEqual([
      'the summary',
      ['open', 'answer open'],
    ]);
    // and after what is said there, as in the source
    expect(
      (await db().selectFrom('summaries').select('body').where('thread_id', '=', id).orderBy('upto').execute()).map(
        ({ body }) => body,
      ),
    ).toEqual(['', 'the summary']);
  });

  it('reads what old ids name, also in a copy of the copy, and when the source was erased', async () => {
    const { threadId } = await newThread(db());
    const turn = await saidTurn(db(), threadId, 'a long message', 'answer');
    const file = await attached(threadId, turn, 'letter.txt');
    const call = await called(threadId, turn, 'web_fetch', {
      state: 'done',
      output: 'the page',
      metadata: { attachment: file, mime: 'image/png' },
    });
    const message = derivedId('msg_', derivedId('item_', turn, 'user'));
    const { id } = await copy((await copy(threadId)).id);
    await onThread(db(), threadId, eraseTexts);
    const chat = await chatOfThread(db(), id);
    expect((await findCallOutput(db(), chat, call))?.output).toBe('the page');
    expect((await messageOfChat(db(), chat, message))?.content).toBe('a long message');
    expect((await attachmentOfChat(db(), chat, file))?.text).toBe('text of letter.txt');
    expect((await bytesOfAttachment(db(), id, file))?.data.toString()).toBe('bytes of letter.txt');
    // what a request reads by id is the copy's own
    const read = await loadHistory(db(), id);
    const made = read.messages.flatMap(({ call_ids }) =>
      call_ids.flatMap((each) => read.calls.get(each)?.picture ?? []),
    );
    expect([...read.files.keys()].sort()).toEqual(
      [...new Set([...made, ...read.messages.flatMap(({ attachment_ids = [] }) => attachment_ids)])].sort(),
    );
    expect(made).toHaveLength(1);
    // the source has nothing left, and other chats see none of it
    expect(await bytesOfAttachment(db(), threadId, file)).toBeUndefined();
    expect(await findCallOutput(db(), (await newThread(db())).chatId, call)).toBeUndefined();
  });

  it('gives providers back what they gave in the source, and keeps it when the source is erased', async () => {
    const { threadId } = await newThread(db());
    const turn = await saidTurn(db(), threadId, 'one', 'answer');
    const given: StepState = {
      wire: 'chat',
      endpoint: 'http://model/v1',
      model: 'm',
      data: { z: 'CANARY \0', a: [1] },
    };
    await called(threadId, turn, 'web_fetch', { state: 'done', output: 'the page', given });
    const { id } = await copy((await copy(threadId)).id);
    await onThread(db(), threadId, eraseTexts);
    const states = async (thread: string) =>
      (await loadHistory(db(), thread)).messages.flatMap(({ state }) => (state ? [JSON.stringify(state)] : []));
    expect(await states(id)).toEqual([JSON.stringify(given)]);
    expect(await states(threadId)).toEqual([]);
  });

  it('ends a turn that runs in the source as interrupted, with its calls and items, and leaves the source alone', async () => {
    const { threadId } = await newThread(db());
    await saidTurn(db(), threadId, 'before', 'answer');
    const running = await onThread(db(), threadId, (tx) => openTurn(tx, { text: 'still going' }).id);
    await called(threadId, running, 'web_fetch', { state: 'running' });
    const before = await threadDetail(db(), threadId);
    const { id, latest_turn_id } = await copy(threadId);
    const made = (await threadDetail(db(), id))!;
    expect(made.turns.map(({ status, ended_at }) => [status, ended_at !== undefined])).toEqual([
      ['completed', true],
      ['interrupted', true],
    ]);
    expect(latest_turn_id).toBe(made.turns[1]!.id);
    expect(made.items.filter(({ status, ended_at }) => status === 'in_progress' || ended_at === undefined)).toEqual([]);
    expect(await shown(id)).toContain('its outcome is unknown');
    expect((await loadHistory(db(), id)).messages.at(-1)).toMatchObject({
      role: 'assistant',
      content: expect.stringContaining('Here it ends'),
    });
    expect(await threadDetail(db(), threadId)).toEqual(before);
  });

  it('costs nothing, and has no app of the source', async () => {
    const { threadId } = await newThread(db());
    const turn = await saidTurn(db(), threadId, 'paid', 'answer', { input: 7, output: 3, microUsd: 5_000 });
    await called(threadId, turn, 'app_run', {
      state: 'done',
      output: 'runs',
      metadata: { app: { id: 'app_1', state: 'running', host: 'here' } },
    });
    const report = () => usageReport(db(), { since: null, until: null, group: 'thread' });
    const before = await report();
    const { id } = await copy(threadId);
    expect(await report()).toEqual(before);
    expect([
      await runningAppsOf(db(), await chatOfThread(db(), threadId)),
      await runningAppsOf(db(), await chatOfThread(db(), id)),
    ]).toMatchObject([[{}], []]);
  });

  it('is made once for one key, however many ask for it at the same time', async () => {
    const { threadId } = await newThread(db());
    await saidTurn(db(), threadId, 'one', 'answer');
    const made = await Promise.all(Array.from({ length: 5 }, () => copy(threadId, 'k')));
    expect(new Set(made.map(({ id }) => id)).size).toBe(1);
    expect(
      (await db().selectFrom('threads').select('id').where('forked_from', '=', threadId).execute()).map(({ id }) => id),
    ).toEqual([made[0]!.id]);
  });

  it('has the active workspace and the autonomy of its source', async () => {
    const { threadId, chatId } = await newThread(db());
    await db()
      .updateTable('chats')
      .set({ workspace: 'demo', workspace_host: 'here', autonomy: 'supervised' })
      .where('id', '=', chatId)
      .execute();
    const { id } = await copy(threadId);
    const chat = await db()
      .selectFrom('chats')
      .selectAll()
      .where('id', '=', await chatOfThread(db(), id))
      .executeTakeFirstOrThrow();
    expect(chat).toMatchObject({
      channel: 'api',
      address: id,
      workspace: 'demo',
      workspace_host: 'here',
      autonomy: 'supervised',
    });
  });

  it('is not made of a group, nor of a thread that is not there', async () => {
    const { threadId } = await newThread(db(), { channel: 'whatsapp', address: '1203630@g.us' });
    await expect(copy(threadId)).rejects.toThrow(GroupThread);
    await expect(copy('thr_missing')).rejects.toThrow('Thread not found: thr_missing');
  });
});
