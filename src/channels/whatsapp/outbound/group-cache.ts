import type { GroupMetadata, WASocket } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { findGroup, outdateGroup, type StoredGroup, saveGroups } from '../../../store/whatsapp/groups.ts';
import type { GroupRecord } from '../../../store/whatsapp/tables.ts';
import type { CurrentLive, OnOpen, WhatsAppDeps } from '../live.ts';

const TTL_MS = 3_600_000;
/** How long groups are not asked about after WhatsApp refused a query (429). */
const REFUSED_MS = 5 * 60_000;
const IN_MEMORY = 200;

/**
 * The members of groups, in memory and in the store. They are asked for again after an hour or a notification. Without this cache each send to a group is a
 * query, which WhatsApp soon refuses. After a refusal the last known members are used.
 */
export function groupCache({ db, account, log, live }: WhatsAppDeps & { live: CurrentLive }): {
  cachedGroupMetadata: (jid: string) => Promise<GroupMetadata | undefined>;
  onOpen: OnOpen;
} {
  const memory = new LRUCache<string, StoredGroup>({ max: IN_MEMORY });
  let allFetchedAt = 0;
  let refusedUntil = 0;
  const failed = (error: unknown) => log.debug({ err: error }, 'groups could not be stored');

  async function keep(groups: readonly GroupMetadata[]): Promise<void> {
    const fetchedAt = new Date();
    const records = groups.filter((group) => group.id && Array.isArray(group.participants) && group.participants.length > 0).map(toRecord);
    for (const metadata of records) memory.set(metadata.id, { metadata, fetchedAt });
    await saveGroups(db, account, records, fetchedAt);
  }

  async function ask<T>(query: () => Promise<T>): Promise<T | undefined> {
    if (Date.now() < refusedUntil) return undefined;
    try {
      return await query();
    } catch (error) {
      if ((error as { data?: unknown }).data === 429 || /rate-overlimit/.test((error as Error).message ?? '')) refusedUntil = Date.now() + REFUSED_MS;
      log.debug({ err: error }, 'WhatsApp did not say who is in a group');
      return undefined;
    }
  }

  async function outdate(jid: string): Promise<void> {
    const known = memory.get(jid);
    if (known) memory.set(jid, { ...known, fetchedAt: new Date(0) });
    await outdateGroup(db, account, jid);
  }

  return {
    async cachedGroupMetadata(jid) {
      const known = memory.get(jid) ?? (await findGroup(db, account, jid)) ?? undefined;
      if (known && known.fetchedAt.getTime() > Date.now() - TTL_MS) {
        memory.set(jid, known);
        return known.metadata as GroupMetadata;
      }
      const sock = live()?.sock;
      const fresh = sock && (await ask(() => sock.groupMetadata(jid)));
      if (!fresh) return known?.metadata as GroupMetadata | undefined;
      await keep([fresh]).catch(failed);
      return fresh;
    },

    onOpen: ({ sock }) => {
      const upserted = (groups: GroupMetadata[]) => void keep(groups).catch(failed);
      // a change without members may be about addressing or disappearing messages, so ask again
      const updated = (groups: Array<Partial<GroupMetadata>>) => {
        void keep(groups.filter((group): group is GroupMetadata => Array.isArray(group.participants))).catch(failed);
        for (const group of groups) if (group.id && !group.participants) void outdate(group.id).catch(failed);
      };
      const joined = ({ id }: { id: string }) => void outdate(id).catch(failed);
      sock.ev.on('groups.upsert', upserted);
      sock.ev.on('groups.update', updated);
      sock.ev.on('group-participants.update', joined);
      void fetchAll(sock);
      return () => {
        sock.ev.off('groups.upsert', upserted);
        sock.ev.off('groups.update', updated);
        sock.ev.off('group-participants.update', joined);
      };
    },
  };

  /** All groups in one query, at most once an hour; the event that it causes stores them. */
  async function fetchAll(sock: WASocket): Promise<void> {
    if (allFetchedAt > Date.now() - TTL_MS) return;
    allFetchedAt = Date.now();
    if (!(await ask(() => sock.groupFetchAllParticipating()))) allFetchedAt = 0;
  }
}

const toRecord = ({ id, subject, addressingMode, ephemeralDuration, participants }: GroupMetadata): GroupRecord => ({
  id,
  subject,
  ...(addressingMode && { addressingMode: addressingMode as 'pn' | 'lid' }),
  ...(ephemeralDuration && { ephemeralDuration }),
  participants: participants.map(({ id, phoneNumber }) => ({ id, ...(phoneNumber && { phoneNumber }) })),
});
