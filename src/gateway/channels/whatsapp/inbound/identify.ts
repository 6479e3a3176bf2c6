import type { Config } from '../../../../config.ts';
import type { Identity } from '../../../../contracts/decision.ts';
import { canonicalUser, numberMode, roleOf } from '../../../../domain/whatsapp/identity.ts';
import { type Forms, findContact, learnMapping, ownIdentity } from '../../../../store/whatsapp/contacts.ts';
import { trustedPhones } from '../../../../store/whatsapp/trusted.ts';
import type { CurrentLive, OnOpen, WhatsAppDeps } from '../live.ts';
import type { Me } from './decode.ts';

export type Role = 'owner' | 'trusted' | 'stranger';
/** JIDs of the people who may use it. */
interface People {
  owner: string[];
  trusted: string[];
}
/** The linked account, and how its number is used. */
export interface Self extends Me {
  number: 'shared' | 'dedicated';
  people: People;
}

const jids = (phones: string | undefined): string[] =>
  (phones ?? '').split(',').flatMap((phone) => (phone ? [`${phone}@s.whatsapp.net`] : []));

/** Who is who on this account. Without OWNER_PHONE_NUMBER the account itself is the owner. */
export async function whoIsWho({
  db,
  config,
  account,
}: Pick<WhatsAppDeps, 'db' | 'config' | 'account'>): Promise<Self> {
  const [own, told] = await Promise.all([ownIdentity(db, account), trustedPhones(db)]);
  const people = peopleOf(config, own, told);
  const number = numberMode(config, own.number, own.jid ?? '');
  return { jid: own.jid && canonicalUser(own.jid), lid: own.lid && canonicalUser(own.lid), number, people };
}

/** `told`: numbers that the owner trusts besides those of the setting. */
export function peopleOf(
  config: Pick<Config, 'OWNER_PHONE_NUMBER' | 'TRUSTED_PHONE_NUMBERS'>,
  own: Me,
  told: readonly string[] = [],
): People {
  const owner = jids(config.OWNER_PHONE_NUMBER);
  const itself = [own.jid, own.lid].filter((jid) => jid !== null);
  // if the account itself is the owner, its LID counts too, before any contact says so
  const named = own.jid && owner.includes(canonicalUser(own.jid)) ? [...owner, ...itself] : owner;
  return {
    owner: owner.length > 0 ? named : itself,
    trusted: [...jids(config.TRUSTED_PHONE_NUMBERS), ...jids(told.join(','))],
  };
}

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

export const roleIn = (people: People, forms: Forms): Role => roleOf(forms, people);

/** The author's identity for the store: the number if known, because settings name people by number. */
export const identityOf = (role: Role, { pn, lid }: Forms): Identity => {
  const jid = pn ?? lid;
  return {
    role: role === 'stranger' ? 'member' : role,
    channel: 'whatsapp',
    ...(jid && { id: pn ? pn.split('@')[0]! : jid }),
  };
};

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
        ...jids(config.OWNER_PHONE_NUMBER),
        ...jids(config.TRUSTED_PHONE_NUMBERS),
        ...jids((await trustedPhones(db)).join(',')),
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
