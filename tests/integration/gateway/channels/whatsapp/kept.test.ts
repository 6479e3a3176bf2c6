import { proto } from '@whiskeysockets/baileys';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { getMessage } from '../../../../../src/gateway/channels/whatsapp/outbound/receipts.ts';
import { saveAttachment } from '../../../../../src/store/chats/messages/attachments.ts';
import { received, storeReceived } from '../../../../../src/store/whatsapp/inbox.ts';
import { pruneContent } from '../../../../../src/store/whatsapp/prune.ts';
import { prepareCall } from '../../../../../src/tools/registry.ts';
import type { ToolContext } from '../../../../../src/tools/tool.ts';
import { startTestDatabase, type TestDatabase } from '../../../../support/database.ts';
import { newThread } from '../../../../support/thread.ts';

const ACCOUNT = 'default';
const ANN = '900001@lid';
const DAY_MS = 86_400_000;
const ago = (days: number) => new Date(Date.now() - days * DAY_MS);
const bytes = (text: string) => Buffer.from(proto.Message.encode({ conversation: text }).finish());

let database: TestDatabase;
let threadId: string;
let chatId: string;
const db = () => database.store.db;

const chat = (address: string): Promise<{ threadId: string; chatId: string }> =>
  newThread(db(), { channel: 'whatsapp', address, chatKey: (of) => of.replace(/\W/g, '') });

beforeAll(async () => {
  database = await startTestDatabase();
  ({ threadId, chatId } = await chat(ANN));
}, 60_000);
afterAll(() => database?.close());

describe('what is kept of messages', () => {
  const before = ago(30);
  const key = (messageId: string) => ({ account: ACCOUNT, chat: ANN, participant: '', fromMe: false, messageId });
  const receivedAs = async (messageId: string, fields: { handledAt: Date | null; content?: Buffer | null }) => {
    await storeReceived(db(), [
      {
        ...key(messageId),
        content: fields.content === undefined ? bytes('hi') : fields.content,
        attrs: { notify: 'Ann' },
      },
    ]);
    await db()
      .updateTable('wa_inbox')
      .set({ handled_at: fields.handledAt, inbox_id: 'inb' })
      .where('message_id', '=', messageId)
      .execute();
  };
  const sentAs = async (
    messageId: string,
    fields: { createdAt: Date; state?: 'queued' | 'read'; questionId?: string },
  ) => {
    await db()
      .insertInto('outbox')
      .values({
        id: messageId,
        chat_id: chatId,
        thread_id: threadId,
        turn_id: null,
        kind: 'answer',
        body: 'b',
        error: null,
        sent_at: null,
      })
      .execute();
    const row = {
      message_id: messageId,
      account: ACCOUNT,
      outbox_id: messageId,
      part: 0,
      jid: ANN,
      content: bytes('hello'),
      state: fields.state ?? ('read' as const),
    };
    const none = { error: null, sent_at: null, delivered_at: null, read_at: null, edits: null };
    await db()
      .insertInto('wa_sends')
      .values({ ...row, ...none, created_at: fields.createdAt, question_id: fields.questionId ?? null })
      .execute();
  };
  const content = async (messageId: string) => (await received(db(), ACCOUNT, messageId))[0]!.content;
  const asked = (id: string) => getMessage({ db: db(), account: ACCOUNT })({ id, remoteJid: ANN, fromMe: true });

  it('is its content for thirty days after it was handled, and then only the key, by which a repetition is known', async () => {
    await receivedAs('old', { handledAt: ago(31) });
    await receivedAs('new', { handledAt: ago(29) });
    await receivedAs('waiting', { handledAt: null });
    await receivedAs('stub', { handledAt: ago(31), content: null });
    expect(await pruneContent(db(), ACCOUNT, before)).toBe(1);
    expect(await content('old')).toHaveLength(0);
    expect((await received(db(), ACCOUNT, 'old'))[0]!.attrs).toEqual({});
    for (const kept of ['new', 'waiting']) expect(await content(kept)).toEqual(bytes('hi'));
    // a stub stays one, and takes its content when it comes
    expect(await content('stub')).toBeNull();
    await storeReceived(
      db(),
      ['old', 'stub'].map((id) => ({ ...key(id), content: bytes('again'), attrs: {} })),
    );
    expect(await content('old')).toHaveLength(0);
    expect(await content('stub')).toEqual(bytes('again'));
    expect(await pruneContent(db(), ACCOUNT, before)).toBe(0);
  });

  it('is what was sent for thirty days, for phones that could not read it; not less while a question is open, or before it was sent', async () => {
    await sentAs('S1', { createdAt: ago(31) });
    await sentAs('S2', { createdAt: ago(29) });
    await sentAs('S3', { createdAt: ago(31), state: 'queued' });
    const turn = {
      id: 'turn_1',
      thread_id: threadId,
      status: 'in_progress' as const,
      input_summary: '',
      started_at: new Date(),
    };
    await db()
      .insertInto('turns')
      .values({ ...turn, ended_at: null, error: null, auto_approve: null, model: null })
      .execute();
    const question = {
      id: 'q1',
      chat_id: chatId,
      thread_id: threadId,
      turn_id: 'turn_1',
      call_id: 'q1',
      kind: 'question' as const,
      prompt: '?',
      options: '[]',
    };
    await db()
      .insertInto('questions')
      .values({ ...question, state: 'open', decision: null, answer: null, decided_at: null })
      .execute();
    await sentAs('S4', { createdAt: ago(31), questionId: 'q1' });
    expect(await pruneContent(db(), ACCOUNT, before)).toBe(1);
    // an empty message would be shown as one
    expect(await asked('S1')).toBeUndefined();
    for (const id of ['S2', 'S3', 'S4']) expect((await asked(id))?.conversation).toBe('hello');
    await db().updateTable('questions').set({ state: 'answered' }).execute();
    expect(await pruneContent(db(), ACCOUNT, before)).toBe(1);
  });
});

