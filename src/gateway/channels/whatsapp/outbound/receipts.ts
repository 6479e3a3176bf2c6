import type { BaileysEventMap, proto, WAMessageKey } from '@whiskeysockets/baileys';
import { canonicalUser, isGroup } from '../../../../domain/whatsapp/identity.ts';
import { findGroup } from '../../../../store/whatsapp/chats.ts';
import { samePersonKnown } from '../../../../store/whatsapp/outgoing.ts';
import { findSend, markAccepted, markReceipt, markRefusedLater } from '../../../../store/whatsapp/sends.ts';
import type { OnOpen, WhatsAppDeps } from '../live.ts';

/** `proto.WebMessageInfo.Status` as numbers, because they are needed before Baileys is loaded. */
const STATUS = { error: 0, serverAck: 2, delivered: 3, read: 4 } as const;

/**
 * Records what happened to our messages: accepted, delivered, read, refused. The library merges updates that come with
 * their message into `messages.upsert`, so both events are read.
 */
export function trackReceipts({ db, account, log }: WhatsAppDeps): OnOpen {
  const failed = (error: unknown) => log.warn({ err: error }, 'a receipt could not be stored');

  async function note(
    changes: Array<{ key: WAMessageKey; status: number | null | undefined; why?: string | null }>,
  ): Promise<void> {
    const of = (wanted: (status: number) => boolean) =>
      changes
        .filter(({ key, status }) => key.fromMe && key.id && typeof status === 'number' && wanted(status))
        .map(({ key }) => key.id!);
    const now = new Date();
    await markAccepted(
      db,
      account,
      of((status) => status === STATUS.serverAck),
    );
    await markReceipt(
      db,
      account,
      of((status) => status === STATUS.delivered),
      'delivered',
      now,
    );
    await markReceipt(
      db,
      account,
      of((status) => status >= STATUS.read),
      'read',
      now,
    );
    for (const { key, status, why } of changes) {
      // the sender itself handles 479, with the same id
      if (status === STATUS.error && key.fromMe && key.id && why !== '479')
        await markRefusedLater(db, account, key.id, `WhatsApp refused it later (${why ?? 'no reason'})`);
    }
  }

  return ({ sock }) => {
    const updated = (updates: BaileysEventMap['messages.update']) =>
      void note(
        updates.map(({ key, update }) => ({
          key,
          status: update.status,
          why: update.messageStubParameters?.[0] ?? null,
        })),
      ).catch(failed);
    const upserted = ({ messages }: BaileysEventMap['messages.upsert']) =>
      void note(
        messages.map((message) => ({
          key: message.key,
          status: message.status,
          why: message.messageStubParameters?.[0] ?? null,
        })),
      ).catch(failed);
    const grouped = (updates: BaileysEventMap['message-receipt.update']) =>
      void note(
        updates.map(({ key, receipt }) => ({
          key,
          status: receipt.readTimestamp || receipt.playedTimestamp ? STATUS.read : STATUS.delivered,
        })),
      ).catch(failed);
    sock.ev.on('messages.update', updated);
    sock.ev.on('messages.upsert', upserted);
    sock.ev.on('message-receipt.update', grouped);
    return () => {
      sock.ev.off('messages.update', updated);
      sock.ev.off('messages.upsert', upserted);
      sock.ev.off('message-receipt.update', grouped);
    };
  };
}

/**
 * Answers a recipient whose phone could not decrypt a message, as long as the message is stored. Only the chat that it
 * was sent to gets it, because anybody who knows the id can send a retry receipt.
 */
export const getMessage =
  ({ db, account }: Pick<WhatsAppDeps, 'db' | 'account'>) =>
  async (key: WAMessageKey): Promise<proto.IMessage | undefined> => {
    if (!key.id) return undefined;
    const send = await findSend(db, account, key.id);
    if (!send || send.content.length === 0) return undefined;
    const asked = key.remoteJid ?? '';
    const allowed = isGroup(send.jid)
      ? asked === send.jid && (await isMember(db, account, send.jid, key.participant))
      : await samePersonKnown(db, account, send.jid, asked);
    if (!allowed) return undefined;
    const { proto } = await import('@whiskeysockets/baileys');
    return proto.Message.decode(send.content);
  };

async function isMember(
  db: WhatsAppDeps['db'],
  account: string,
  group: string,
  participant: string | null | undefined,
): Promise<boolean> {
  const known = await findGroup(db, account, group);
  if (!known || !participant) return true;
  const user = canonicalUser(participant);
  return known.metadata.participants.some(
    ({ id, phoneNumber }) =>
      canonicalUser(id) === user || (phoneNumber !== undefined && canonicalUser(phoneNumber) === user),
  );
}
