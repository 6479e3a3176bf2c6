import type { Channel } from '../../contracts/ids.ts';
import type { MergeRule, ShipmentInput } from '../../contracts/shipment.ts';
import { DAY, HOUR, MINUTE } from '../time.ts';

/** The start input of a shipment, from its row and the settings. */

interface Row {
  id: string;
  chat_id: string;
  host: string;
  workspace: string;
  rule: MergeRule;
  head: string | null;
  settled_pass: number;
  created_at: Date;
}

interface Settings {
  FETCH_SHIP_PASSES: number;
  FETCH_SHIP_USD: number;
  FETCH_SHIP_LOOK_SECONDS: number;
  FETCH_SHIP_DAYS: number;
  FETCH_KENNEL_AWAY_SECONDS: number;
  FETCH_MAX_HISTORY_EVENTS: number;
  FETCH_QUESTION_REMIND_HOURS: number;
  FETCH_QUESTION_EXPIRE_HOURS: number;
}

/** A server allows 5,000 requests an hour, and a look at something that has not changed costs none of them. */
const LONGEST_LOOK = 30;

export function shipmentInputOf(
  row: Row,
  { channel, settings, passes }: { channel: Channel; settings: Settings; passes: number },
): ShipmentInput {
  const maxMicroUsd = Math.round(settings.FETCH_SHIP_USD * 1_000_000);
  const lookMs = Math.round(settings.FETCH_SHIP_LOOK_SECONDS * 1000);
  const at = row.created_at.getTime();
  return {
    shipmentId: row.id,
    chatId: row.chat_id,
    channel,
    host: row.host,
    workspace: row.workspace,
    rule: row.rule,
    limits: {
      maxPasses: settings.FETCH_SHIP_PASSES,
      maxMicroUsd,
      lookMs,
      longestLookMs: Math.max(lookMs, Math.min(lookMs * LONGEST_LOOK, 30 * MINUTE)),
      watchMs: Math.round(settings.FETCH_SHIP_DAYS * DAY),
      awayMs: Math.round(settings.FETCH_KENNEL_AWAY_SECONDS * 1000),
      maxHistoryEvents: settings.FETCH_MAX_HISTORY_EVENTS,
    },
    waits: {
      remindAfterMs: Math.round(settings.FETCH_QUESTION_REMIND_HOURS * HOUR),
      expireAfterMs: Math.round(settings.FETCH_QUESTION_EXPIRE_HOURS * HOUR),
    },
    // its workflow was lost: what the records know is taken up again
    ...(row.head !== null && {
      carried: {
        begunAt: at,
        question: null,
        ...(passes > row.settled_pass && { pass: passes }),
        memory: {
          head: row.head,
          before: null,
          pushedAt: at,
          passes,
          allowedPasses: Math.max(passes, settings.FETCH_SHIP_PASSES),
          allowedMicroUsd: maxMicroUsd,
          spentMicroUsd: 0,
          toPush: null,
          pushTries: 0,
          tries: {},
          told: ['opened'],
          refusedHead: null,
          outside: false,
          changedAt: at,
          seen: '',
          blindSince: null,
        },
      },
    }),
  };
}
