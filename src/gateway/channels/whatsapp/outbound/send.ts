import { setTimeout as pause } from 'node:timers/promises';
import { DAY } from '../../../../domain/time.ts';
import { findOutgoingRow } from '../../../../store/chats/messages/outgoing.ts';
import { sentSince } from '../../../../store/whatsapp/sends.ts';
import { ChannelAway, type ChannelSender } from '../../channel.ts';
import { createPacer, type Pacer } from '../../shared/pacing.ts';
import type { CurrentLive, Live } from '../live.ts';
import { PartMaker } from './parts.ts';
import { tell } from './problems.ts';
import { PartSender } from './send-part.ts';

/** The queue is served only while a connection is open, so this covers the time between two connections. */
const PATIENCE_MS = 5_000;

export type SenderDeps = ConstructorParameters<typeof PartSender>[0] & {
  live: CurrentLive;
  /** how long a send waits for a connection before it returns to the task queue */
  patienceMs?: number;
  pacer?: Pacer;
};

/** State that all sends of an account share. */
interface Sending {
  deps: SenderDeps;
  pacer: Pacer;
  maker: PartMaker;
  sender: PartSender;
}

/**
 * Sends on WhatsApp. Returns when the server has accepted every part of an outbox row, or when the row was given up for
 * a reason that is reported elsewhere.
 */
export function whatsappSender(deps: SenderDeps): ChannelSender {
  const sending = {
    deps,
    pacer: deps.pacer ?? pacerOf(deps),
    maker: new PartMaker(deps),
    sender: new PartSender(deps),
  };
  const running = new Map<string, Promise<void>>();
  return {
    // an attempt that Temporal gave up may still run here; the next one waits for its end and continues from there
    async send({ id }, signal) {
      const before = running.get(id);
      const mine = (before ?? Promise.resolve()).catch(() => {}).then(() => deliver(sending, id, signal));
      running.set(id, mine);
      try {
        await mine;
      } finally {
        if (running.get(id) === mine) running.delete(id);
      }
    },
  };
}

function pacerOf(deps: SenderDeps): Pacer {
  const { db, account, config } = deps;
  const { WHATSAPP_PACE_MS: paceMs, WHATSAPP_PER_MINUTE: perMinute, WHATSAPP_PER_DAY: perDay } = config;
  const onDayFull = () => {
    const day = Math.floor(Date.now() / DAY);
    void tell(deps, `day-${day}`, (say) => say('link.dayFull', { count: perDay }));
  };
  return createPacer({ paceMs, perMinute, perDay }, (since) => sentSince(db, account, since), { onDayFull });
}

async function deliver({ deps, pacer, maker, sender }: Sending, id: string, signal: AbortSignal): Promise<void> {
  await sender.unlessPaused(null);
  const live = await connected(deps, signal);
  // read after the wait, because a question may have been decided meanwhile
  const row = await findOutgoingRow(deps.db, id);
  if (row?.state !== 'queued') return;
  const ended = AbortSignal.any([signal, live.closed]);
  try {
    for (const send of (await maker.partsOf(row, live, ended)) ?? []) {
      if (send.state !== 'queued') continue;
      await sender.unlessPaused(send.jid);
      await pacer.take(ended);
      // after a send on a closed socket nobody would know whether it arrived
      if (live.closed.aborted) throw new ChannelAway('The connection to WhatsApp closed; the message waits.', 500);
      if (!(await sender.send(send, live, ended))) return;
    }
  } catch (error) {
    throw live.closed.aborted && !(error instanceof ChannelAway)
      ? new ChannelAway('The connection to WhatsApp closed; the message waits.', 500)
      : error;
  }
}

async function connected(deps: SenderDeps, signal: AbortSignal): Promise<Live> {
  const until = Date.now() + (deps.patienceMs ?? PATIENCE_MS);
  for (;;) {
    const live = deps.live();
    if (live && !live.closed.aborted) return live;
    if (Date.now() > until || signal.aborted)
      throw new ChannelAway('WhatsApp is not connected; the message waits.', 1000);
    await pause(100, undefined, { signal }).catch(() => {});
  }
}
