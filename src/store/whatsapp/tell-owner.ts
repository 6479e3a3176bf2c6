import { sql } from 'kysely';
import type { Db } from '../postgres/database.ts';
import { recordNotice } from '../turns/complete-turn.ts';
import { tellScreens } from '../turns/notices.ts';

/**
 * Says something about the installation to its owner, once for each `key`: on the screens, and in the owner's WhatsApp
 * chat if there is one. `phone`: digits of the owner, where the account has a number of its own.
 */
export async function tellOwner(db: Db, key: string, text: string, phone: string | null): Promise<void> {
  await tellScreens(db, key, text, true);
  // queued only: the gateway finds it, and sends it when WhatsApp is connected
  for (const chatId of await ownersChats(db, phone))
    await recordNotice(db, { chatId, outboxId: `out_${key}-${chatId}`, text, kind: 'notice' });
}

/** The chat with oneself of a shared number, else the chat of the owner with the number of Fetch. */
async function ownersChats(db: Db, phone: string | null): Promise<string[]> {
  const { rows } = await sql<{ id: string }>`
    with own as (
      select regexp_replace(each, ':[0-9]+@', '@') as jid from wa_accounts, unnest(array[jid, lid]) each
        where wanted <> 'off' and number_mode is distinct from 'dedicated' and each is not null
      union select ${phone}::text || '@s.whatsapp.net' where ${phone}::text is not null)
    select chats.id from chats where channel = 'whatsapp' and (address in (select jid from own)
      or address in (select chat_address from wa_contacts where pn in (select jid from own) or lid in (select jid from own)))
    order by chats.last_activity_at desc limit 1`.execute(db);
  return rows.map(({ id }) => id);
}
