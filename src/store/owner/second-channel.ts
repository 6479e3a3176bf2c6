import { sql } from 'kysely';
import { capabilitiesOf, channelsOnScreen } from '../../contracts/channels.ts';
import { type Channel, outboxId } from '../../contracts/ids.ts';
import { inline } from '../../domain/text/foreign-text.ts';
import { english, type Say } from '../../domain/texts/say.ts';
import { whereOf } from '../../domain/texts/where.ts';
import { DAY } from '../../domain/time.ts';
import { dropOutgoing } from '../chats/messages/outbox.ts';
import { secondAsking } from '../chats/messages/outgoing.ts';
import { sayTo } from '../chats/preferences.ts';
import { onThread } from '../chats/thread-transaction.ts';
import { latestThread } from '../chats/threads/threads.ts';
import type { Db } from '../postgres/database.ts';
import { currentBot } from '../telegram/bots.ts';
import { recordNotice } from '../turns/complete-turn.ts';
import { openQuestion } from '../turns/questions/questions.ts';
import { isMainChat } from './memories.ts';
import { SENDING } from './places.ts';

/** Questions of the owner on a second channel: who is asked there, and what that chat is told in the end. */

/** Why nobody can be reached on a channel now, in a sentence for people; null when it works. */
const AWAY: { [C in Channel]?: (db: Db) => Promise<string | null> } = {
  whatsapp: async (db) => {
    const account = await db
      .selectFrom('wa_accounts')
      .select('last_error')
      .where((e) =>
        e.or([
          e.and([e('wanted', '=', 'on'), e('state', '!=', 'authenticated')]),
          // unlinked by the phone; an account that its owner has logged out here has no code
          e.and([e('needs', 'is not', null), e('last_code', 'is not', null)]),
        ]),
      )
      .limit(1)
      .executeTakeFirst();
    return account ? (account.last_error ?? english('link.notConnected')) : null;
  },
  telegram: async (db) => (await currentBot(db))?.problem ?? null,
};

/** The channels that are away now, with the reasons. */
export async function channelsAway(db: Db): Promise<Map<Channel, string>> {
  const looked = await Promise.all(
    SENDING.map(async (channel) => [channel, (await AWAY[channel]?.(db)) ?? null] as const),
  );
  return new Map(looked.flatMap(([channel, why]) => (why === null ? [] : [[channel, why] as const])));
}

/** A chat that only the owner reads, and when the owner wrote there last. */
export interface OwnersChat {
  id: string;
  channel: Channel;
  writtenAt: Date;
  /** where the owner wants to be asked */
  askOn: Channel | null;
}

/** Most chats that are looked through for the owner's. */
const MOST_CHATS = 200;

/** The owner's own chats on channels that send messages, the one written in last first. */
export async function ownersChats(db: Db, config: { OWNER_PHONE_NUMBER?: string | undefined }): Promise<OwnersChat[]> {
  const rows = await db
    .selectFrom('chats')
    .select(['id', 'channel', 'last_activity_at as writtenAt', sql<Channel | null>`preferences->>'askOn'`.as('askOn')])
    .where('channel', 'in', SENDING)
    .orderBy('last_activity_at', 'desc')
    .limit(MOST_CHATS)
    .execute();
  const own = await Promise.all(rows.map(({ id }) => isMainChat(db, id, config)));
  return rows.filter((_, at) => own[at]);
}

/** The terminal where the owner wrote last; it is asked there while they write nowhere else. */
export async function ownersTerminal(db: Db): Promise<OwnersChat[]> {
  const chats = await db
    .selectFrom('chats')
    .select(['id', 'channel', 'last_activity_at as writtenAt'])
    .where('channel', 'in', channelsOnScreen('terminal'))
    .orderBy('last_activity_at', 'desc')
    .limit(1)
    .execute();
  return chats.map((chat) => ({ ...chat, askOn: null }));
}

interface WaitingQuestion {
  id: string;
  threadId: string;
  chatId: string;
  channel: Channel;
  /** when somebody wrote last in its chat */
  writtenAt: Date;
  /** a coding task asks, and no turn that the person has just begun */
  ofTask: boolean;
  askedAt: Date;
  /** the channel does not have it */
  unsent: boolean;
}

/** An older question is one that nobody means to answer. */
const OLDEST_MS = 7 * DAY;
const MOST_QUESTIONS = 50;

/** Open questions in these chats, and on the owner's screens, that no second channel asks. */
export async function waitingQuestions(
  db: Db,
  chatIds: readonly string[],
  config: { OWNER_PHONE_NUMBER?: string | undefined },
): Promise<WaitingQuestion[]> {
  if (chatIds.length === 0) return [];
  const waiting = await db
    .selectFrom('questions')
    .innerJoin('chats', 'chats.id', 'questions.chat_id')
    .innerJoin('outbox', (on) =>
      on
        .onRef('outbox.turn_id', '=', 'questions.turn_id')
        .on(sql<boolean>`outbox.id = 'out_' || regexp_replace(questions.turn_id, '^turn_', '') || '_' || questions.id`),
    )
    .select([
      'questions.id',
      'questions.thread_id as threadId',
      'questions.chat_id as chatId',
      'chats.channel',
      'chats.last_activity_at as writtenAt',
      'questions.asked_at as askedAt',
      sql<boolean>`questions.task_id is not null`.as('ofTask'),
      sql<boolean>`outbox.state = 'failed' or (outbox.state = 'queued' and outbox.not_before is null)`.as('unsent'),
    ])
    .where('questions.state', '=', 'open')
    .where('questions.also_in', 'is', null)
    .where((e) => e.or([e('questions.chat_id', 'in', [...chatIds]), e('chats.channel', 'not in', SENDING)]))
    .where('questions.asked_at', '>', new Date(Date.now() - OLDEST_MS))
    .orderBy('questions.asked_at', 'desc')
    .limit(MOST_QUESTIONS)
    .execute();
  const own = await Promise.all(
    waiting.map(({ chatId }) => chatIds.includes(chatId) || isMainChat(db, chatId, config)),
  );
  return waiting.filter((_, at) => own[at]);
}

