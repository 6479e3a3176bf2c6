import { LRUCache } from 'lru-cache';
import { canonicalUser, roleOf } from '../../../../domain/whatsapp/identity.ts';
import { learnTimer } from '../../../../store/whatsapp/chats.ts';
import {
  type Contact,
  type Forms,
  findContact,
  keepContact,
  learnMapping,
  trustedPhones,
} from '../../../../store/whatsapp/contacts.ts';
import { ourMessage } from '../../../../store/whatsapp/inbox.ts';
import type { Intake } from '../../../intake/intake.ts';
import type { CurrentLive, OnOpen, WhatsAppDeps } from '../live.ts';
import type { Incoming } from './decode.ts';

/** The addresses of a setting's phone numbers. */
export const jidsOf = (phones: string | undefined): string[] =>
  (phones ?? '').split(',').flatMap((phone) => (phone ? [`${phone}@s.whatsapp.net`] : []));

/**
 * Both forms of an address, as far as known: from the stanza, the contacts, or Baileys. Null when only an open
 * connection could tell; then the message waits, and does not count as a stranger's.
 */
export async function bothForms(deps: WhatsAppDeps & { live: CurrentLive }, forms: Forms): Promise<Forms | null> {
  if (forms.pn || !forms.lid) return forms;
  const contact = await findContact(deps.db, deps.account, forms);
  if (contact?.pn) return { lid: forms.lid, pn: contact.pn };
  const live = deps.live();
  if (!live) return null;
  const pn = await live.sock.signalRepository.lidMapping.getPNForLID(forms.lid).catch(() => null);
  return { lid: forms.lid, pn: pn ? canonicalUser(pn) : null };
}

/**
 * Records which LIDs and numbers belong together for known people, and asks once for the LIDs of the authorised people:
 * their messages need not contain their number.
 */
export const learnMappings =
  ({ db, config, account, log }: WhatsAppDeps): OnOpen =>
  ({ sock, closed }) => {
    const learn = (mapping: { lid: string; pn: string }): void => {
      const known = { lid: canonicalUser(mapping.lid), pn: canonicalUser(mapping.pn) };
      learnMapping(db, account, known).catch((error) =>
        log.warn({ reason: error.message }, 'could not note which number a person has; the next message tells it'),
      );
    };
    const ask = async (): Promise<void> => {
      for (const pn of [
        ...jidsOf(config.OWNER_PHONE_NUMBER),
        ...jidsOf(config.TRUSTED_PHONE_NUMBERS),
        ...jidsOf((await trustedPhones(db)).join(',')),
      ]) {
        if (closed.aborted) return;
        await sock.signalRepository.lidMapping.getLIDForPN(pn).catch(() => null);
      }
    };
    sock.ev.on('lid-mapping.update', learn);
    ask().catch((error) =>
      log.warn(
        { reason: error.message },
        'could not ask for the addresses of trusted people; their messages tell them',
      ),
    );
    return () => sock.ev.off('lid-mapping.update', learn);
  };

const CONTACT_MS = 3_000;

/** Finds the chat and thread of a message, and the name of its author there. */
export class ChatDirectory {
  private readonly deps: WhatsAppDeps & { intake: Intake; live: CurrentLive };
  /** contacts, at most some seconds old, so that a flood does not write the same row again and again */
  private readonly contacts = new LRUCache<string, Promise<Contact>>({ max: 500, ttl: CONTACT_MS });
  /** the thread of a chat never changes, so it is looked up once */
  private readonly threads = new Map<string, string>();

  constructor(deps: WhatsAppDeps & { intake: Intake; live: CurrentLive }) {
    this.deps = deps;
  }

  /** The chat of a message, and in a group its author. */
  async placeOf({ chat, author, name, key }: Incoming): Promise<{ address: string; author: string | null }> {
    if (chat.kind === 'group') {
      if (key.fromMe) return { address: chat.jid, author: this.deps.config.FETCH_USER_NAME ?? 'The owner' };
      const contact = await this.contactOf({ ...author, name, replyJid: null });
      return { address: chat.jid, author: contact.name ?? 'A member' };
    }
    const forms = key.fromMe ? ((await bothForms(this.deps, chat.forms)) ?? chat.forms) : author;
    const contact = await this.contactOf({ ...forms, name: key.fromMe ? null : name, replyJid: chat.jid });
    return { address: contact.chatAddress, author: null };
  }

  async threadOf(address: string): Promise<string> {
    const known = this.threads.get(address);
    if (known) return known;
    const { id } = await this.deps.intake.channelThread('whatsapp', address);
    this.threads.set(address, id);
    return id;
  }

  /**
   * Notes after how long messages of a chat disappear, as a message or a setting says it, so that ours disappear, too.
   * Of chats with strangers nothing is noted.
   */
  async noteTimer({ chat, author, timer, key }: Incoming, people: Parameters<typeof roleOf>[1]): Promise<void> {
    const { db, account } = this.deps;
    // a message of ours has the timer of the moment when it was made
    if (!timer || (key.fromMe && (await ourMessage(db, account, key.messageId)))) return;
    const partner = chat.kind === 'group' ? author : chat.forms;
    const forms = (await bothForms(this.deps, partner)) ?? partner;
    if (chat.kind !== 'self' && roleOf(forms, people) === 'stranger') return;
    const contact = chat.kind === 'group' ? undefined : await findContact(db, account, forms);
    const address = chat.kind === 'group' ? chat.jid : (contact?.chatAddress ?? forms.lid ?? forms.pn ?? chat.jid);
    await learnTimer(db, account, address, timer);
  }

  private contactOf(person: Parameters<typeof keepContact>[2]): Promise<Contact> {
    const key = JSON.stringify([person.lid, person.pn, person.name, person.replyJid]);
    const known = this.contacts.get(key);
    if (known) return known;
    const contact = keepContact(this.deps.db, this.deps.account, person);
    this.contacts.set(key, contact);
    contact.catch(() => this.contacts.delete(key));
    return contact;
  }
}
