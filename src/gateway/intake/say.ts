import type { Config } from '../../config.ts';
import { capabilitiesOf } from '../../contracts/channels.ts';
import { shownOfMessage } from '../../domain/chat/context/context.ts';
import { looksLikeAnswer } from '../../domain/chat/words/commands.ts';
import { meaningOf } from '../../domain/chat/words/replies.ts';
import { languageIn, languageOf } from '../../domain/texts/language.ts';
import { type Say, sayIn, textIn } from '../../domain/texts/say.ts';
import { whereOf } from '../../domain/texts/where.ts';
import { takeTalk } from '../../store/chats/groups.ts';
import { derivedId, steerItemId } from '../../store/chats/ids.ts';
import { attach } from '../../store/chats/messages/attachments.ts';
import { noteLanguage } from '../../store/chats/preferences.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import { askedHereToo, openQuestions, type Question } from '../../store/turns/questions/questions.ts';
import { notify, replyNow, takeReply } from '../../store/turns/replies.ts';
import { activeTurn, addUserItem, openTurn } from '../../store/turns/turns.ts';
import { answerOpen, toAsked } from './answers.ts';
import type { CommandContext } from './commands/command.ts';
import { isCommand, runCommand } from './commands/table.ts';
import type { AnsweredMessage, InboundMessage, IntakeResult } from './message.ts';
import { type InboxEntry, type Meant, once, overHttp } from './once.ts';
import type { IntakeDeps } from './signal.ts';
import { addSteer } from './stop-and-steer.ts';

/** A message within its transaction. */
interface Taking {
  tx: ThreadTransaction;
  config: Config;
  message: InboundMessage;
  entry: InboxEntry;
  /** for replies, in the language of the person */
  say: Say;
  /** the turn that runs in its thread */
  active?: { id: string };
  afterwards: CommandContext['afterwards'];
}

/** Accepts a message: a command, an answer, or words for the model. */
export async function say(deps: IntakeDeps, message: InboundMessage): Promise<IntakeResult> {
  const asked = await askedElsewhere(deps, message);
  return asked ? await answerElsewhere(deps, message, asked) : await accept(deps, message);
}

/** The question of another chat that a message answers in a chat which shows it, too; null when it answers none. */
async function askedElsewhere({ db, config }: IntakeDeps, message: InboundMessage): Promise<Question | null> {
  const { threadId, text, questionId, writtenAt: at = new Date() } = message;
  const asked = message.plain ? [] : await askedHereToo(db, threadId);
  const named = asked.find(({ id }) => id === questionId);
  if (named || asked.length === 0 || questionId !== undefined || isCommand(text)) return named ?? null;
  if ((await openQuestions(db, threadId)).length > 0) return null;
  const seen = asked.filter(({ delivered_at }) => delivered_at !== null && delivered_at <= at);
  const meaning = meaningOf(
    text,
    seen.map((question) => toAsked(question, { at })),
    { at, readMs: config.FETCH_READ_SECONDS * 1000, elsewhere: message.elsewhere },
  );
  if (!meaning || meaning.kind === 'unclear') return null;
  // words that are no choice steer what runs here
  const isChoice = meaning.kind !== 'answers' || seen.some(({ options }) => options.includes(meaning.text));
  return isChoice || !(await activeTurn(db, threadId)) ? seen[0]! : null;
}

/** What follows the answer goes to the chat that asked first, so the person is told here what became of it. */
async function answerElsewhere(deps: IntakeDeps, message: InboundMessage, asked: Question): Promise<IntakeResult> {
  const { channelMessageId: id, threadId, text: said } = message;
  const { writers = [overHttp(asked.also_in!)] } = message;
  const result = await accept(deps, { ...message, writers, threadId: asked.thread_id });
  const reply = result.kind === 'reply' ? await takeReply(deps.db, result.inboxId) : null;
  const told = `${typeof id === 'string' ? id : id.id}/elsewhere`;
  await respond(deps, {
    threadId,
    said,
    body: reply ?? ((say) => say('answer.done', { where: whereOf(asked.chat_id, say) })),
    channelMessageId: told,
  });
  return result;
}

async function accept(deps: IntakeDeps, message: InboundMessage): Promise<IntakeResult> {
  const { threadId, channelMessageId: id, also, writers } = message;
  const stored: Array<Parameters<CommandContext['afterwards']>[0]> = [];
  const { arrival, turnId, inboxId } = await once(
    deps,
    { threadId, id, body: modelText(message), writers, also },
    async (tx, entry) =>
      interpret({
        tx,
        config: deps.config,
        message,
        entry,
        say: await sayFor(tx, message, entry),
        active: await activeTurn(tx.now, threadId),
        afterwards: (act) => void stored.push(act),
      }),
  );
  // a server that is away must not delay the reply
  for (const act of stored) void act(deps.temporal).catch(() => {});
  if (arrival.kind === 'turn' || arrival.kind === 'steer') await tellLong(deps, message);
  return { kind: arrival.kind, turnId, inboxId };
}

