import type { Config } from '../../../config.ts';
import type { Identity } from '../../../contracts/decision.ts';
import { canonicalUser, numberMode, roleOf } from '../../../domain/whatsapp/identity.ts';
import { type Forms, findContact, learnMapping, ownIdentity } from '../../../store/whatsapp/contacts.ts';
import type { CurrentLive, OnOpen, WhatsAppDeps } from '../live.ts';
import type { Me } from './decode.ts';

export type Role = 'owner' | 'trusted' | 'stranger';
/** JIDs of those who may use it. */
export interface People {
  owner: string[];
  trusted: string[];
}
/** The linked account, and how its number is used. */
export interface Self extends Me {
  number: 'shared' | 'dedicated';
  people: People;
}

const jids = (phones: string | undefined): string[] => (phones ?? '').split(',').flatMap((phone) => (phone ? [`${phone}@s.whatsapp.net`] : []));

/** Who is who on this account now. Without OWNER_PHONE_NUMBER the account itself is the owner. */
export async function whoIsWho({ db, config, account }: Pick<WhatsAppDeps, 'db' | 'config' | 'account'>): Promise<Self> {
  const own = await ownIdentity(db, account);
  const people = peopleOf(config, own);
  const number = numberMode(config, own.number, own.jid ?? '');
  return { jid: own.jid && canonicalUser(own.jid), lid: own.lid && canonicalUser(own.lid), number, people };
}

export function peopleOf(config: Pick<Config, 'OWNER_PHONE_NUMBER' | 'TRUSTED_PHONE_NUMBERS'>, own: Me): People {
  const owner = jids(config.OWNER_PHONE_NUMBER);
  const itself = [own.jid, own.lid].filter((jid) => jid !== null);
  // an owner who is the account itself is found under its LID too, before any contact says so
  const named = own.jid && owner.includes(canonicalUser(own.jid)) ? [...owner, ...itself] : owner;
  return { owner: owner.length > 0 ? named : itself, trusted: jids(config.TRUSTED_PHONE_NUMBERS) };
}

/**
 * Both forms of an address, as far as they are known: from the stanza, from the contacts, or from what Baileys has learned. Null
 * when only an open connection could tell: the message waits for it rather than being taken for a stranger's.
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

export const roleIn = (people: People, forms: Forms): Role => roleOf(forms, people);

/** Who a message is from, as the store keeps it: by number where it is known, because that is what people are named by. */
export const identityOf = (role: Role, { pn, lid }: Forms): Identity => {
  const jid = pn ?? lid;
  return { role: role === 'stranger' ? 'member' : role, channel: 'whatsapp', ...(jid && { id: pn ? pn.split('@')[0]! : jid }) };
};

/**
 * Notes which LIDs and numbers belong together, for those that are known here, and asks once for the LIDs of the people who may use
 * it: a message of theirs need not say which number they have.
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
      for (const pn of [...jids(config.OWNER_PHONE_NUMBER), ...jids(config.TRUSTED_PHONE_NUMBERS)]) {
        if (closed.aborted) return;
        await sock.signalRepository.lidMapping.getLIDForPN(pn).catch(() => null);
      }
    };
    sock.ev.on('lid-mapping.update', learn);
    void ask();
    return () => sock.ev.off('lid-mapping.update', learn);
  };
