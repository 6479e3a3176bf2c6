import { capabilitiesOf } from '../../../contracts/channels.ts';
import type { Channel } from '../../../contracts/ids.ts';
import { afterAbsence, firstPart, joinTexts, partLimits, ready } from '../../../domain/chat/burst.ts';
import { parseCommand } from '../../../domain/chat/words/commands.ts';
import type { Db, Tx } from '../../../store/postgres/database.ts';
import { mayBeAnswered } from '../../../store/turns/questions/questions.ts';
import { isCommand } from '../../intake/commands/table.ts';
import type { Also, Intake } from '../../intake/intake.ts';
import {
  albumNotes,
  hasAllOfAlbums,
  heardOf,
  heardTogether,
  isBareAlbum,
  numbered,
  type PendingMessage,
  saidIn,
} from './pending.ts';

/** A backlog arrives in parts: wait until nothing has come for this long, or until it is this much. */
const OLD_QUIET_MS = 3_000;
const OLD_MANY = 500;
/** Most messages of one chat in memory; the rest stays in the table. */
const IN_HAND = 1_000;
/** How many turns of a flood are passed on at a time, so that other chats are not delayed. */
const PARTS_AT_ONCE = 8;

interface BatcherDeps {
  db: Db;
  intake: Intake;
  threadId: string;
  /** characters of a message that a request of the model shows */
  shownChars: number;
  /** whether to tell the person now that much is read in parts; not when they were told recently */
  tells(): boolean;
  channel: Channel;
  /** Records in the channel's own table how messages were handled; `inboxId`: the input that they became part of. */
  markHandled(tx: Db | Tx, seqs: readonly number[], verdict: string, inboxId?: string): Promise<void>;
}

/**
 * Messages of one chat on their way into the conversation. Messages that belong together are passed on together, in the
 * order of arrival.
 */
export class ChatBatcher {
  pending: PendingMessage[] = [];
  /** number of turns that the present backlog has become so far */
  private parts = 0;
  private readonly deps: BatcherDeps;

