import { addressed } from '../../../../domain/chat/trigger.ts';
import { continued, oneLine, quotation } from '../../../../domain/text/foreign-text.ts';
import { roleOf, samePerson } from '../../../../domain/whatsapp/identity.ts';
import { type Amended, amendInput } from '../../../../store/turns/amend.ts';
import type { Heard } from '../../../../store/turns/steps/transcript.ts';
import type { Forms } from '../../../../store/whatsapp/contacts.ts';
import { type Handled, markHandled, received, replaceContent } from '../../../../store/whatsapp/inbox.ts';
import { labelOf, memberSource } from '../../shared/pending.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import type { Self } from './admit.ts';
import { type Content, decodeRow, type Incoming, openedEdit } from './decode.ts';
import { bothForms } from './directory.ts';

type Deps = WhatsAppDeps & { live: CurrentLive };
type Edit = Extract<Content, { kind: 'edit' }>;
type Change = Extract<Content, { kind: 'edit' | 'sealed_edit' | 'revoke' }>;

/** The effect of an edit or a deletion. `waiting`: its message was not passed on yet, and changes or vanishes. */
type AmendOutcome = { kind: 'waiting'; seq: number } | { kind: 'none' } | Amended;

/**
 * Carries out an edit or deletion by a message's own author, and ends its row in the same transaction. Nobody can
 * change another person's message, whatever key the protocol message has.
 */
export async function amend(
  deps: WhatsAppDeps & { live: CurrentLive },
  seq: number,
  message: Incoming,
  change: Change,
  self: Self,
): Promise<AmendOutcome> {
  const { db, config } = deps;
  const target = await ownTarget(deps, message, change.target, self);
  const content = change.kind === 'sealed_edit' ? target && (await opened(change, target.message, message)) : change;
  const verdict = change.kind === 'sealed_edit' ? 'edit' : change.kind;
  if (!target || !content) {
    await markHandled(db, [seq], content ? verdict : 'edit_unreadable');
    return { kind: 'none' };
  }
  if (target.row.verdict === null) {
    await db.transaction().execute(async (tx) => {
      if (content.kind === 'edit') await replaceContent(tx, target.row.seq, await edited(target.message, content));
      else await markHandled(tx, [target.row.seq], 'revoked');
      await markHandled(tx, [seq], verdict);
    });
    return { kind: 'waiting', seq: target.row.seq };
  }
  if (target.row.inboxId === null) {
    await markHandled(db, [seq], verdict);
    return { kind: 'none' };
  }
  const was = textOf(target.message);
  const now = content.kind === 'edit' ? content.text : null;
  const group = message.chat.kind === 'group';
  const owner = roleOf(message.author, self.people) === 'owner';
  const who = `${oneLine(message.name ?? '') || 'Somebody'}${group ? ` (${owner ? 'owner' : 'member'})` : ''}`;
  const { ofOthers } = target.message;
  const others = group && !owner ? (message.name ?? 'a member') : ofOthers ? labelOf(ofOthers) : null;
  const heard: Heard = others === null ? { words: now ?? '' } : { sources: [memberSource(others)], words: '' };
  return await amendInput(
    db,
    target.row.inboxId,
    {
      was: [was, withoutTrigger(was, config.FETCH_TRIGGER)],
      now: now === null ? null : withoutTrigger(now, config.FETCH_TRIGGER),
      note:
        now === null
          ? `[${who} deleted an earlier message:]\n${quotation(was)}`
          : `[${who} edited an earlier message. It was:]\n${quotation(was)}\n[It reads now:]\n${quotation(now)}`,
      heard,
      ...(group && { continued }),
    },
    async (tx) => {
      // a second edit changes the text of the first
      if (content.kind === 'edit') await replaceContent(tx, target.row.seq, await edited(target.message, content));
      await markHandled(tx, [seq], verdict);
    },
  );
}

/** The row that an edit or deletion is about, if both have the same author. */
async function ownTarget(
  deps: Deps,
  by: Incoming,
  id: string,
  self: Self,
): Promise<{ row: Handled; message: Incoming } | null> {
  const author = await knownForms(deps, by.author);
  for (const row of await received(deps.db, deps.account, id)) {
    if (row.fromMe !== by.key.fromMe || row.content === null || row.content.length === 0) continue;
    const message = await decodeRow(row, self);
    if (message.chat.kind !== by.chat.kind || (by.chat.kind === 'group' && message.chat.jid !== by.chat.jid)) continue;
    if (samePerson(await knownForms(deps, message.author), author)) return { row, message };
  }
  return null;
}

/** A sealed edit of a message, opened; null when it cannot be, or would leave nothing to read. */
async function opened(
  sealed: Extract<Content, { kind: 'sealed_edit' }>,
  target: Incoming,
  { author }: Incoming,
): Promise<Edit | null> {
  if (!target.secret) return null;
  const people = new Set([author.lid, author.pn, target.author.lid, target.author.pn].filter((jid) => jid !== null));
  const edit = await openedEdit(sealed, target.secret, [...people]);
  return edit && (edit.text.trim() || target.content.kind === 'media') ? edit : null;
}

/**
 * The bytes of the edited message. The edit of a caption need not repeat the file, and the edit of a text not what it
 * quotes: else a "yes" to something else became one to whatever is open. The secret stays that of the first version.
 */
async function edited({ content: before, secret, context }: Incoming, edit: Edit): Promise<Buffer> {
  const { proto } = await import('@whiskeysockets/baileys');
  let { message } = edit;
  if (before.kind === 'media') {
    message = before.message;
    const { imageMessage, videoMessage, documentMessage } = before.message;
    for (const part of [imageMessage, videoMessage, documentMessage]) if (part) part.caption = edit.text;
  } else if (context && (message.conversation || message.extendedTextMessage)) {
    const text = message.extendedTextMessage ?? { text: message.conversation };
    message = { extendedTextMessage: { ...text, contextInfo: { ...context, ...text.contextInfo } } };
  }
  const kept = { ...message, ...(secret && { messageContextInfo: { messageSecret: secret } }) };
  return Buffer.from(proto.Message.encode(kept).finish());
}

const knownForms = async (deps: Deps, forms: Forms): Promise<Forms> => (await bothForms(deps, forms)) ?? forms;

const textOf = ({ content }: Incoming): string =>
  content.kind === 'text' || content.kind === 'media' ? content.text : '';

const withoutTrigger = (text: string, trigger: string): string =>
  addressed({ chat: 'self', number: 'dedicated', mentionsUs: true, quotesUs: true, text, voice: false, trigger }).text;
