import { createSealer } from '../../../adapters/encryption.ts';
import { DAY, HOUR } from '../../../domain/time.ts';
import { readAccount, tellElsewhere } from '../../../store/whatsapp/account.ts';
import { KEPT_DAYS, pruneContent } from '../../../store/whatsapp/prune.ts';
import type { ChannelSender, Gateway } from '../channel.ts';
import { learnMappings } from './inbound/directory.ts';
import { compareGroups, followGroups } from './inbound/memberships.ts';
import { Receiver } from './inbound/receive.ts';
import { loadBaileys, tolerateStrayRejections } from './library/baileys.ts';
import { silenceConsole } from './library/silence.ts';
import { startConnection } from './link/connection.ts';
import type { CurrentLive, OnOpen, WhatsAppDeps } from './live.ts';
import { GroupCache } from './outbound/group-cache.ts';
import { typing } from './outbound/presence.ts';
import { getMessage, trackReceipts } from './outbound/receipts.ts';
import { whatsappSender } from './outbound/send.ts';

/** Connects the parts of the channel: receiving, sending, and the one connection that both use. */
export function assemble(gateway: Gateway, account: string): { stop(): Promise<void> } {
  const { db, config, log, intake, holder, exit } = gateway;
  const deps: WhatsAppDeps = { db, config, log, account };
  // before any part imports Baileys
  silenceConsole(log);
  tolerateStrayRejections(log);
  let connection: ReturnType<typeof startConnection> | null = null;
  const live: CurrentLive = () => connection?.live() ?? null;
  const receiver = new Receiver({ ...deps, intake, live, receives: () => connection?.receives() ?? false });
  const groups = new GroupCache({ ...deps, live, fetched: (all) => compareGroups({ ...deps, intake }, all) });
  const sender = whatsappSender({ ...deps, live, groupOf: groups.cachedGroupMetadata, stuck: exit });
  const stopPruning = startPruning(deps);
  connection = startConnection({
    ...deps,
    baileys: () => loadBaileys(log, config.WA_NOISE_ROOT_KEY),
    holder,
    sealer: createSealer(gateway.encryptionKey()),
    questions: { getMessage: getMessage(deps), cachedGroupMetadata: groups.cachedGroupMetadata },
    onOpen: [
      learnMappings(deps),
      trackReceipts(deps),
      typing(deps),
      groups.onOpen,
      followGroups({ ...deps, intake, groupOf: groups.cachedGroupMetadata }),
      warnOfIdlePhone(deps),
      serveWhileOpen(gateway, sender),
    ],
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

/** Polls the task queue only while there is a connection. Until then replies wait there. */
const serveWhileOpen =
  ({ serve, log }: Gateway, sender: ChannelSender): OnOpen =>
  () => {
    const serving = serve(sender);
    serving.then(
      ({ ended }) =>
        ended.catch((error: Error) => log.error({ reason: error.message }, 'the worker of the WhatsApp queue failed')),
      (error: Error) => log.error({ reason: error.message }, 'the WhatsApp queue cannot be served'),
    );
    return async () => await (await serving).drain();
  };

/** Deletes the content of old messages, now and every hour. Returns a function that stops it. */
function startPruning({ db, account, log }: WhatsAppDeps): () => void {
  const prune = () =>
    void pruneContent(db, account, new Date(Date.now() - KEPT_DAYS * DAY)).then(
      (rows) => rows > 0 && log.info({ rows }, `emptied WhatsApp messages that are older than ${KEPT_DAYS} days`),
      (error: Error) =>
        log.warn({ reason: error.message }, 'old WhatsApp messages could not be emptied; tried again in an hour'),
    );
  prune();
  const timer = setInterval(prune, HOUR);
  return () => clearInterval(timer);
}

const WARN_DAYS = 10;
const UNLINK_DAYS = 14;

/**
 * Warns, once for each period, when the phone was not used for long: WhatsApp then unlinks its devices, and cannot be
 * asked about it.
 */
function warnOfIdlePhone({ db, account, log }: WhatsAppDeps): OnOpen {
  return () => {
    const look = async (): Promise<void> => {
      const seen = (await readAccount(db, account))?.phone_seen_at;
      const days = seen ? Math.floor((Date.now() - seen.getTime()) / DAY) : 0;
      if (!seen || days < WARN_DAYS) return;
      const left = Math.max(0, UNLINK_DAYS - days);
      await tellElsewhere(db, account, `phone-${seen.getTime()}`, (say) => say('link.idle', { days, left }), true);
    };
    const check = () =>
      void look().catch((error: Error) =>
        log.warn({ reason: error.message }, 'could not look when the phone was last seen'),
      );
    check();
    const timer = setInterval(check, HOUR);
    return () => clearInterval(timer);
  };
}