  constructor(deps: BatcherDeps) {
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
  /** Addresses whose further messages stay in the table for now, because so many are in memory. */
  get full(): Iterable<string> {
    return this.pending.length < IN_HAND ? [] : new Set(this.pending.map(({ chat }) => chat));
  }

  add(it: PendingMessage): void {
    // nearly always it is the newest
    const before = this.pending.findLastIndex((each) => each.seq < it.seq);
    this.pending.splice(before + 1, 0, it);
  }

  /** Removes a message that was edited or deleted before it was passed on. */
  remove(seq: number): void {
    const at = this.pending.findIndex((each) => each.seq === seq);
    if (at >= 0) this.pending.splice(at, 1)[0]!.drop();
  }

  /** Passes on what is complete. Late messages wait until all of them are here (`allRead`). */
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

  /** The messages to pass on together now; none while all must wait. */
  private async complete(now: number, allRead: boolean): Promise<PendingMessage[]> {
    const word = this.pending.find((each) => commandOf(each) !== null);
    if (word && commandOf(word) !== 'stop') return [word];
    if (word) {
      // the turn to be stopped must begin first; files that still load are not waited for
      const before = this.pending.slice(0, this.pending.indexOf(word));
      for (const loads of before.filter((each) => !each.prepared || isBareAlbum(each, before))) {
        await this.deps.markHandled(this.deps.db, [loads.seq], 'stopped');
        this.remove(loads.seq);
      }
    }
    const waiting = this.pending.filter((each) => !each.apart || each.prepared);
    const [first] = waiting;
    if (!first || first === word) return word ? [word] : [];
    const asked =
      !first.old &&
      !first.late &&
      !first.rest &&
      (first.questionId !== null || (await mayBeAnswered(this.deps.db, this.deps.threadId)));
    if (asked) {
      // what is written while an album is on its way may be an answer
      const album = first.announces === null ? [] : waiting.filter((each) => each.album !== null || each.pictured);
      if (album.every((each) => each.prepared) && hasAllOfAlbums(album, this.pending, now) && album.length > 0)
        return album;
      const other = waiting.find((each) => !album.includes(each));
      return other?.prepared ? [other] : [];
    }
    const end = waiting.findIndex(
      (each) => each === word || each.old !== first.old || each.late !== first.late || (first.rest && !each.rest),
    );
    const run = end < 0 ? waiting : waiting.slice(0, end);
    if (run.some((each) => !each.prepared)) return [];
    const quiet = now - run.reduce((newest, each) => Math.max(newest, each.at), 0);
    const complete =
      word !== undefined ||
      first.rest ||
      (first.late
        ? allRead
        : first.old
          ? quiet >= OLD_QUIET_MS || run.length >= OLD_MANY
          : ready(run, now) && hasAllOfAlbums(run, this.pending, now));
    return complete ? run : [];
  }

  private async say(run: PendingMessage[]): Promise<void> {
    const { intake, threadId } = this.deps;
    for (const each of run) await this.tell(each);
    const said = run.filter((each) => each.prepared!.text !== '');
    const albums = run.filter((each) => each.announces !== null);
    const first = said[0];
    if (!first) return await this.tellEmpty(albums);
    const also = this.handled(
      [...said, ...albums].map((each) => each.seq),
      first.old ? 'old' : null,
    );
    const channelMessageId = first.id;
    const writers = said.map((each) => each.by);
    const attachmentIds = said.flatMap((each) => each.prepared!.attachmentIds);
    if (first.old) {
      const messages = said.map((each) => ({
        at: each.sentAt,
        author: each.author ?? each.name ?? 'The person',
        text: saidIn(each),
      }));
      // nothing of it will be carried out, so it holds no order of the person
      const heard = { ...heardTogether(said), words: '' };
      await intake.say({
        threadId,
        text: afterAbsence(messages, new Date(), capabilitiesOf(this.deps.channel).label),
        plain: true,
        channelMessageId,
        attachmentIds,
        writers,
        also,
        heard,
      });
    } else if (said.length === 1 && albums.length === 0 && first.ofOthers === null && !first.rest) {
      const answers =
        first.questionId !== null || commandOf(first) !== null || (await mayBeAnswered(this.deps.db, threadId));
      const whole = heardOf(first);
      const { author, approver, questionId, elsewhere } = first;
      // commands and answers are passed on without quote and author
      const text = answers || author !== null ? first.prepared!.text : whole.text;
      await intake.say({
        threadId,
        text,
        channelMessageId,
        attachmentIds,
        approver,
        writers,
        writtenAt: first.writtenAt,
        also,
        heard: whole.heard,
        ...(author !== null && { shown: whole.text }),
        ...(questionId && { questionId }),
        elsewhere,
      });
    } else {
      const text = joinTexts([...numbered(said).map((each) => heardOf(each).text), ...albumNotes(albums, said)]);
      await intake.say({
        threadId,
        text,
        plain: true,
        channelMessageId,
        attachmentIds,
        writers,
        also,
        heard: heardTogether(said),
      });
    }
  }

  /** The words of a recording, or why a file cannot be loaded. A message that is nothing else ends here. */
  private async tell({ seq, id, text, prepared }: PendingMessage): Promise<void> {
    if (!prepared?.tell) return;
    const { intake, threadId } = this.deps;
    const also = prepared.text === '' ? this.handled([seq], 'told') : undefined;
    await intake.respond({
      threadId,
      said: text || '[a file]',
      body: prepared.tell,
      channelMessageId: `${id}/told`,
      also,
    });
  }

  /** Nothing came of the albums that were announced. */
  private async tellEmpty(albums: readonly PendingMessage[]): Promise<void> {
    for (const { id, seq } of albums)
      await this.deps.intake.respond({
        threadId: this.deps.threadId,
        said: '[an album]',
        body: (say) => say('kind.album'),
        channelMessageId: `${id}/empty`,
        also: this.handled([seq], 'told'),
      });
  }

  /** Says once that the text is more than one turn takes. A person who wrote too fast was told already. */
  private async tellParts(run: readonly PendingMessage[], rest: readonly PendingMessage[]): Promise<void> {
    const [first] = run;
    if (!first || rest.length === 0 || first.late || first.rest || !this.deps.tells()) return;
    await this.deps.intake.respond({
      threadId: this.deps.threadId,
      said: '[many messages at once]',
      body: (say) => say('limit.parts'),
      channelMessageId: `${first.id}/parts`,
    });
  }

  private handled(seqs: readonly number[], verdict: string | null): Also {
    // a known message was passed on in an attempt whose end was lost. Later messages were not part of it, and are read
    // from the table again
    return (tx, inboxId, kind, known) =>
      this.deps.markHandled(tx, known ? seqs.slice(0, 1) : seqs, verdict ?? kind, inboxId);
  }
}

const sizeOf = (pending: PendingMessage): { text: string; files: number } => ({
  text: heardOf(pending).text,
  // an album is one turn, however long it is
  files: pending.album === null ? pending.prepared!.attachmentIds.length : 0,
});

/**
 * What the text of a message is as a command. A flood is looked through again and again, and each text is compared
 * once.
 */
const compared = new WeakMap<PendingMessage, 'stop' | 'other' | null>();

/** Words that work without the model and must not wait for the burst. A yes or no is none: it is an answer. */
function commandOf(message: PendingMessage): 'stop' | 'other' | null {
  const { text, bare, questionId, old } = message;
  if (questionId !== null || old || !bare) return null;
  let command = compared.get(message);
  if (command === undefined) {
    command = parseCommand(text) === 'stop' ? 'stop' : isCommand(text) ? 'other' : null;
    compared.set(message, command);
  }
  return command;
}
