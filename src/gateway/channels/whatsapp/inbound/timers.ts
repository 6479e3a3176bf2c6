import { findContact } from '../../../../store/whatsapp/contacts.ts';
import { learnTimer } from '../../../../store/whatsapp/timers.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import type { Incoming } from './decode.ts';
import { bothForms, roleIn, type Self } from './identify.ts';

/**
 * Notes after how long messages of a chat disappear, as a message or a setting says it, so that ours disappear, too.
 * Of chats with strangers nothing is noted.
 */
export async function noteTimer(
  deps: WhatsAppDeps & { live: CurrentLive },
  { chat, author, timer }: Incoming,
  { people }: Self,
): Promise<void> {
  const { db, account } = deps;
  const partner = chat.kind === 'group' ? author : chat.forms;
  const forms = (await bothForms(deps, partner)) ?? partner;
  if (chat.kind !== 'self' && roleIn(people, forms) === 'stranger') return;
  const contact = chat.kind === 'group' ? undefined : await findContact(db, account, forms);
  const address = chat.kind === 'group' ? chat.jid : (contact?.chatAddress ?? forms.lid ?? forms.pn ?? chat.jid);
  await learnTimer(db, account, address, timer!);
}
