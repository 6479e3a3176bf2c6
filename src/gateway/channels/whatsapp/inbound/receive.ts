import { markHandled, putOff, type Waiting, waiting } from '../../../../store/whatsapp/inbox.ts';
import type { Intake } from '../../../intake/intake.ts';
import { loadBaileys } from '../library/baileys.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import { whoIsWho } from './admit.ts';
import { Sorter } from './sort.ts';

const POLL_MS = 1_000;
/** Interval while messages wait for their burst or their files. */
const BUSY_MS = 100;
const PAGE = 200;
/** Most messages in memory; the others stay in the table. */
const IN_HAND = 20_000;

interface ReceiverDeps extends WhatsAppDeps {
  intake: Intake;
  live: CurrentLive;
  /** this gateway is the one that reads the inbox; true by default */
  receives?: () => boolean;
}

/**
 * The only consumer of the WhatsApp inbox, in the gateway that `receives`. It passes stored rows to the conversations,
 * even while WhatsApp is away.
 */
export class Receiver {
  private readonly deps: ReceiverDeps;
  private readonly sorter: Sorter;
  private readonly running: Promise<void>;
  private stopped = false;
  private woken = false;
  private wakeUp = () => {};

  constructor(deps: ReceiverDeps) {
    this.deps = deps;
    this.sorter = new Sorter({ ...deps, onPrepared: () => this.wake() });
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
    this.sorter.stop();
    this.wake();
    await this.running;
  }

  private receives(): boolean {
    return this.deps.receives?.() ?? true;
  }

  private inHand(): number[] {
    return [...this.sorter.batchers.values()].flatMap((batcher) => batcher.seqs);
  }

  private full(): string[] {
    return [...this.sorter.batchers.values()].flatMap((batcher) => [...batcher.full]);
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      this.woken = false;
      const done = await this.round().then(
        () => true,
        (error: Error) => this.failed(error),
      );
      if (this.stopped || (this.woken && done)) continue;
      await this.sleep(!done || this.sorter.batchers.size === 0 ? POLL_MS : BUSY_MS);
    }
  }

  private failed({ message }: Error): false {
    if (!this.stopped)
      this.deps.log.warn(
        { reason: message },
        'could not bring WhatsApp messages into their conversations; they are kept and tried again',
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
    const { db, account, config, log } = this.deps;
    // two gateways would batch the messages of one burst differently
    if (!this.receives()) return;
    let rows = await waiting(db, account, PAGE, { inHand: this.inHand(), full: this.full() });
    // only after the console was silenced, and only when something arrives
    if (rows.length > 0) await loadBaileys(log, config.WA_NOISE_ROOT_KEY);
    while (rows.length > 0 && !this.stopped && this.receives()) {
      await this.take(rows);
      const held = this.inHand();
      rows =
        rows.length === PAGE && held.length < IN_HAND
          ? await waiting(db, account, PAGE, { inHand: held, full: this.full(), after: rows.at(-1)!.seq })
          : [];
      // a complete batch must not wait for another chat's flood
      if (rows.length > 0) await this.settle(false);
    }
    await this.settle(true);
  }

  private async take(rows: Waiting[]): Promise<void> {
    const { db, log } = this.deps;
    const self = await whoIsWho(this.deps);
    const verdicts = new Map<string, number[]>();
    const later = new Map<number, number[]>();
    for (const row of rows) {
      const sorted = await this.sorter.sort(row, self).catch((error) => this.sorter.failed(row, error));
      if (sorted && 'verdict' in sorted)
        verdicts.set(sorted.verdict, [...(verdicts.get(sorted.verdict) ?? []), row.seq]);
      if (sorted && 'until' in sorted) later.set(sorted.until, [...(later.get(sorted.until) ?? []), row.seq]);
    }
    for (const [verdict, seqs] of verdicts) await markHandled(db, seqs, verdict);
    for (const [until, seqs] of later) await putOff(db, seqs, new Date(until));
    const strangers = verdicts.get('stranger')?.length ?? 0;
    if (strangers > 0) log.info({ messages: strangers }, 'ignored what people wrote who may not use this');
  }

  private async settle(allRead: boolean): Promise<void> {
    const { batchers } = this.sorter;
    await Promise.all([...batchers.values()].map((batcher) => batcher.settle(Date.now(), allRead)));
    for (const [address, batcher] of batchers) if (batcher.idle) batchers.delete(address);
  }
}
