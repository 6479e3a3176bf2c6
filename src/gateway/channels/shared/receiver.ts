import type { Logger } from 'pino';
import type { ChatBatcher } from './batcher.ts';

const POLL_MS = 1_000;
/** Interval while messages wait for their burst or their files. */
const BUSY_MS = 100;
const PAGE = 200;
/** Most messages in memory; the others stay in the table. */
const IN_HAND = 20_000;

/**
 * What is done with a row: it ends with the verdict, or is delayed (`until` in ms since the epoch). Null: it was
 * handled, or is pending in its chat.
 */
export type Sorted = { verdict: string } | { until: number } | null;

/** The table of received messages of a channel, and what reads it. */
interface Receiving<Row extends { seq: number }> {
  log: Logger;
  /** what people call the channel */
  label: string;
  /** this gateway is the one that reads the table */
  receives(): boolean;
  /** rows to handle now, in the order of arrival, without those in hand and those of chats that are full */
  waiting(limit: number, besides: { inHand: number[]; full: string[]; after?: number }): Promise<Row[]>;
  /** before the rows of a page are sorted; returns what sorts each of them */
  sorter(): Promise<(row: Row) => Promise<Sorted>>;
  /** sorting a row failed */
  failed(row: Row, error: unknown): Promise<null>;
  markHandled(seqs: readonly number[], verdict: string): Promise<void>;
  putOff(seqs: readonly number[], until: Date): Promise<void>;
  /** chats with messages, by address */
  batchers: Map<string, ChatBatcher>;
}

/**
 * The only consumer of a channel's received messages, in the gateway that `receives`. It passes stored rows to the
 * conversations, even while the channel is away.
 */
export class InboxReader<Row extends { seq: number }> {
  private readonly inbox: Receiving<Row>;
  private readonly running: Promise<void>;
  private stopped = false;
  private woken = false;
  private wakeUp = () => {};

  constructor(inbox: Receiving<Row>) {
    this.inbox = inbox;
    this.running = this.run();
  }

  /** There are new rows. */
  wake(): void {
    this.woken = true;
    this.wakeUp();
  }

  /** What is in memory stays in the table for the next start. */
  async stop(): Promise<void> {
    this.stopped = true;
    this.wake();
    await this.running;
  }

  private inHand(): number[] {
    return [...this.inbox.batchers.values()].flatMap((batcher) => batcher.seqs);
  }

  private full(): string[] {
    return [...this.inbox.batchers.values()].flatMap((batcher) => [...batcher.full]);
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      this.woken = false;
      const done = await this.round().then(
        () => true,
        (error: Error) => this.failed(error),
      );
      if (this.stopped || (this.woken && done)) continue;
      await this.sleep(!done || this.inbox.batchers.size === 0 ? POLL_MS : BUSY_MS);
    }
  }

  private failed({ message }: Error): false {
    const { log, label } = this.inbox;
    if (!this.stopped)
      log.warn(
        { reason: message },
        `could not bring ${label} messages into their conversations; they are kept and tried again`,
      );
    return false;
  }

  private async sleep(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  private async round(): Promise<void> {
    const { inbox } = this;
    // two gateways would batch the messages of one burst differently
    if (!inbox.receives()) return;
    let rows = await inbox.waiting(PAGE, { inHand: this.inHand(), full: this.full() });
    while (rows.length > 0 && !this.stopped && inbox.receives()) {
      await this.take(rows);
      const held = this.inHand();
      rows =
        rows.length === PAGE && held.length < IN_HAND
          ? await inbox.waiting(PAGE, { inHand: held, full: this.full(), after: rows.at(-1)!.seq })
          : [];
      // a complete batch must not wait for another chat's flood
      if (rows.length > 0) await this.settle(false);
    }
    await this.settle(true);
  }

  private async take(rows: Row[]): Promise<void> {
    const { inbox } = this;
    const sort = await inbox.sorter();
    const verdicts = new Map<string, number[]>();
    const later = new Map<number, number[]>();
    for (const row of rows) {
      const sorted = await sort(row).catch((error) => inbox.failed(row, error));
      if (sorted && 'verdict' in sorted)
        verdicts.set(sorted.verdict, [...(verdicts.get(sorted.verdict) ?? []), row.seq]);
      if (sorted && 'until' in sorted) later.set(sorted.until, [...(later.get(sorted.until) ?? []), row.seq]);
    }
    for (const [verdict, seqs] of verdicts) await inbox.markHandled(seqs, verdict);
    for (const [until, seqs] of later) await inbox.putOff(seqs, new Date(until));
    const strangers = verdicts.get('stranger')?.length ?? 0;
    if (strangers > 0) inbox.log.info({ messages: strangers }, 'ignored what people wrote who may not use this');
  }

  private async settle(allRead: boolean): Promise<void> {
    const { batchers } = this.inbox;
    await Promise.all([...batchers.values()].map((batcher) => batcher.settle(Date.now(), allRead)));
    for (const [address, batcher] of batchers) if (batcher.idle) batchers.delete(address);
  }
}
