import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { outboxId } from '../../../../../src/contracts/ids.ts';
import { typing } from '../../../../../src/gateway/channels/whatsapp/outbound/presence.ts';
import { json } from '../../../../../src/store/postgres/database.ts';
import { sendsOf } from '../../../../../src/store/whatsapp/sends.ts';
import { until } from '../../../../support/until.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import { ACCOUNT, type Chat, outgoing } from '../../../../support/whatsapp/outgoing.ts';

/** What a chat sees while it waits, and how it is asked. */

const out = outgoing();
const { config, db, opened, closed, channel, chatWith, turnOf, queue, deliver, shownTo, outboxState } = out;
let counter = 0;

describe('questions on WhatsApp', () => {
  async function question(
    chat: Chat,
    fields: { kind: 'question' | 'approval'; prompt: string; options?: string[]; args?: Record<string, unknown> },
  ): Promise<string> {
    const turnId = await turnOf(chat);
    const n = ++counter;
    await db()
      .insertInto('calls')
      .values({
        id: `call_${n}`,
        provider_id: 'x',
        turn_id: turnId,
        thread_id: chat.threadId,
        item_id: 'i',
        step: 0,
        position: 0,
        name: 'shell',
        args: json(fields.args ?? {}),
        danger: 'SAFE',
        effect: 'idempotent',
        state: 'pending',
        ok: null,
        output: null,
        started_at: null,
        ended_at: null,
      })
      .execute();
    await db()
      .insertInto('questions')
      .values({
        id: `qst_${n}`,
        chat_id: chat.chatId,
        thread_id: chat.threadId,
        turn_id: turnId,
        call_id: `call_${n}`,
        kind: fields.kind,
        prompt: fields.prompt,
        options: json(fields.options ?? []),
        state: 'open',
        decision: null,
        answer: null,
        decided_at: null,
      })
      .execute();
    return await queue(chat, 'as screens show it', { kind: 'question', turnId, id: outboxId(turnId, `qst_${n}`) });
  }
  let ann: Contact;
  let chat: Chat;
  beforeAll(async () => {
    ann = out.fixture.contact('Ann');
    chat = await chatWith(ann);
  });
  beforeEach(() => opened());
  afterEach(() => closed());

  it('are polls when polls are wanted, and the stored message decrypts the vote', async () => {
    const id = await question(chat, { kind: 'question', prompt: 'Red or blue?', options: ['Red', 'Blue'] });
    await deliver(id, channel({ config: config({ WHATSAPP_POLLS: 'true' }) }));
    const poll = await shownTo(ann, id);
    expect(poll.poll).toEqual({ name: 'Red or blue?', options: ['Red', 'Blue'], selectable: 1 });
    const [send] = await sendsOf(db(), id);
    expect(send!.questionId).toMatch(/^qst_/);
    const vote = await ann.vote(poll.id, ['Blue']);
    const { message } = await out.client.message(vote.id);
    const { decryptPollVote, proto } = await import('@whiskeysockets/baileys');
    const { messageSecret } = proto.Message.decode(send!.content).messageContextInfo!;
    const opened = decryptPollVote(message!.pollUpdateMessage!.vote!, {
      pollCreatorJid: out.fixture.account.lid,
      pollMsgId: poll.id,
      pollEncKey: messageSecret!,
      voterJid: ann.lid,
    });
    expect(opened.selectedOptions).toHaveLength(1);
  });

  it('are numbered lists otherwise', async () => {
    const id = await question(chat, { kind: 'question', prompt: 'Red or blue?', options: ['Red', 'Blue'] });
    await deliver(id);
    expect((await shownTo(ann, id)).shown.text).toBe('Red or blue?\n\n1. Red\n2. Blue');
  });

  it('for approval show what is asked for and say how to answer', async () => {
    const id = await question(chat, { kind: 'approval', prompt: 'May I run shell?', args: { command: 'rm *tmp*' } });
    await deliver(id);
    expect((await shownTo(ann, id)).shown.text).toBe(
      'May I run shell?\n\n```\ncommand: rm *tmp*\n```\n\nAnswer yes, no, or "always" to stop asking. 👍 and 👎 work, too.',
    );
  });
});

