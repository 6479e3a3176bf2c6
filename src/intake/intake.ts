import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import type { Config } from '../config.ts';
import { capabilitiesOf } from '../contracts/channels.ts';
import type { Arrival } from '../contracts/conversation.ts';
import type { Identity } from '../contracts/decision.ts';
import type { Channel } from '../contracts/ids.ts';
import type { ThreadRecord, TurnRecord } from '../contracts/records.ts';
import { askAgainText, looksLikeAnswer, parseAskAgain, parseAutonomy, parseCommand, parseShare } from '../domain/chat/commands.ts';
import { shownOfMessage } from '../domain/chat/context.ts';
import { helpText } from '../domain/chat/help.ts';
import { attach } from '../store/chats/attachments.ts';
import { appendEvents, NoThread, onThread } from '../store/chats/events.ts';
import { chatKey, derivedId, freshId, steerItemId } from '../store/chats/ids.ts';
import { findReceived, receive } from '../store/chats/inbox.ts';
import { KeyReused, type RequestKey } from '../store/chats/request-keys.ts';
import { createThread, getThread, threadOfChat } from '../store/chats/threads.ts';
import type { Db, Tx } from '../store/postgres/database.ts';
import { answerQuestion, decideQuestion } from '../store/questions/decide.ts';
import { isAsked, openQuestion, threadOfApproval } from '../store/questions/questions.ts';
import { takeGrantsBack } from '../store/steps/taint.ts';
import type { Heard } from '../store/steps/transcript.ts';
import { beginAnew, notify, replyNow, trust } from '../store/turns/replies.ts';
import { statusText } from '../store/turns/status-text.ts';
import { activeTurn, countSteer, findTurn, openTurn, toTurnRecord } from '../store/turns/turns.ts';
import { addUserItem } from '../store/turns/user-items.ts';
import { answerOpen, type Displayed, mayTrust, ofTask } from './answers.ts';
import { setUpOf } from './set-up.ts';
import { share } from './sharing.ts';
import { signalArrival } from './signal.ts';
import { taskOrder } from './task-orders.ts';

/** Why a request cannot be taken; `message` is the text that clients of the runtime API know. */
export class IntakeError extends Error {
  readonly code: 'not_found' | 'conflict' | 'invalid' | 'reused';
  constructor(code: 'not_found' | 'conflict' | 'invalid' | 'reused', message: string) {
    super(message);
    this.name = 'IntakeError';
    this.code = code;
  }
}

/** How long a request waits for its signal to be taken: usually some milliseconds. */
const SIGNAL_PATIENCE_MS = 1000;

export type Intake = ReturnType<typeof createIntake>;
export type Said = { kind: 'turn' | 'steer' | 'answer' | 'stop' | 'reply' | 'task'; turnId: string | null; inboxId: string };

/** Runs in the intake's transaction, also when the message was `known`; `inboxId` is the row that it became, now or then, and `kind` what it meant. */
export type Also = (tx: Tx, inboxId: string, kind: Said['kind'], known: boolean) => Promise<void>;

/** A channel's own id of a message, or what an HTTP client calls its request by. */
export type MessageId = string | RequestKey;

export interface Saying {
  threadId: string;
  text: string;
  channelMessageId: MessageId;
  /** the text as the model reads it, with its author where several people write; commands and answers are without that */
  shown?: string;
  /** whose words that is made of */
  heard?: Heard;
  /** who wrote it, several where messages were put together; left out for what comes over HTTP */
  writers?: readonly Identity[];
  /** when it was written, as its channel says; when it came where that is not known */
  writtenAt?: Date;
  /** it answers exactly this question (a reaction, a vote, a quote); where that is settled, the person is told */
  questionId?: string;
  /** never a command and never an answer: text that was put together from several messages */
  plain?: boolean;
  /** what the screen that sends it had shown of the open questions; a channel that does not say shows what is stored at once */
  displayed?: readonly Displayed[];
  attachmentIds?: readonly string[];
  /** where several people write: who this is to the turn that asks for an approval; elsewhere whoever writes may approve */
  approver?: Approver;
  also?: Also;
}

/** A message as the transaction that takes it sees it. */
interface Received {
  inboxId: string;
  chatId: string;
  at: Date;
  by: Identity;
}

/** Whether somebody is the owner, and whether they asked for the turn. Runs in the intake's transaction. */
export type Approver = (tx: Tx, turnId: string) => Promise<{ owner: boolean; asked: boolean }>;

/**
 * The one way in. Whatever a person does becomes an inbox row, in the same transaction as what it means (a turn, a
 * steering message, a decision), under the thread's lock. Only then is the conversation signalled: a crash in between
 * leaves a row that `resignal` finds. An answer from here therefore means "will be answered".
 */
