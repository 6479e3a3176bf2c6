import type { Intake } from '../../../intake/intake.ts';
import { markHandled, putOff, type Waiting, waiting } from '../../../store/whatsapp/inbox.ts';
import { loadBaileys } from '../link/library/baileys.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import { whoIsWho } from './identify.ts';
import { Sorter } from './sort.ts';

export interface Receiver {
  /** there are new rows */
  wake(): void;
  /** what is in memory stays in the table for the next start */
  stop(): Promise<void>;
}

const POLL_MS = 1_000;
/** Interval while messages wait for their burst or their files. */
const BUSY_MS = 100;
const PAGE = 200;
/** Most messages in memory; the others stay in the table. */
const IN_HAND = 20_000;

/** The only consumer of the WhatsApp inbox, in the gateway that `receives`. It passes stored rows to the conversations, even while WhatsApp is away. */
export function startReceiver(deps: WhatsAppDeps & { intake: Intake; live: CurrentLive; receives?: () => boolean }): Receiver {
  const { db, account, config, log, receives = () => true } = deps;
  let stopped = false;
  let woken = false;
  let wakeUp = () => {};
  const wake = () => {
    woken = true;
    wakeUp();
  };
  const sorter = new Sorter({ ...deps, onPrepared: wake });
  const { batchers } = sorter;
  const inHand = (): number[] => [...batchers.values()].flatMap((batcher) => batcher.seqs);
  const full = (): string[] => [...batchers.values()].flatMap((batcher) => [...batcher.full]);

  async function round(): Promise<void> {
    // two gateways would batch the messages of one burst differently
    if (!receives()) return;
    let rows = await waiting(db, account, PAGE, { inHand: inHand(), full: full() });
    // only after the console was silenced, and only when something arrives
    if (rows.length > 0) await loadBaileys(log, config.WA_NOISE_ROOT_KEY);
    while (rows.length > 0 && !stopped && receives()) {
      await take(rows);
      const held = inHand();
      rows = rows.length === PAGE && held.length < IN_HAND ? await waiting(db, account, PAGE, { inHand: held, full: full(), after: rows.at(-1)!.seq }) : [];
      // a complete batch must not wait for another chat's flood
      if (rows.length > 0) await settle(false);
    }
    await settle(true);
  }

  async function take(rows: Waiting[]): Promise<void> {
    const self = await whoIsWho(deps);
    const verdicts = new Map<string, number[]>();
    const later = new Map<number, number[]>();
    for (const row of rows) {
      const sorted = await sorter.sort(row, self).catch((error) => sorter.failed(row, error));
      if (sorted && 'verdict' in sorted) verdicts.set(sorted.verdict, [...(verdicts.get(sorted.verdict) ?? []), row.seq]);
      if (sorted && 'until' in sorted) later.set(sorted.until, [...(later.get(sorted.until) ?? []), row.seq]);
    }
    for (const [verdict, seqs] of verdicts) await markHandled(db, seqs, verdict);
    for (const [until, seqs] of later) await putOff(db, seqs, new Date(until));
    const strangers = verdicts.get('stranger')?.length ?? 0;
    if (strangers > 0) log.info({ messages: strangers }, 'ignored what people wrote who may not use this');
  }

  async function settle(allRead: boolean): Promise<void> {
    await Promise.all([...batchers.values()].map((batcher) => batcher.settle(Date.now(), allRead)));
    for (const [address, batcher] of batchers) if (batcher.idle) batchers.delete(address);
  }

  async function run(): Promise<void> {
    while (!stopped) {
      woken = false;
      const failedRound = await round().then(
        () => false,
        (error) => {
          if (!stopped)
            log.warn({ reason: (error as Error).message }, 'could not bring WhatsApp messages into their conversations; they are kept and tried again');
          return true;
        },
      );
      if (stopped || (woken && !failedRound)) continue;
      const ms = failedRound || batchers.size === 0 ? POLL_MS : BUSY_MS;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  const running = run();
  return {
    wake,
    async stop() {
      stopped = true;
      sorter.stop();
      wake();
      await running;
    },
  };
}