/** Asks a question in this chat, too, once. The outbox row to send; null when it is settled, or asked elsewhere already. */
export async function askAlsoIn(
  db: Db,
  { id, threadId }: Pick<WaitingQuestion, 'id' | 'threadId'>,
  chatId: string,
): Promise<string | null> {
  const thread = await latestThread(db, chatId);
  if (capabilitiesOf(chatId).screen !== null) await showOnScreen(db, id, chatId);
  return await onThread(db, threadId, async ({ now }) => {
    const question = await openQuestion(now, threadId, id);
    if (!question || question.also_in !== null) return null;
    const { turn_id } = question;
    const again = secondAsking(turn_id, id);
    const asks = now.selectFrom('outbox').select('body').where('id', '=', outboxId(turn_id, id));
    const { body } = await asks.executeTakeFirstOrThrow();
    await now
      .insertInto('outbox')
      .values({ id: again, chat_id: chatId, thread_id: thread?.id ?? null, turn_id, kind: 'question', body })
      .onConflict((c) => c.column('id').doNothing())
      .execute();
    await now.updateTable('questions').set({ also_in: chatId }).where('id', '=', id).execute();
    return again;
  });
}

/** A screen reads items of its thread, once for each question. */
async function showOnScreen(db: Db, id: string, chatId: string): Promise<void> {
  const question = db.selectFrom('questions').select(['turn_id', 'chat_id']).where('id', '=', id);
  const { turn_id, chat_id } = await question.executeTakeFirstOrThrow();
  const asks = db.selectFrom('outbox').select('body').where('id', '=', outboxId(turn_id, id));
  const { body } = await asks.executeTakeFirstOrThrow();
  const say = await sayTo(db, chatId);
  const text = `${say('answer.elsewhere', { where: whereOf(chat_id, say) })}\n${body}`;
  await recordNotice(db, { chatId, outboxId: secondAsking(turn_id, id), text, kind: 'notice', unheard: true });
}

/** Reports of failed tasks and routines that have waited for their channel since before this moment. */
export async function waitingFailures(db: Db, chatIds: readonly string[], before: Date) {
  const { rows } = await sql<{ id: string; chatId: string; body: string }>`
    select id, chat_id as "chatId", body from outbox
    where state = 'queued' and kind = 'result' and not_before is null and chat_id = any(${[...chatIds]}::text[])
      and created_at < ${before}
      and not exists (select from outbox told where told.id = outbox.id || '_elsewhere')
      and (exists (select from tasks where outbox.id = 'out_' || tasks.id || '_result' and tasks.state = 'failed')
        or exists (select from routine_runs r where outbox.id = 'out_' || r.id || '_result' and r.status = 'failed'))
    order by ord limit ${MOST_QUESTIONS}`.execute(db);
  return rows;
}

/** Decisions as people say them. */
const wordsOf = (answer: string, say: Say): string =>
  answer === 'allow' ? say('button.yes') : answer === 'deny' ? say('button.no') : inline(answer, 200);

/**
 * Tells chats that a question which they show was settled elsewhere. What was not sent yet is not sent any more. The
 * rows to send.
 */
export async function tellSettled(db: Db): Promise<Array<{ outboxId: string; chatId: string }>> {
  const settled = await db
    .selectFrom('questions')
    .selectAll()
    .where('also_in', 'is not', null)
    .where('state', '!=', 'open')
    .limit(MOST_QUESTIONS)
    .execute();
  const told: Array<{ outboxId: string; chatId: string }> = [];
  for (const { id, turn_id, chat_id, thread_id, also_in, state, answer, prompt, decided_by } of settled) {
    const again = secondAsking(turn_id, id);
    await dropOutgoing(db, again, 'settled before it was sent');
    // the id of a chat begins with its channel
    const there = state === 'answered' && decided_by?.channel === also_in!.split('/')[0];
    const [chatId, threadId, asks] = there ? [chat_id, thread_id, outboxId(turn_id, id)] : [also_in!, null, again];
    const say = await sayTo(db, chatId);
    const where = whereOf(decided_by?.channel ?? chat_id, say);
    const what = inline(prompt.split('\n', 1)[0]!, 80);
    const body =
      state === 'answered'
        ? say('answer.given', { where, answer: wordsOf(answer ?? '', say), what })
        : say('answer.over', { what });
    const shown = await db.selectFrom('outbox').select('state').where('id', '=', asks).executeTakeFirst();
    const settledId = `${outboxId(turn_id, id)}_settled`;
    const { screen } = capabilitiesOf(chatId);
    // the screen that asked first shows the question as settled
    if (screen !== null && chatId !== chat_id)
      await recordNotice(db, { chatId, outboxId: settledId, text: body, kind: 'notice', unheard: true });
    if (shown?.state === 'sent' && screen === null) {
      const row = { id: settledId, chat_id: chatId, thread_id: threadId, turn_id: null };
      await db
        .insertInto('outbox')
        .values({ ...row, kind: 'notice', body })
        .onConflict((c) => c.column('id').doNothing())
        .execute();
      told.push({ outboxId: row.id, chatId });
    }
    await db.updateTable('questions').set({ also_in: null }).where('id', '=', id).execute();
  }
  return told;
}
