import { createHash } from 'node:crypto';
import type { Config } from '../../../config.ts';
import { capabilitiesOf } from '../../../contracts/channels.ts';
import type { Channel } from '../../../contracts/ids.ts';
import { inline } from '../../../domain/text/foreign-text.ts';
import type { Say, Told } from '../../../domain/texts/say.ts';
import { DAY } from '../../../domain/time.ts';
import { endGroup, type Group, noteGroup, renameGroup, takeTelling, toldSince } from '../../../store/chats/groups.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { tellOwnerOnTelegram } from '../../../store/telegram/bots.ts';
import { tellOwner } from '../../../store/whatsapp/account.ts';
import type { Intake } from '../../intake/intake.ts';

/** What happens to the account in groups. The owner hears of it; the group never does. */

interface GroupDeps {
  db: Db;
  config: Pick<Config, 'OWNER_PHONE_NUMBER'>;
  channel: Channel;
  /** sends what is told at once; without it, that goes out within a minute */
  intake?: Pick<Intake, 'deliver'>;
}

/** Anybody may add the account to many groups, so the owner hears of this many in a day. */
const MOST_TOLD = 10;

/** The account is in this group. Its owner is told once, unless the group is one that was there before (`before`). */
export async function noteJoined(
  deps: GroupDeps,
  { address, name, members }: { address: string; name: string; members: number | null },
  before = false,
): Promise<void> {
  const { db, channel } = deps;
  const { registered_at, told_at } = await noteGroup(db, { channel, address, name, members });
  const group = registered_at === null && told_at === null ? await takeTelling(db, { channel, address }) : undefined;
  if (!group || before || (await toldSince(db, new Date(Date.now() - DAY))) > MOST_TOLD) return;
  await tell(deps, group, 'joined', (say) =>
    say('groups.joined', {
      group: members === null ? named(group, say) : say('groups.namedOf', { ...namesOf(group), count: members }),
      name: inline(group.name, 80),
    }),
  );
}

/** The account was removed from a group, or the group is gone. */
export async function noteLeft(deps: GroupDeps, address: string): Promise<void> {
  const group = await endGroup(deps.db, deps.channel, address, 'left');
  // nothing was expected of the others
  if (group?.registered_at) await tell(deps, group, 'left', (say) => say('groups.left', { group: named(group, say) }));
}

/** The owner has left a group in which the account still is. */
export async function noteOwnerLeft(deps: GroupDeps, address: string): Promise<void> {
  const group = await endGroup(deps.db, deps.channel, address, 'paused');
  if (group)
    await tell(deps, group, 'paused', (say) =>
      say('groups.paused', { group: named(group, say), name: inline(group.name, 80) }),
    );
}

export async function noteRenamed(deps: GroupDeps, address: string, to: string): Promise<void> {
  const group = await renameGroup(deps.db, deps.channel, address, to);
  if (group?.registered_at)
    await tell(deps, group, `name-${to}`, (say) =>
      say('groups.renamed', { from: inline(group.name, 80), to: inline(to, 80) }),
    );
}

const namesOf = ({ name, channel }: Group) => ({ name: inline(name, 80), channel: capabilitiesOf(channel).label });
const named = (group: Group, say: Say): string => say('groups.named', namesOf(group));

/** Once for each happening. The name of a group is the words of others, so the model does not read it. */
async function tell({ db, config, intake }: GroupDeps, group: Group, what: string, text: Told): Promise<void> {
  const { channel, address, seen_at, told_at } = group;
  const at = createHash('sha256').update(JSON.stringify([channel, address, what, seen_at, told_at]));
  const key = `group-${at.digest('hex').slice(0, 20)}`;
  const queued =
    channel === 'telegram'
      ? await tellOwnerOnTelegram(db, key, text, true)
      : await tellOwner(db, key, text, config.OWNER_PHONE_NUMBER?.split(',')[0] ?? null, true);
  for (const { outboxId, chatId } of queued) await intake?.deliver(outboxId, chatId);
}