describe('what a chat sees while it waits', () => {
  let dan: Contact;
  let chat: Chat;
  let stop: undefined | (() => void);
  beforeAll(async () => {
    dan = out.fixture.contact('Dan');
    chat = await chatWith(dan);
    // as after a pairing whose phone never told its name
    delete out.client.auth.state.creds.me!.name;
  });
  beforeEach(() => {
    opened();
    stop = typing(out.deps)(out.live) as () => void;
  });
  afterEach(() => {
    stop?.();
    closed();
  });

  it('is "typing" while its turn runs, and nothing after it; the account is available only meanwhile', async () => {
    const turnId = await turnOf(chat, 'in_progress');
    await until('Dan sees typing', () => dan.sees === 'composing', 5_000);
    await db().updateTable('turns').set({ status: 'completed' }).where('id', '=', turnId).execute();
    await until('Dan sees no typing', () => dan.sees === 'paused', 5_000);
    const presence = () =>
      out.fixture.ledger.presences
        .filter(({ stanza }) => stanza.tag === 'presence')
        .map(({ stanza }) => stanza.attrs.type);
    await until('the account is unavailable again', () => presence().at(-1) === 'unavailable', 5_000);
    expect(presence()).toContain('available');
    expect(out.fixture.ledger.presences.findLast(({ stanza }) => stanza.tag === 'presence')?.stanza.attrs.name).toBe(
      'Fetch',
    );
  });

  it('is read receipts of what became input, and none of what did not', async () => {
    const wanted = await dan.send('do it');
    const ignored = await dan.send('not for you');
    const row = (message_id: string, inbox_id: string | null) =>
      ({
        account: ACCOUNT,
        chat: dan.lid,
        from_me: false,
        message_id,
        content: null,
        attrs: '{}',
        handled_at: new Date(),
        verdict: inbox_id ? 'turn' : 'not_addressed',
        inbox_id,
      }) as never;
    await db()
      .insertInto('wa_inbox')
      .values([row(wanted.id, 'inb_dan'), row(ignored.id, null)])
      .execute();
    await until('Dan sees that it was read', () => dan.receiptsOf(wanted.id).includes('read'), 5_000);
    await until(
      'that is remembered',
      async () =>
        (
          await db()
            .selectFrom('wa_inbox')
            .select('read_sent_at')
            .where('message_id', '=', wanted.id)
            .executeTakeFirst()
        )?.read_sent_at,
      5_000,
    );
    expect(dan.receiptsOf(ignored.id)).not.toContain('read');
    expect(dan.receiptsOf(wanted.id).filter((type) => type === 'read')).toHaveLength(1);
  });

  it('is one progress message whose text is replaced, and nothing of it after the turn', async () => {
    const turnId = await turnOf(chat, 'in_progress');
    const first = await queue(chat, 'step 1', { kind: 'progress', turnId });
    await deliver(first);
    const shown = await shownTo(dan, first);
    const skipped = await queue(chat, 'step 2', { kind: 'progress', turnId });
    const third = await queue(chat, 'step **3**', { kind: 'progress', turnId });
    await deliver(skipped);
    await deliver(third);
    await until('the text was replaced', () => shown.shown.text === 'step *3*', 10_000);
    expect(shown.shown.edits).toEqual(['step *3*']);
    expect((await outboxState(skipped)).state).toBe('dropped');
    await db().updateTable('turns').set({ status: 'completed' }).where('id', '=', turnId).execute();
    const late = await queue(chat, 'step 4', { kind: 'progress', turnId });
    await deliver(late);
    expect((await outboxState(late)).state).toBe('dropped');
  });
});
