import { busyChats } from '../../../../store/chats/messages/outbox.ts';
import { replyJid } from '../../../../store/whatsapp/outgoing.ts';
import { markReadSent, unreadInput } from '../../../../store/whatsapp/presence.ts';
import type { Live, OnOpen, WhatsAppDeps } from '../live.ts';

const LOOK_EVERY_MS = 1000;
/** Phones show "typing" a little longer than this. */
const COMPOSE_EVERY_MS = 10_000;
const MOST_CHATS = 50;
const MOST_READS = 100;

/**
 * Shows in each chat that its turn is at work and that its messages were read. While we are "available", the owner's
 * phone may not announce new messages, so that ends with the last turn. Strangers see nothing.
 */
export function typing({ db, account, config, log }: WhatsAppDeps): OnOpen {
  return (live) => {
    const { me } = live.sock.authState.creds;
    // Baileys sends no presence without a name, and without history it may never learn the phone's own
    if (me && !me.name) me.name = (live.number === 'shared' && config.FETCH_USER_NAME) || 'Fetch';
    const composing = new Map<string, { jid: string; at: number }>();
    let available = false;
    let timer: NodeJS.Timeout | undefined;

    async function show(busy: readonly string[]): Promise<void> {
      if (busy.length > 0 && !available) {
        await live.sock.sendPresenceUpdate('available');
        available = true;
      }
      for (const address of busy) {
        const before = composing.get(address);
        if (before && before.at + COMPOSE_EVERY_MS > Date.now()) continue;
        const jid = before?.jid ?? (await replyJid(db, account, address));
        if (jid === null) continue;
        await live.sock.sendPresenceUpdate('composing', jid);
        composing.set(address, { jid, at: Date.now() });
      }
      for (const [address, { jid }] of composing) {
        if (busy.includes(address)) continue;
        composing.delete(address);
        await live.sock.sendPresenceUpdate('paused', jid);
      }
      if (available && composing.size === 0) {
        await live.sock.sendPresenceUpdate('unavailable');
        available = false;
      }
    }

    const look = async (): Promise<void> => {
      const busy = busyChats(db, 'whatsapp', MOST_CHATS).then(show);
      for (const outcome of await Promise.allSettled([busy, showRead({ db, account }, live)])) {
        // only an indicator; the next look tries again
        if (outcome.status === 'rejected' && !live.closed.aborted)
          log.debug({ err: outcome.reason }, 'presence could not be shown');
      }
      if (!live.closed.aborted) timer = setTimeout(() => void look(), LOOK_EVERY_MS);
    };
    timer = setTimeout(() => void look(), 0);
    return () => clearTimeout(timer);
  };
}

async function showRead({ db, account }: Pick<WhatsAppDeps, 'db' | 'account'>, live: Live): Promise<void> {
  const unread = await unreadInput(db, account, MOST_READS);
  if (unread.length === 0) return;
  await live.sock.readMessages(
    unread.map(({ chat, participant, messageId }) => ({
      remoteJid: chat,
      id: messageId,
      fromMe: false,
      ...(participant && { participant }),
    })),
  );
  await markReadSent(
    db,
    unread.map(({ seq }) => seq),
  );
}
