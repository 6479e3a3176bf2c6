import type { BaileysEventMap, GroupMetadata, WASocket } from '@whiskeysockets/baileys';
import { LRUCache } from 'lru-cache';
import { HOUR, MINUTE } from '../../../../domain/time.ts';
import { isGroup } from '../../../../domain/whatsapp/identity.ts';
import type { GroupRecord } from '../../../../store/schema/tables/whatsapp.ts';
import { findGroup, learnTimer, outdateGroup, type StoredGroup, saveGroups } from '../../../../store/whatsapp/chats.ts';
import { resumeChat } from '../../../../store/whatsapp/pause.ts';
import type { CurrentLive, OnOpen, WhatsAppDeps } from '../live.ts';

const TTL_MS = HOUR;
/** How long groups are not asked about after WhatsApp refused a query (429). */
const REFUSED_MS = 5 * MINUTE;
const IN_MEMORY = 200;

interface CacheDeps extends WhatsAppDeps {
  live: CurrentLive;
  /** gets all groups of the account, by address, whenever they were asked for */
  fetched?: (all: Record<string, GroupMetadata>) => Promise<void>;
}

/**
 * The members of groups, in memory and in the store. They are asked for again after an hour or a notification. Without
 * this cache each send to a group is a query, which WhatsApp soon refuses. After a refusal the last known members are
 * used.
 */
export class GroupCache {
  private readonly deps: CacheDeps;
  private readonly memory = new LRUCache<string, StoredGroup>({ max: IN_MEMORY });
  private allFetchedAt = 0;
  private refusedUntil = 0;

  constructor(deps: CacheDeps) {
    this.deps = deps;
  }

  readonly cachedGroupMetadata = async (jid: string): Promise<GroupMetadata | undefined> => {
    const { db, account, live } = this.deps;
    const known = this.memory.get(jid) ?? (await findGroup(db, account, jid)) ?? undefined;
    if (known && known.fetchedAt.getTime() > Date.now() - TTL_MS) {
      this.memory.set(jid, known);
      return known.metadata as GroupMetadata;
    }
    const sock = live()?.sock;
    const fresh = sock && (await this.ask(() => sock.groupMetadata(jid)));
    if (!fresh) return known?.metadata as GroupMetadata | undefined;
    await this.keep([fresh]);
    return fresh;
  };

  readonly onOpen: OnOpen = ({ sock }) => {
    const upserted = (groups: GroupMetadata[]) => void this.keep(groups);
    const updated = (groups: Array<Partial<GroupMetadata>>) => this.update(groups);
    const joined = ({ id }: { id: string }) => void this.outdate(id);
    const changed = (chats: BaileysEventMap['chats.update']) => void this.noteTimers(chats);
    sock.ev.on('groups.upsert', upserted);
    sock.ev.on('groups.update', updated);
    sock.ev.on('group-participants.update', joined);
    sock.ev.on('chats.update', changed);
    void this.fetchAll(sock);
    return () => {
      sock.ev.off('groups.upsert', upserted);
      sock.ev.off('groups.update', updated);
      sock.ev.off('group-participants.update', joined);
      sock.ev.off('chats.update', changed);
    };
  };

  /** A change without members may be about addressing or disappearing messages, so such a group is asked for again. */
  private update(groups: Array<Partial<GroupMetadata>>): void {
    void this.keep(groups.filter((group): group is GroupMetadata => Array.isArray(group.participants)));
    for (const group of groups) if (group.id && !group.participants) void this.outdate(group.id);
  }

  /** A notification says that messages of a group disappear after another time, or no longer. */
  private async noteTimers(chats: BaileysEventMap['chats.update']): Promise<void> {
    const { db, account } = this.deps;
    for (const { id, ephemeralExpiration: seconds } of chats) {
      if (!id || !isGroup(id) || seconds === undefined) continue;
      await learnTimer(db, account, id, { seconds: seconds ?? 0, since: new Date() }).catch(this.notStored);
      await this.outdate(id);
    }
  }

  private async keep(groups: readonly GroupMetadata[]): Promise<void> {
    try {
      const fetchedAt = new Date();
      const records = groups
        .filter((group) => group.id && Array.isArray(group.participants) && group.participants.length > 0)
        .map(toRecord);
      for (const metadata of records) this.memory.set(metadata.id, { metadata, fetchedAt });
      await saveGroups(this.deps.db, this.deps.account, records, fetchedAt);
    } catch (error) {
      this.notStored(error);
    }
  }

  private async outdate(jid: string): Promise<void> {
    const known = this.memory.get(jid);
    if (known) this.memory.set(jid, { ...known, fetchedAt: new Date(0) });
    await outdateGroup(this.deps.db, this.deps.account, jid).catch(this.notStored);
    // who may write there may have changed
    await resumeChat(this.deps.db, this.deps.account, [jid]).catch(this.notStored);
  }

  /** All groups in one query, at most once an hour; the event that it causes stores them. */
  private async fetchAll(sock: WASocket): Promise<void> {
    if (this.allFetchedAt > Date.now() - TTL_MS) return;
    this.allFetchedAt = Date.now();
    const all = await this.ask(() => sock.groupFetchAllParticipating());
    if (all) await this.deps.fetched?.(all)?.catch(this.notStored);
    else this.allFetchedAt = 0;
  }

  private async ask<T>(query: () => Promise<T>): Promise<T | undefined> {
    if (Date.now() < this.refusedUntil) return undefined;
    try {
      return await query();
    } catch (error) {
      if ((error as { data?: unknown }).data === 429 || /rate-overlimit/.test((error as Error).message ?? ''))
        this.refusedUntil = Date.now() + REFUSED_MS;
      this.deps.log.debug({ err: error }, 'WhatsApp did not say who is in a group');
      return undefined;
    }
  }

  private readonly notStored = (error: unknown) => this.deps.log.debug({ err: error }, 'groups could not be stored');
}

const toRecord = ({ id, subject, addressingMode, ephemeralDuration, participants }: GroupMetadata): GroupRecord => ({
  id,
  subject,
  ...(addressingMode && { addressingMode: addressingMode as 'pn' | 'lid' }),
  ...(ephemeralDuration && { ephemeralDuration }),
  participants: participants.map(({ id, phoneNumber, lid }) => ({
    id,
    ...(phoneNumber && { phoneNumber }),
    ...(lid && { lid }),
  })),
});