describe('a file of a chat', () => {
  const read = async (args: Record<string, unknown>, inChat = chatId) => {
    const call = prepareCall('read_attachment', JSON.stringify(args));
    if (!call.ok) throw new Error(call.error);
    return await call.tool.run(call.args as never, { db: db(), chatId: inChat } as ToolContext);
  };
  const file = {
    threadId: '',
    kind: 'document' as const,
    mime: 'text/plain',
    name: 'long.txt',
    data: Buffer.from('x'),
    preview: null,
  };
  const text = Array.from({ length: 3_000 }, (_, line) => `line ${line}\n`).join('');

  it('is read on from where it was cut, to its end', async () => {
    await saveAttachment(db(), { ...file, id: 'att_long', threadId, text });
    let whole = '';
    for (let offset = 0; offset < text.length; ) {
      const { ok, output, metadata } = await read({ id: 'att_long', offset });
      expect(ok).toBe(true);
      whole += output.slice(0, output.lastIndexOf('\n\n[characters'));
      offset = metadata!.end as number;
    }
    expect(whole).toBe(text);
    expect(await read({ id: 'att_long', offset: text.length })).toMatchObject({
      ok: false,
      output: `The text of long.txt ends at ${text.length} characters.`,
    });
  });

  it('is told to have no text where it has none, and cannot be read from another chat', async () => {
    await saveAttachment(db(), {
      ...file,
      id: 'att_pic',
      threadId,
      kind: 'image',
      mime: 'image/jpeg',
      name: null,
      text: null,
    });
    expect(await read({ id: 'att_pic' })).toMatchObject({ ok: false, output: expect.stringContaining('no text') });
    const other = await chat('900002@lid');
    expect(await read({ id: 'att_long' }, other.chatId)).toEqual({
      ok: false,
      output: 'There is no attachment att_long in this chat.',
    });
  });
});
