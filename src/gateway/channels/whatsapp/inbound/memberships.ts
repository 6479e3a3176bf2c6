import type { BaileysEventMap, GroupMetadata } from '@whiskeysockets/baileys';
import { canonicalUser } from '../../../../domain/whatsapp/identity.ts';
import { countMembers, listGroups } from '../../../../store/chats/groups.ts';
import type { Intake } from '../../../intake/intake.ts';
import { noteJoined, noteLeft, noteOwnerLeft, noteRenamed } from '../../shared/groups.ts';
import type { Live, OnOpen, WhatsAppDeps } from '../live.ts';
import { whoIsWho } from './admit.ts';

/** More new groups than this are those of an account that was just linked: nobody was added to them. */
const MOST_NEW = 3;

type Joined = BaileysEventMap['group-participants.update'];

interface NotingDeps extends WhatsAppDeps {
  intake?: Pick<Intake, 'deliver'>;
}

interface MembershipDeps extends NotingDeps {
  /** name and members of a group, as WhatsApp says them now */
  groupOf(jid: string): Promise<GroupMetadata | undefined>;
}

/** Follows in which groups the account and its owner are, and what these are called. */
export const followGroups =
  (deps: MembershipDeps): OnOpen =>
  (live) => {
    const { sock } = live;
    const on = { ...deps, channel: 'whatsapp' as const };
    const quietly = (what: Promise<unknown>): void =>
      void what.catch((error: Error) =>
        deps.log.warn({ reason: error.message }, 'a change in the groups of the account could not be noted'),
      );
    const created = (groups: GroupMetadata[]) => quietly(eachOf(groups, (group) => noteJoined(on, seen(group))));
    const changed = (groups: Array<Partial<GroupMetadata>>) =>
      quietly(eachOf(groups, async ({ id, subject }) => id && subject && (await noteRenamed(on, id, subject))));
    const joined = (change: Joined) => quietly(membersChanged(deps, live, change));
    sock.ev.on('groups.upsert', created);
    sock.ev.on('groups.update', changed);
    sock.ev.on('group-participants.update', joined);
    return () => {
      sock.ev.off('groups.upsert', created);
      sock.ev.off('groups.update', changed);
      sock.ev.off('group-participants.update', joined);
    };
  };

async function eachOf<T>(all: readonly T[], act: (each: T) => Promise<unknown>): Promise<void> {
  for (const each of all) await act(each);
}

const seen = ({ id, subject, participants }: GroupMetadata) => ({
  address: id,
  name: subject,
  members: participants?.length ?? null,
});

async function membersChanged(deps: MembershipDeps, { me }: Live, { id, action, participants }: Joined): Promise<void> {
  const on = { ...deps, channel: 'whatsapp' as const };
  const people = participants.flatMap((each) => {
    const { id: jid, phoneNumber, lid } = typeof each === 'string' ? { id: each } : each;
    return [jid, phoneNumber, lid].flatMap((form) => (form ? [canonicalUser(form)] : []));
  });
  const is = (jids: ReadonlyArray<string | null>) => jids.some((jid) => jid !== null && people.includes(jid));
  if (is([me.jid, me.lid])) {
    if (action === 'remove') return await noteLeft(on, id);
    const group = action === 'add' ? await deps.groupOf(id) : undefined;
    if (group) await noteJoined(on, seen(group));
    return;
  }
  if (action === 'add' || action === 'remove')
    await countMembers(deps.db, 'whatsapp', id, action === 'add' ? participants.length : -participants.length);
  if (action === 'remove' && is((await whoIsWho(deps)).people.owner)) await noteOwnerLeft(on, id);
}

/** Notes what happened while nothing was connected. `now`: all groups of the account, by address. */
export async function compareGroups(deps: NotingDeps, now: Record<string, GroupMetadata>): Promise<void> {
  const { db } = deps;
  const on = { ...deps, channel: 'whatsapp' as const };
  // an answer without any group may be one that failed
  if (Object.keys(now).length === 0) return;
  const known = (await listGroups(db)).filter(({ channel, left_at }) => channel === 'whatsapp' && left_at === null);
  const addresses = new Set(known.map(({ address }) => address));
  const fresh = Object.values(now).filter(({ id }) => !addresses.has(id));
  for (const group of Object.values(now)) {
    await noteRenamed(on, group.id, group.subject);
    await noteJoined(on, seen(group), known.length === 0 || fresh.length > MOST_NEW);
  }
  for (const { address } of known) if (!now[address]) await noteLeft(on, address);
}
