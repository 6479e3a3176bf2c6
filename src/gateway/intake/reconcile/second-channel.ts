import { capabilitiesOf } from '../../../contracts/channels.ts';
import type { Channel } from '../../../contracts/ids.ts';
import { sayWhole } from '../../../domain/texts/again.ts';
import { DAY, MINUTE } from '../../../domain/time.ts';
import { sayTo } from '../../../store/chats/preferences.ts';
import {
  askAlsoIn,
  channelsAway,
  type OwnersChat,
  ownersChats,
  ownersTerminal,
  tellSettled,
  waitingFailures,
  waitingQuestions,
} from '../../../store/owner/second-channel.ts';
import { recordNotice } from '../../../store/turns/complete-turn.ts';
import { deliverNow, type IntakeDeps } from '../signal.ts';

/** A channel that is away for longer counts as one on which the owner cannot be asked. */
const AWAY_MS = 5 * MINUTE;

/**
 * Asks the owner on a second channel, too: where they wish it, where the first one is away or does not have the
 * question, or where a coding task asks while the owner writes on the other one. A question at the terminal or on the
 * page is asked elsewhere for the same reasons. What the owner then decides is told where it is still shown. Each call
 * is one round.
 */
export function createSecondChannel(deps: IntakeDeps, awayMs = AWAY_MS): () => Promise<void> {
  /** since when each channel is away, as far as this process has seen, in ms */
  const since = new Map<Channel, number>();
  const told = new Set<string>();
  return async () => {
    const { db, config } = deps;
    for (const row of await tellSettled(db)) void deliverNow(deps, row.outboxId, row.chatId);
    const away = await channelsAway(db);
    for (const channel of since.keys()) if (!away.has(channel)) since.delete(channel);
    for (const channel of away.keys()) since.set(channel, since.get(channel) ?? Date.now());
    const before = Date.now() - awayMs;
    const isAway = (channel: Channel) => (since.get(channel) ?? Number.POSITIVE_INFINITY) <= before;
    const chats = await ownersChats(db, config);
    const reached = chats.filter(({ channel }) => !away.has(channel));
    for (const [channel, why] of away) {
      const [there] = reached;
      // a channel on which nobody is asked is missed by nobody
      if (there && isAway(channel) && chats.some((chat) => chat.channel === channel))
        await tellAway(deps, told, there, channel, why);
    }
    const byId = new Map(chats.map((chat) => [chat.id, chat]));
    const wish = chats.find(({ askOn }) => askOn !== null)?.askOn ?? null;
    const terminal = await ownersTerminal(db);
    for (const question of await waitingQuestions(db, [...byId.keys()], config)) {
      const elsewhere = ({ channel }: OwnersChat) => channel !== question.channel;
      const others = reached.filter(elsewhere);
      const latest = [...others, ...terminal.filter(elsewhere)].sort((a, b) => +b.writtenAt - +a.writtenAt)[0];
      const onScreen = capabilitiesOf(question.channel).screen !== null;
      const unheard =
        !onScreen && (isAway(question.channel) || (question.unsent && question.askedAt.getTime() <= before));
      const wished = others.find(({ channel }) => channel === wish);
      const better = wished ?? (latest && isBetter(latest, question, wish) ? latest : undefined);
      const there = better ?? (unheard ? others[0] : undefined);
      if (!there) continue;
      const outboxId = await askAlsoIn(db, question, there.id);
      // a Temporal server that is away does not hold the others up; the comparison with it finds the row
      if (outboxId) void deliverNow(deps, outboxId, there.id);
    }
    for (const failure of await waitingFailures(db, [...byId.keys()], new Date(before))) {
      const first = byId.get(failure.chatId)!;
      const there = reached.find(({ channel }) => channel !== first.channel);
      if (there && isAway(first.channel)) await tellFailure(deps, there, first, failure);
    }
  };
}

/** Whether the owner is rather asked there, where they write while a task works. */
const isBetter = (
  there: OwnersChat,
  first: Pick<OwnersChat, 'channel' | 'writtenAt'> & { ofTask: boolean },
  wish: Channel | null,
): boolean => wish !== first.channel && first.ofTask && there.writtenAt > first.writtenAt;

/** The report itself waits for its channel. */
async function tellFailure(
  deps: IntakeDeps,
  there: OwnersChat,
  { channel }: OwnersChat,
  { id, body }: { id: string; body: string },
): Promise<void> {
  const outboxId = `${id}_elsewhere`;
  const say = await sayTo(deps.db, there.id);
  const text = `${say('answer.forAway', { channel: capabilitiesOf(channel).label })}\n\n${body}`;
  // it can quote an agent, and the model of this chat has not asked for it
  await recordNotice(deps.db, { chatId: there.id, outboxId, text, kind: 'notice', unheard: true });
  void deliverNow(deps, outboxId, there.id);
}

/** Says that a channel is away, and why. Once a day, however many gateways see it, and however often they start. */
async function tellAway(
  deps: IntakeDeps,
  told: Set<string>,
  chat: OwnersChat,
  channel: Channel,
  why: string,
): Promise<void> {
  const outboxId = `out_away-${channel}-${Math.floor(Date.now() / DAY)}`;
  if (told.has(outboxId)) return;
  told.add(outboxId);
  const say = await sayTo(deps.db, chat.id);
  const text = say('answer.away', { channel: capabilitiesOf(channel).label, why: sayWhole(why, 'link.', say) });
  await recordNotice(deps.db, { chatId: chat.id, outboxId, text, kind: 'notice' });
  void deliverNow(deps, outboxId, chat.id);
}