/** Accepts a message that is answered without the model. */
export async function respond(deps: IntakeDeps, message: AnsweredMessage): Promise<IntakeResult> {
  const { threadId, said, body, channelMessageId: id, also } = message;
  const { arrival, turnId, inboxId } = await once(
    deps,
    { threadId, id, body: said, also },
    async (tx, { inboxId, preferences }) => ({
      arrival: await replyNow(tx, {
        inboxId,
        said,
        body: textIn(sayIn(languageOf(preferences)), body),
      }),
      turnId: null,
    }),
  );
  return { kind: arrival.kind, turnId, inboxId };
}

/** Our texts in the language that the person wants, or writes. */
async function sayFor(tx: ThreadTransaction, message: InboundMessage, { preferences }: InboxEntry): Promise<Say> {
  const read = message.plain ? null : languageIn(message.text);
  // the words of commands are English for everybody
  const writes = read === 'en' && isCommand(message.text) ? null : read;
  if (writes && writes !== (preferences.writes ?? 'en')) await noteLanguage(tx.now, tx.chatId, writes);
  return sayIn(languageOf({ ...preferences, ...(writes && { writes }) }));
}

async function interpret(taking: Taking): Promise<Meant> {
  const { tx, message, entry, active } = taking;
  if (message.plain) return await toModel(taking);
  const command = message.questionId ? null : await runCommand(tx, taking.config, commandOf(taking), taking.afterwards);
  if (typeof command === 'string') return await reply(taking, command);
  if (command)
    return 'turn' in command
      ? await toModel({ ...taking, message: { ...message, text: command.turn, shown: undefined } })
      : command;
  const answered = await answerOpen(tx, {
    text: message.text,
    inboxId: entry.inboxId,
    by: entry.by,
    at: message.writtenAt ?? tx.at,
    readMs: taking.config.FETCH_READ_SECONDS * 1000,
    displayed: message.displayed,
    questionId: message.questionId,
    elsewhere: message.elsewhere,
    approver: message.approver,
    say: taking.say,
  });
  if (!answered) return await toModel(taking);
  if ('reply' in answered) return await reply(taking, answered.reply);
  if ('answer' in answered) {
    await addFilesOfAnswer(taking, answered.question);
    return { arrival: answered.answer, turnId: answered.question.turn_id };
  }
  // no turn runs while a coding task waits for approval. A new turn would leave the task waiting, and the person would
  // think that it was answered
  if (!active && looksLikeAnswer(message.text)) return await reply(taking, answered.unclear);
  return await toModel(taking, answered.unclear);
}

const modelText = ({ shown, text }: InboundMessage): string => shown ?? text;

const commandOf = ({ message, entry, say, active }: Taking) => ({
  inboxId: entry.inboxId,
  text: message.text,
  by: entry.by,
  say,
  shared: message.approver !== undefined,
  turnId: active?.id,
});

async function reply({ tx, message, entry }: Taking, body: string): Promise<Meant> {
  return { arrival: await replyNow(tx, { inboxId: entry.inboxId, said: message.text, body }), turnId: null };
}

/** Files that came with an answer are read with it. */
async function addFilesOfAnswer({ tx, message, entry }: Taking, question: Question): Promise<void> {
  const { heard, attachmentIds = [] } = message;
  if (attachmentIds.length === 0) return;
  const id = derivedId('item_', entry.inboxId, 'attached');
  addUserItem(tx, { id, turnId: question.turn_id, text: modelText(message), announceStart: true, heard });
  await attach(tx, id, attachmentIds);
}

/**
 * Words for the model: they steer the running turn, or begin a new one. `unclear`: what the person is told about an
 * open question, in case the words were meant for it.
 */
async function toModel({ tx, message, entry, active }: Taking, unclear?: string): Promise<Meant> {
  const { threadId, heard, attachmentIds = [] } = message;
  const { inboxId } = entry;
  const text = modelText(message);
  // the id of a chat begins with its channel
  const before = capabilitiesOf(tx.chatId).groups === null ? null : await takeTalk(tx.now, tx.chatId, inboxId);
  if (active) {
    const arrival = await addSteer(tx, { turnId: active.id, inboxId, text, heard, before });
    await attach(tx, steerItemId(inboxId), attachmentIds);
    const outboxId = unclear && (await notify(tx, { turnId: active.id, key: inboxId, body: unclear }));
    return { arrival: { ...arrival, ...(outboxId && { outboxId }) }, turnId: active.id };
  }
  const turn = openTurn(tx, { text, heard, before });
  await attach(tx, turn.item_ids[0]!, attachmentIds);
  return { arrival: { kind: 'turn', inboxId, turnId: turn.id, threadId }, turnId: turn.id };
}

/** The model sees the beginning of a message that is longer than a request, and reads on by itself. */
async function tellLong(deps: IntakeDeps, message: InboundMessage): Promise<void> {
  const { length } = modelText(message);
  const shown = shownOfMessage(deps.config.FETCH_CONTEXT_TOKENS);
  if (length <= shown) return;
  const { threadId, channelMessageId: id } = message;
  await respond(deps, {
    threadId,
    said: '[a long message]',
    body: (say) => say('long.message', { count: length }),
    channelMessageId: `${typeof id === 'string' ? id : id.id}/long`,
  });
}