export function createIntake({ db, temporal, config, secret }: { db: Db; temporal: Client; config: Config; secret: string }) {
  const readMs = config.FETCH_READ_SECONDS * 1000;
  /** Runs `act` once for a channel message id; a repeated one gets what the first got, and is signalled again if that was lost. */
  async function once(
    threadId: string,
    given: string | RequestKey,
    body: string,
    act: (tx: Tx, at: Received) => Promise<{ arrival: Arrival; turnId: string | null }>,
    also?: Also,
    writers?: readonly Identity[],
  ): Promise<{ arrival: Arrival; turnId: string | null; inboxId: string }> {
    const key = typeof given === 'string' ? { id: given, fingerprint: null } : given;
    const { row, chat, chatId } = await onThread(db, threadId, async (tx, { chatId, at }) => {
      const { chat, known } = await findReceived(tx, chatId, key);
      if (known) {
        await also?.(tx, known.id, (known.arrival as Arrival).kind, true);
        return { row: known, chat, chatId };
      }
      const inboxId = freshId('inb_');
      const writtenBy = writers ?? [overHttp(chat.channel)];
      const { arrival, turnId } = await act(tx, { inboxId, chatId, at, by: writtenBy[0]! });
      await receive(tx, { id: inboxId, chatId, threadId, turnId, key, arrival, body, writtenBy });
      await also?.(tx, inboxId, arrival.kind, false);
      return { row: { id: inboxId, arrival, turn_id: turnId, signalled_at: null }, chat, chatId };
    }).catch((error) => {
      if (error instanceof NoThread) throw new IntakeError('not_found', error.message);
      throw error instanceof KeyReused ? new IntakeError('reused', error.message) : error;
    });
    if (!row.signalled_at) {
      const signal = { inboxId: row.id, arrival: row.arrival as Arrival, chatId, channel: chat.channel, workflowId: chat.workflow_id };
      // the row is committed: a lost signal is sent again by the sweeper, so a Temporal server that is away does not fail the request
      const signalled = signalArrival({ db, temporal, config }, signal).catch(() => {});
      // and does not hold it up for long
      await Promise.race([signalled, pause(SIGNAL_PATIENCE_MS, undefined, { ref: false })]);
    }
    return { arrival: row.arrival as Arrival, turnId: row.turn_id, inboxId: row.id };
  }

  const turnOf = async (id: string): Promise<TurnRecord> => {
    const row = await findTurn(db, id);
    if (!row) throw new IntakeError('not_found', `Turn not found: ${id}`);
    return toTurnRecord(db, row);
  };

  async function requireActive(tx: Tx, threadId: string, turnId: string): Promise<NonNullable<Awaited<ReturnType<typeof activeTurn>>>> {
    const active = await activeTurn(tx, threadId);
    if (!active) throw new IntakeError('conflict', `No active turn on thread ${threadId}`);
    if (active.id !== turnId) throw new IntakeError('conflict', `Turn ${turnId} is not active on thread ${threadId}`);
    return active;
  }

  async function addSteer(
    tx: Tx,
    threadId: string,
    turnId: string,
    inboxId: string,
    text: string,
    heard?: Heard,
  ): Promise<Extract<Arrival, { kind: 'steer' }>> {
    await countSteer(tx, turnId);
    const itemId = steerItemId(inboxId);
    await appendEvents(tx, threadId, [{ event: 'turn.steered', turnId, itemId, payload: { thread_id: threadId, turn_id: turnId, input: text } }]);
    await addUserItem(tx, { id: itemId, turnId, threadId, text, announceStart: false, heard });
    return { kind: 'steer', inboxId, turnId };
  }

  async function addStop(tx: Tx, threadId: string, turnId: string, inboxId: string): Promise<Arrival> {
    await appendEvents(tx, threadId, [{ event: 'turn.interrupt_requested', turnId, payload: { thread_id: threadId, turn_id: turnId } }]);
    return { kind: 'stop', inboxId, turnId };
  }

  /** A message that is answered without the model, with `body`: it could not be read, or it was too much at once. */
  async function respond(input: { threadId: string; said: string; body: string; channelMessageId: string; also?: Also }): Promise<Said> {
    const { threadId, said, body } = input;
    const { arrival, turnId, inboxId } = await once(
      threadId,
      input.channelMessageId,
      said,
      async (tx, { inboxId: inbox, chatId }) => ({ arrival: await replyNow(tx, { threadId, chatId, inboxId: inbox, said, body }), turnId: null }),
      input.also,
    );
    return { kind: arrival.kind, turnId, inboxId };
  }

  /** Of a message that is longer than a request the model sees the beginning, and reads on by itself. */
  async function tellLong(threadId: string, text: string, id: MessageId): Promise<void> {
    const shown = shownOfMessage(config.FETCH_CONTEXT_TOKENS);
    if (text.length <= shown) return;
    const body = `That message has ${text.length} characters. I have its first ${shown} before me and look up the rest where it is needed.`;
    await respond({ threadId, said: '[a long message]', body, channelMessageId: `${typeof id === 'string' ? id : id.id}/long` });
  }

  async function channelThread(channel: Channel, address: string): Promise<ThreadRecord> {
    const known = await threadOfChat(db, channel, address);
    if (known) return known;
    await createThread(db, {
      channel,
      address,
      // whatever is configured when a turn runs: this chat outlives every choice of a model
      model: 'auto',
      workspace: config.FETCH_WORKSPACE ?? process.cwd(),
      mode: 'agent',
      // commands ask the person each time
      allow_shell: true,
      trust_mode: false,
      auto_approve: false,
      archived: false,
      autonomy: config.FETCH_AUTONOMY,
      chatKey: (address) => chatKey(secret, channel, address),
    });
    // two may have come at once: both get the same one
    return (await threadOfChat(db, channel, address))!;
  }

  return {
    /** The contract's "start a turn": a second one on an active thread is a conflict, whoever comes second. */
    async startTurn(input: {
      threadId: string;
      prompt: string;
      inputSummary?: string;
      model?: string;
      autoApprove?: boolean;
      mode?: string;
      allowShell?: boolean;
      channelMessageId: MessageId;
    }): Promise<{ thread: ThreadRecord; turn: TurnRecord }> {
      // as it was opened: by the time the signal is taken, a quick turn may have ended
      let opened: TurnRecord | undefined;
      const { turnId } = await once(input.threadId, input.channelMessageId, input.prompt, async (tx, { inboxId, at }) => {
        if (await activeTurn(tx, input.threadId)) throw new IntakeError('conflict', 'Thread already has an active turn');
        const turn = await openTurn(tx, {
          threadId: input.threadId,
          at,
          text: input.prompt,
          inputSummary: input.inputSummary,
          model: input.model,
          autoApprove: input.autoApprove,
          mode: input.mode,
          allowShell: input.allowShell,
        });
        opened = turn;
        return { arrival: { kind: 'turn', inboxId, turnId: turn.id, threadId: input.threadId }, turnId: turn.id };
      });
      const [thread, turn] = await Promise.all([getThread(db, input.threadId), opened ?? turnOf(turnId!)]);
      return { thread: thread!, turn };
    },

    async steer(input: { threadId: string; turnId: string; prompt: string; channelMessageId: MessageId }): Promise<TurnRecord> {
      await once(input.threadId, input.channelMessageId, input.prompt, async (tx, { inboxId }) => {
        await requireActive(tx, input.threadId, input.turnId);
        return { arrival: await addSteer(tx, input.threadId, input.turnId, inboxId, input.prompt), turnId: input.turnId };
      });
      return turnOf(input.turnId);
    },

    /** Answers with the turn as it was when the interrupt was taken, in progress; `turn.completed` follows. */
    async interrupt(input: { threadId: string; turnId: string; channelMessageId: MessageId }): Promise<TurnRecord> {
      let active: TurnRecord | undefined;
      await once(input.threadId, input.channelMessageId, '', async (tx, { inboxId }) => {
        active = await toTurnRecord(tx, await requireActive(tx, input.threadId, input.turnId));
        return { arrival: await addStop(tx, input.threadId, input.turnId, inboxId), turnId: input.turnId };
      });
      return active ?? turnOf(input.turnId);
    },

    /** A message as a person writes it: a command, an answer, a steering word or a new turn. Never refused as "busy". */
    async say(input: Saying): Promise<Said> {
      const { threadId, text, attachmentIds = [] } = input;
      const told = input.shown ?? text;
      const act = async (tx: Tx, { inboxId: inbox, chatId, at, by }: Received) => {
        const reply = async (body: string) => ({ arrival: await replyNow(tx, { threadId, chatId, inboxId: inbox, said: text, body }), turnId: null });
        const active = await activeTurn(tx, threadId);
        let unclear: string | undefined;
        if (!input.plain) {
          const command = input.questionId ? null : parseCommand(text);
          const order = input.questionId ? null : await taskOrder(tx, { chatId, text, inboxId: inbox, turnRuns: active !== undefined });
          if (order && 'reply' in order) return reply(order.reply);
          if (order) return { arrival: order, turnId: null };
          if (command === 'stop') {
            if (!active) return reply('Nothing is running, so there is nothing to stop.');
            return { arrival: await addStop(tx, threadId, active.id, inbox), turnId: active.id };
          }
          if (command === 'status') return reply(await statusText(tx, threadId, chatId));
          if (command === 'help') return reply(helpText(await setUpOf(tx, config)));
          if (command === 'new') return reply(active ? 'I am still at work. Say `stop` first, then `/new`.' : await beginAnew(tx, threadId));
          const again = input.questionId ? undefined : parseAskAgain(text);
          if (again !== undefined) return reply(askAgainText(await takeGrantsBack(tx, chatId, again)));
          const shares = input.questionId ? null : parseShare(text);
          if (shares) return reply(await share(tx, config, shares, mayTrust(by)));
          const autonomy = input.questionId ? null : parseAutonomy(text);
          // while a question is open the bare word is its answer
          if (autonomy && (text.trim().startsWith('/') || !(await isAsked(tx, threadId))))
            return reply(await trust(tx, { threadId, chatId, autonomy, shared: input.approver !== undefined, owned: mayTrust(by) }));
          const { questionId, approver, displayed, writtenAt = at } = input;
          const answered = await answerOpen(tx, threadId, { text, inboxId: inbox, by, at: writtenAt, readMs, displayed, questionId, approver });
          if (answered && 'reply' in answered) return reply(answered.reply);
          if (answered && 'answer' in answered) {
            const { answer, question } = answered;
            // a picture or a document that came as the answer is read beside it
            if (attachmentIds.length > 0) {
              const itemId = derivedId('item_', inbox, 'attached');
              await addUserItem(tx, { id: itemId, turnId: question.turn_id, threadId, text: told, announceStart: true, heard: input.heard });
              await attach(tx, itemId, attachmentIds);
            }
            return { arrival: answer, turnId: question.turn_id };
          }
          unclear = answered?.unclear;
          // beside the approval of a coding task no turn runs: a new one would leave the task waiting, and the person thinking that it was answered
          if (unclear && !active && looksLikeAnswer(text)) return reply(unclear);
        }
        if (active) {
          const arrival = await addSteer(tx, threadId, active.id, inbox, told, input.heard);
          await attach(tx, steerItemId(inbox), attachmentIds);
          // it may be meant as an answer: what would be one is told, and the words are not lost
          const outboxId = unclear && (await notify(tx, { threadId, chatId, turnId: active.id, key: inbox, body: unclear }));
          return { arrival: { ...arrival, ...(outboxId && { outboxId }) }, turnId: active.id };
        }
        const turn = await openTurn(tx, { threadId, at, text: told, heard: input.heard });
        await attach(tx, turn.item_ids[0]!, attachmentIds);
        return { arrival: { kind: 'turn' as const, inboxId: inbox, turnId: turn.id, threadId }, turnId: turn.id };
      };
      const { arrival, turnId, inboxId } = await once(threadId, input.channelMessageId, told, act, input.also, input.writers);
      if (arrival.kind === 'turn' || arrival.kind === 'steer') await tellLong(threadId, told, input.channelMessageId);
      return { kind: arrival.kind, turnId, inboxId };
    },

    respond,

    async decide(input: { approvalId: string; decision: 'allow' | 'deny'; remember: boolean; channelMessageId: MessageId }): Promise<void> {
      const missing = new IntakeError('not_found', `no pending approval with id '${input.approvalId}'`);
      const threadId = await threadOfApproval(db, input.approvalId);
      if (!threadId) throw missing;
      await once(threadId, input.channelMessageId, input.decision, async (tx, { inboxId, by }) => {
        const question = await openQuestion(tx, threadId, input.approvalId);
        if (!question) throw missing;
        await decideQuestion(tx, question, input, by);
        return { arrival: { kind: 'answer', inboxId, questionId: question.id, decision: input.decision, ...ofTask(question) }, turnId: question.turn_id };
      });
    },

    async answer(input: {
      threadId: string;
      inputId: string;
      answers: Array<{ id: string; label: string; value: string }>;
      channelMessageId: MessageId;
    }): Promise<void> {
      const text = input.answers.map((answer) => answer.value || answer.label).join('\n');
      await once(input.threadId, input.channelMessageId, text, async (tx, { inboxId, by }) => {
        const question = await openQuestion(tx, input.threadId, input.inputId);
        if (question?.kind !== 'question')
          throw new IntakeError(
            'not_found',
            `no pending user input with id '${input.inputId}' on thread ${input.threadId}: it was answered, has expired, or never was`,
          );
        await answerQuestion(tx, question, text, by);
        return { arrival: { kind: 'answer', inboxId, questionId: question.id, decision: 'answered', ...ofTask(question) }, turnId: question.turn_id };
      });
    },

    /** The thread of this machine's terminal, made on first use. */
    consoleThread: (): Promise<ThreadRecord> => channelThread('console', 'terminal'),
    /** The thread of a chat on a channel, made on first use. */
    channelThread,
  };
}

/** Who holds the token of the API. In the thread of the terminal that is the terminal. */
const overHttp = (channel: Channel): Identity =>
  capabilitiesOf(channel).screen === 'terminal' ? { role: 'terminal', channel } : { role: 'client', channel: 'api' };
