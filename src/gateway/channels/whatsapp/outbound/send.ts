import { setTimeout as pause } from 'node:timers/promises';
import { findOutgoingRow } from '../../../../store/whatsapp/outgoing.ts';
import { ChannelAway, type ChannelSender } from '../../channel.ts';
import type { Live } from '../live.ts';
import { PartMaker } from './parts.ts';
import { unlessPaused } from './pauses.ts';
import { sendPart } from './send-part.ts';
import { createSending, type SenderDeps, type Sending } from './sending.ts';

/** The queue is served only while a connection is open, so this covers the time between two connections. */
const PATIENCE_MS = 5_000;

/**
 * Sends on WhatsApp. Returns when the server has accepted every part of an outbox row, or when the row was given up for
 * a reason that is reported elsewhere.
 */
export function whatsappSender(deps: SenderDeps): ChannelSender {
  const sending = createSending(deps);
  const maker = new PartMaker(deps);
  const running = new Map<string, Promise<void>>();
  return {
    // an attempt that Temporal gave up may still run here; the next one waits for its end and continues from there
    async send({ id }, signal) {
      const before = running.get(id);
      const mine = (before ?? Promise.resolve()).catch(() => {}).then(() => deliver(sending, maker, id, signal));
      running.set(id, mine);
      try {
        await mine;
      } finally {
        if (running.get(id) === mine) running.delete(id);
      }
    },
  };
}

async function deliver(sending: Sending, maker: PartMaker, id: string, signal: AbortSignal): Promise<void> {
  const { deps, pacer } = sending;
  await unlessPaused(deps, null);
  const live = await connected(deps, signal);
  // read after the wait, because a question may have been decided meanwhile
  const row = await findOutgoingRow(deps.db, id);
  if (row?.state !== 'queued') return;
  const ended = AbortSignal.any([signal, live.closed]);
  try {
    for (const send of (await maker.partsOf(row, live, ended)) ?? []) {
      if (send.state !== 'queued') continue;
      await unlessPaused(deps, send.jid);
      await pacer.take(ended);
      // after a send on a closed socket nobody would know whether it arrived
      if (live.closed.aborted) throw new ChannelAway('The connection to WhatsApp closed; the message waits.', 500);
      if (!(await sendPart(sending, send, live, ended))) return;
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
