import type { Identity } from '../../../contracts/decision.ts';
import { parseAskAgain, parseAutonomy, parseCommand, parseShare, parseTaskOrder } from '../../../domain/chat/commands.ts';
import { afterAbsence, firstPart, joinTexts, partLimits, ready } from '../../../domain/whatsapp/burst.ts';
import type { Also, Approver, Intake } from '../../../intake/intake.ts';
import type { Db } from '../../../store/postgres/database.ts';
import { isAsked } from '../../../store/questions/questions.ts';
import { markHandled } from '../../../store/whatsapp/inbox.ts';
import type { Incoming } from './decode.ts';
import type { Prepared } from './files/prepare.ts';
import { heardOf, heardTogether } from './heard.ts';

/** A message that is ours to answer, until intake has it. */
export interface Pending {
  seq: number;
  message: Incoming;
  /** author in a group, null where there is only one */
  author: string | null;
  by: Identity;
  /** what the author may approve in a group */
  approver?: Approver;
  text: string;
  /** quotes this open question */
  questionId: string | null;
  /** first seen, ms */
  at: number;
  /** too old to be carried out */
  old: boolean;
  /** was over the rate limit: all of them are said together */
  late: boolean;
  /** the messages before it were said without it, because all at once would have been too much */
  rest?: boolean;
  /** null while its file is loaded or listened to */
  prepared: Prepared | null;
  /** gives up loading */
  drop(): void;
}

/** A backlog arrives in pieces: wait until nothing has come for this long, or it is this much. */
const OLD_QUIET_MS = 3_000;
const OLD_MANY = 500;
/** Messages of one chat in hand at once; whatever else it has written stays in the table. */
const IN_HAND = 1_000;
/** Of a flood this many turns are said at a time, so that other chats are not held up. */
const PARTS_AT_ONCE = 8;

export interface DeskDeps {
  db: Db;
  intake: Intake;
  threadId: string;
  /** characters of a message that a request of the model shows */
  shownChars: number;
  /** whether to say now that much is read in parts: not when it was said lately */
  tells(): boolean;
}

/** One chat's messages on their way into the conversation: what belongs together is said together, in the order in which it came. */
export class Desk {
  pending: Pending[] = [];
  /** turns that the backlog which is being said has become so far */
  private parts = 0;
  private readonly deps: DeskDeps;

  constructor(deps: DeskDeps) {
    this.deps = deps;
  }

  get idle(): boolean {
    return this.pending.length === 0;
  }
  get hasLate(): boolean {
    return this.pending.some((each) => each.late);
  }
  get seqs(): number[] {
    return this.pending.map((each) => each.seq);
  }
  /** Addresses whose further messages stay in the table for now, because so many are in hand. */
  get full(): Iterable<string> {
    return this.pending.length < IN_HAND ? [] : new Set(this.pending.map(({ message }) => message.key.chat));
  }

  add(it: Pending): void {
    // nearly always it is the newest
    const before = this.pending.findLastIndex((each) => each.seq < it.seq);
    this.pending.splice(before + 1, 0, it);
  }

  /** Takes a message back, because it was edited or deleted before it was said. */
  remove(seq: number): void {
    const at = this.pending.findIndex((each) => each.seq === seq);
    if (at >= 0) this.pending.splice(at, 1)[0]!.drop();
  }

  /** Says whatever is complete now. Late messages wait until all of them are here (`allRead`). */
  async settle(now: number, allRead: boolean): Promise<void> {
    for (let said = 0; said < PARTS_AT_ONCE; said++) {
      const run = await this.complete(now, allRead);
      if (run.length === 0) return;
      this.parts = run[0]!.rest || run[0]!.late ? this.parts + 1 : 0;
      const part = run.slice(0, firstPart(run.map(sizeOf), partLimits(this.parts, this.deps.shownChars)));
      const rest = run.slice(part.length);
      await this.tellParts(run, rest);
      await this.say(part);
      for (const each of rest) each.rest = true;
      const gone = new Set(part);
      this.pending = this.pending.filter((each) => !gone.has(each));
    }
  }

  /** The messages that are to be said together now; none while all have to wait. */
  private async complete(now: number, allRead: boolean): Promise<Pending[]> {
    const word = this.pending.find((each) => commandOf(each) !== null);
    if (word && commandOf(word) !== 'stop') return [word];
    const before = word ? this.pending.slice(0, this.pending.indexOf(word)) : this.pending;
    if (word) {
      // what is to be stopped is begun first, so that there is something to stop; what still loads is not waited for
      for (const loads of before.filter((each) => !each.prepared)) {
        await markHandled(this.deps.db, [loads.seq], 'stopped');
        this.remove(loads.seq);
      }
    }
    const [first] = this.pending;
    if (!first || first === word) return word ? [word] : [];
    const asked = !first.old && !first.late && !first.rest && (first.questionId !== null || (await isAsked(this.deps.db, this.deps.threadId)));
    if (asked) return first.prepared ? [first] : [];
    const end = this.pending.findIndex((each) => each === word || each.old !== first.old || each.late !== first.late || (first.rest && !each.rest));
    const run = end < 0 ? [...this.pending] : this.pending.slice(0, end);
    if (run.some((each) => !each.prepared)) return [];
    const quiet = now - run.reduce((newest, each) => Math.max(newest, each.at), 0);
    const complete = word !== undefined || first.rest || (first.late ? allRead : first.old ? quiet >= OLD_QUIET_MS || run.length >= OLD_MANY : ready(run, now));
    return complete ? run : [];
  }

