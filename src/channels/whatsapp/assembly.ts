import type { Intake } from '../../intake/intake.ts';
import type { ChannelSender } from '../channel.ts';
import { learnMappings } from './inbound/identify.ts';
import { startReceiver } from './inbound/receive.ts';
import { loadBaileys, tolerateStrayRejections } from './link/baileys.ts';
import { type ConnectionDeps, startConnection } from './link/connection.ts';
import { warnOfIdlePhone } from './link/phone-idle.ts';
import { silenceConsole } from './link/silence.ts';
import type { CurrentLive, OnOpen, WhatsAppDeps } from './live.ts';
import { groupCache } from './outbound/group-cache.ts';
import { typing } from './outbound/presence.ts';
import { getMessage, trackReceipts } from './outbound/receipts.ts';
import { whatsappChannel } from './outbound/send.ts';
import { startPruning } from './pruning.ts';
import { createSealer } from './ratchet/encryption.ts';

/** Makes what runs while a connection is open out of the way to send on it. */
export type OnChannel = (channel: ChannelSender) => OnOpen;

export interface AssemblyDeps extends WhatsAppDeps, Pick<ConnectionDeps, 'holder' | 'exit' | 'times'> {
  intake: Intake;
  /** 64 hex digits */
  encryptionKey: string;
  onChannel: OnChannel;
}

/** The parts of the channel, put together: what arrives, what is sent, and the one connection that both use. */
export function assemble(deps: AssemblyDeps): { stop(): Promise<void> } {
  const { db, account, config, log, intake, exit, holder, times } = deps;
  const base: WhatsAppDeps = { db, config, log, account };
  // before any part imports Baileys
  silenceConsole(log);
  tolerateStrayRejections(log);
  let connection: ReturnType<typeof startConnection> | null = null;
  const live: CurrentLive = () => connection?.live() ?? null;
  const receiver = startReceiver({ ...base, intake, live, receives: () => connection?.receives() ?? false });
  const groups = groupCache({ ...base, live });
  const channel = whatsappChannel({ ...base, live, stuck: exit });
  const stopPruning = startPruning(base);
  connection = startConnection({
    ...base,
    baileys: () => loadBaileys(log, config.WA_NOISE_ROOT_KEY),
    holder,
    times,
    sealer: createSealer(deps.encryptionKey),
    questions: { getMessage: getMessage(base), cachedGroupMetadata: groups.cachedGroupMetadata },
    onOpen: [learnMappings(base), trackReceipts(base), typing(base), groups.onOpen, warnOfIdlePhone(base), deps.onChannel(channel)],
    onStored: () => receiver.wake(),
    exit,
  });
  return {
    async stop() {
      stopPruning();
      await connection?.stop();
      await receiver.stop();
    },
  };
}
