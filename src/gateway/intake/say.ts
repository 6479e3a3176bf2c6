import type { Config } from '../../config.ts';
import { capabilitiesOf } from '../../contracts/channels.ts';
import { shownOfMessage } from '../../domain/chat/context/context.ts';
import { looksLikeAnswer } from '../../domain/chat/words/commands.ts';
import { takeTalk } from '../../store/chats/groups.ts';
import { derivedId, steerItemId } from '../../store/chats/ids.ts';
import { attach } from '../../store/chats/messages/attachments.ts';
import type { ThreadTransaction } from '../../store/chats/thread-transaction.ts';
import type { Question } from '../../store/turns/questions/questions.ts';
import { notify, replyNow } from '../../store/turns/replies.ts';
import { activeTurn, addUserItem, openTurn } from '../../store/turns/turns.ts';
import { answerOpen } from './answers.ts';
import type { CommandContext } from './commands/command.ts';
import { runCommand } from './commands/table.ts';
import type { AnsweredMessage, InboundMessage, IntakeResult } from './message.ts';
import { type InboxEntry, type Meant, once } from './once.ts';
import type { IntakeDeps } from './signal.ts';
import { addSteer } from './stop-and-steer.ts';

/** A message within its transaction. */
interface Taking {
  tx: ThreadTransaction;
  config: Config;
  message: InboundMessage;
  entry: InboxEntry;
  /** the turn that runs in its thread */
  active?: { id: string };
  afterwards: CommandContext['afterwards'];
}

/** Accepts a message: a command, an answer, or words for the model. */
export async function say(deps: IntakeDeps, message: InboundMessage): Promise<IntakeResult> {
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
    async (tx, { inboxId }) => ({
      arrival: await replyNow(tx, { inboxId, said, body }),
      turnId: null,
    }),
  );
  return { kind: arrival.kind, turnId, inboxId };
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

const commandOf = ({ message, entry, active }: Taking) => ({
  inboxId: entry.inboxId,
  text: message.text,
  by: entry.by,
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
  const body = `That message has ${length} characters. I have read its beginning and look up the rest as needed.`;
  await respond(deps, {
    threadId,
    said: '[a long message]',
    body,
    channelMessageId: `${typeof id === 'string' ? id : id.id}/long`,
  });
}
