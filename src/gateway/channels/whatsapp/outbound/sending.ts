import type { GroupMetadata } from '@whiskeysockets/baileys';
import { DAY } from '../../../../domain/time.ts';
import { tellElsewhere } from '../../../../store/whatsapp/account.ts';
import { giveUp, sentSince } from '../../../../store/whatsapp/sends.ts';
import { createPacer, type Pacer } from '../../shared/pacing.ts';
import type { CurrentLive, WhatsAppDeps } from '../live.ts';

export interface SenderDeps extends WhatsAppDeps {
  live: CurrentLive;
  /** the members of a group, as WhatsApp last said */
  groupOf?: (jid: string) => Promise<GroupMetadata | undefined>;
  /** called when the socket is open but the server no longer answers sends; only a new process helps */
  stuck?: (why: string) => void;
  /** how long the server may take to answer a send */
  deadlineMs?: number;
  /** how long a send waits for a connection before it returns to the task queue */
  patienceMs?: number;
  pacer?: Pacer;
}

/** State that the sends of an account share. */
export interface Sending {
  readonly deps: SenderDeps;
  readonly pacer: Pacer;
  /** sends in a row without an answer from the server */
  unanswered: number;
  /** groups whose latest message arrived with its keys */
  readonly keyed: Set<string>;
}

export function createSending(deps: SenderDeps): Sending {
  const { db, account, config } = deps;
  const { WHATSAPP_PACE_MS: paceMs, WHATSAPP_PER_MINUTE: perMinute, WHATSAPP_PER_DAY: perDay } = config;
  const dayFull = () => {
    const day = Math.floor(Date.now() / DAY);
    void tell(deps, `day-${day}`, `${perDay} WhatsApp messages were sent in a day (WHATSAPP_PER_DAY). More wait.`);
  };
  const load = (since: Date) => sentSince(db, account, since);
  const pacer = deps.pacer ?? createPacer({ paceMs, perMinute, perDay }, load, { onDayFull: dayFull });
  return { deps, pacer, unanswered: 0, keyed: new Set() };
}

/** Tells the other channels something about sending, once for each `key`. */
export async function tell(
  { db, account, log }: WhatsAppDeps,
  key: string,
  text: string,
  needsPerson = false,
): Promise<void> {
  log.warn({ key }, text);
  await tellElsewhere(db, account, `send-${key}`, text, needsPerson).catch((error) =>
    log.error({ err: error }, 'a problem of WhatsApp could not be told'),
  );
}

/** Gives an outbox row up. */
export async function abandon(deps: WhatsAppDeps, outboxId: string, why: string, telling = true): Promise<void> {
  await giveUp(deps.db, outboxId, why);
  if (telling) await tell(deps, `failed-${outboxId}`, `A WhatsApp message was given up: ${why}`);
}
