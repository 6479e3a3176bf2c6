import { markHandled, putOff, type Waiting, waiting } from '../../../../store/whatsapp/inbox.ts';
import type { Intake } from '../../../intake/intake.ts';
import { InboxReader } from '../../shared/receiver.ts';
import { loadBaileys } from '../library/baileys.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';
import { whoIsWho } from './admit.ts';
import { Sorter } from './sort.ts';

interface ReceiverDeps extends WhatsAppDeps {
  intake: Intake;
  live: CurrentLive;
  /** this gateway is the one that reads the inbox; true by default */
  receives?: () => boolean;
}

/** Reads the WhatsApp inbox. */
export class Receiver {
  private readonly sorter: Sorter;
  private readonly reader: InboxReader<Waiting>;

  constructor(deps: ReceiverDeps) {
    const { db, account, config, log } = deps;
    const sorter = new Sorter({ ...deps, onPrepared: () => this.wake() });
    this.sorter = sorter;
    this.reader = new InboxReader<Waiting>({
      log,
      label: 'WhatsApp',
      receives: () => deps.receives?.() ?? true,
      waiting: (limit, besides) => waiting(db, account, limit, besides),
      async sorter() {
        // only after the console was silenced, and only when something arrives
        await loadBaileys(log, config.WA_NOISE_ROOT_KEY);
        const self = await whoIsWho(deps);
        return (row) => sorter.sort(row, self);
      },
      failed: (row, error) => sorter.failed(row, error),
      markHandled: (seqs, verdict) => markHandled(db, seqs, verdict),
      putOff: (seqs, until) => putOff(db, seqs, until),
      batchers: sorter.batchers,
    });
  }

  /** There are new rows. */
  wake(): void {
    this.reader.wake();
  }

  /** What is in memory stays in the table for the next start. */
  async stop(): Promise<void> {
    this.sorter.stop();
    await this.reader.stop();
  }
}
