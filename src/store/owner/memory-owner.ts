import { capabilitiesOf, isGroupChat } from '../../contracts/channels.ts';
import { canonicalUser } from '../../domain/whatsapp/identity.ts';
import type { Db, Tx } from '../postgres/database.ts';

/** The owner's memories, in all chats that only the owner reads. */
const OWNER = 'owner';

/**
 * Whose memories a chat has. Other people read what is said in their chats and in groups, also when the owner writes
 * there: each of these chats has memories of its own.
 */
export async function memoryOwner(
  db: Db | Tx,
  chatId: string,
  { OWNER_PHONE_NUMBER }: { OWNER_PHONE_NUMBER?: string | undefined },
): Promise<string> {
  // the id of a chat begins with its channel
  if (capabilitiesOf(chatId).screen !== null) return OWNER;
  const { channel, address } = await db
    .selectFrom('chats')
    .select(['channel', 'address'])
    .where('id', '=', chatId)
    .executeTakeFirstOrThrow();
  if (isGroupChat(channel, address)) return chatId;
  const accounts = await db.selectFrom('wa_accounts').select(['jid', 'lid']).execute();
  const phones = (OWNER_PHONE_NUMBER ?? '').split(',').flatMap((phone) => (phone ? [`${phone}@s.whatsapp.net`] : []));
  const own = accounts.map(({ jid, lid }) => [jid, lid].flatMap((form) => (form ? [canonicalUser(form)] : [])));
  // without the setting, the linked account is the owner
  const owners = new Set([
    ...phones,
    ...own.filter((forms) => phones.length === 0 || forms.some((form) => phones.includes(form))).flat(),
  ]);
  const contacts = await db
    .selectFrom('wa_contacts')
    .select(['pn', 'lid'])
    .where('chat_address', '=', address)
    .execute();
  const forms = [address, ...contacts.flatMap(({ pn, lid }) => [pn, lid])];
  return forms.some((form) => form !== null && owners.has(canonicalUser(form))) ? OWNER : chatId;
}