  private async say(run: Pending[]): Promise<void> {
    const { intake, threadId } = this.deps;
    for (const each of run) await this.tell(each);
    const said = run.filter((each) => each.prepared!.text !== '');
    const first = said[0];
    if (!first) return;
    const also = this.handled(
      said.map((each) => each.seq),
      first.old ? 'old' : null,
    );
    const channelMessageId = idOf(first.message);
    const writers = said.map((each) => each.by);
    const attachmentIds = said.flatMap((each) => each.prepared!.attachmentIds);
    if (first.old) {
      const messages = said.map((each) => ({ at: each.message.at, author: each.author ?? each.message.name ?? 'The person', text: each.prepared!.text }));
      // nothing of it is to be carried out, so none of it counts as an order of the person
      const heard = { ...heardTogether(said), words: '' };
      await intake.say({ threadId, text: afterAbsence(messages, new Date()), plain: true, channelMessageId, attachmentIds, writers, also, heard });
    } else if (said.length === 1 && !first.rest) {
      const answers = first.questionId !== null || commandOf(first) !== null || (await isAsked(this.deps.db, threadId));
      const whole = heardOf(first);
      const { author, approver, questionId } = first;
      // commands and answers stay bare, and are without the name of their author
      const text = answers || author !== null ? first.prepared!.text : whole.text;
      await intake.say({
        threadId,
        text,
        channelMessageId,
        attachmentIds,
        approver,
        writers,
        writtenAt: writtenAt(first.message),
        also,
        heard: whole.heard,
        ...(author !== null && { shown: whole.text }),
        ...(questionId && { questionId }),
      });
    } else {
      const text = joinTexts(said.map((each) => heardOf(each).text));
      await intake.say({ threadId, text, plain: true, channelMessageId, attachmentIds, writers, also, heard: heardTogether(said) });
    }
  }

  /** What was heard, or why a file cannot be had. A message that is nothing else ends with it. */
  private async tell({ seq, message, text, prepared }: Pending): Promise<void> {
    if (!prepared?.tell) return;
    const { intake, threadId } = this.deps;
    const also = prepared.text === '' ? this.handled([seq], 'told') : undefined;
    await intake.respond({ threadId, said: text || '[a file]', body: prepared.tell, channelMessageId: `${idOf(message)}/told`, also });
  }

  /** Says once that what was written is more than one turn takes. Who wrote too fast knows already. */
  private async tellParts(run: readonly Pending[], rest: readonly Pending[]): Promise<void> {
    const [first] = run;
    if (!first || rest.length === 0 || first.late || first.rest || !this.deps.tells()) return;
    const body = 'That is a lot at once. I read all of it, one part after the other.';
    await this.deps.intake.respond({
      threadId: this.deps.threadId,
      said: '[many messages at once]',
      body,
      channelMessageId: `${idOf(first.message)}/parts`,
    });
  }

  private handled(seqs: readonly number[], verdict: string | null): Also {
    // one that is known was said in an attempt whose end nobody heard of: what came since was not part of it, and is taken up from the table
    return (tx, inboxId, kind, known) => markHandled(tx, known ? seqs.slice(0, 1) : seqs, verdict ?? kind, inboxId);
  }
}

const sizeOf = (pending: Pending): { text: string; files: number } => ({
  text: heardOf(pending).text,
  files: pending.prepared!.attachmentIds.length,
});

/** Words that work without the model and must not wait until a burst is complete; a yes or no is one only as an answer. */
function commandOf({ text, message, questionId, old }: Pending): 'stop' | 'status' | 'help' | 'new' | 'order' | null {
  if (questionId !== null || old || message.content.kind !== 'text') return null;
  const command = parseCommand(text);
  if (command === 'yes' || command === 'no') return null;
  const order = parseTaskOrder(text) || parseAutonomy(text) || parseShare(text) || parseAskAgain(text) !== undefined;
  return command ?? (order ? 'order' : null);
}

/** WhatsApp tells whole seconds. The end of the second is taken: an answer in the second of its question came after it. */
export const writtenAt = ({ at }: Incoming): Date => new Date(at.getTime() + 999);

/** The id of a message within its chat: unique also in a group, and over both directions. */
export const idOf = ({ key }: Incoming): string => `${key.fromMe ? 'me' : key.participant || 'them'}/${key.messageId}`;
