import type { Told } from '../texts/say.ts';
import { MINUTE } from '../time.ts';

/**
 * The reaction of the gateway when WhatsApp has closed a connection. `untilMs` counts from now: no attempt before then.
 */
type Reaction =
  | {
      kind: 'reconnect';
      immediately: boolean;
      minimumMs: number /** the longest wait, where it is not the usual one */;
      mostMs?: number;
    }
  | {
      kind: 'stop';
      state: 'disconnected' | 'error';
      needs: 'pairing' | 'person' | 'lease' | 'upgrade';
      untilMs?: number;
    };

/**
 * @param code `output.statusCode` of the close; undefined when the error is on our own side
 * @param consecutive closes in a row without a working connection in between, with this one: 1 for the first
 * @param versionTried a newer version of WhatsApp Web was already fetched and refused
 * @param expiresInMs how long WhatsApp says a temporary ban lasts
 * @param unreached the system's error code when there was no connection at all
 * @param foreign why the server that answered is not WhatsApp
 * @param unscanned every code of this pairing was shown and ran out
 */
export interface Close {
  code: number | undefined;
  paired: boolean;
  consecutive: number;
  versionTried: boolean;
  expiresInMs?: number;
  unreached?: string;
  foreign?: string;
  unscanned?: boolean;
}

const RARE_TRIES = 5;
const BAD_SESSION_ALERT = 5;
const QUICK_RESTARTS = 3;
const UNAVAILABLE_MS = 30_000;
const BAN_MARGIN_MS = 10 * MINUTE;
const UNREACHED_MS = 15_000;

const unreachedWords = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'noName',
  EAI_AGAIN: 'noLookup',
  ETIMEDOUT: 'silent',
  ENETUNREACH: 'noNetwork',
  EHOSTUNREACH: 'noWay',
  ECONNRESET: 'cut',
} as const;

const unreachedBecause =
  (code: string): Told =>
  (say) =>
    Object.hasOwn(unreachedWords, code)
      ? say(`because.${unreachedWords[code as keyof typeof unreachedWords]}`)
      : say('because.system', { code });

const again = (say: Told, minimumMs = 0, mostMs?: number): Reaction & { say: Told } => ({
  kind: 'reconnect',
  immediately: false,
  minimumMs,
  ...(mostMs && { mostMs }),
  say,
});
const stop = (
  state: 'disconnected' | 'error',
  needs: 'pairing' | 'person' | 'lease' | 'upgrade',
  say: Told,
): Reaction & { say: Told } => ({
  kind: 'stop',
  state,
  needs,
  say,
});

/** The reaction to each disconnect code, and one sentence for a person: what happened and what to do. */
export function reactionTo(close: Close): Reaction & { say: Told } {
  const { code = 0, consecutive: count, foreign } = close;
  const because = unreachedBecause(close.unreached ?? '');
  // when the network is back, somebody must try soon; a refused attempt costs nothing
  if (close.unreached) return again((say) => say('link.unreached', { because: because(say) }), 0, UNREACHED_MS);
  if (foreign !== undefined) return again((say) => say('link.foreign', { what: foreign }));
  switch (code) {
    case 515: {
      // every pairing has one restart; a server that keeps asking must not get a tight loop
      const immediately = close.consecutive <= QUICK_RESTARTS;
      return {
        kind: 'reconnect',
        immediately,
        minimumMs: 0,
        say: (say) => say('link.restart'),
      };
    }
    case 408:
      return close.paired
        ? again((say) => say('link.silent'))
        : stop('disconnected', 'pairing', (say) => say(close.unscanned ? 'link.unscanned' : 'link.noAnswer'));
    case 428:
      return again((say) => say('link.closed'));
    case 503:
      return again((say) => say('link.unavailable'), UNAVAILABLE_MS);
    case 500:
      return again((say) => (count >= BAD_SESSION_ALERT ? say('link.badSessions', { count }) : say('link.badSession')));
    case 440:
      return stop('disconnected', 'lease', (say) => say('link.elsewhere'));
    case 401:
      if (!close.paired) return stop('disconnected', 'pairing', (say) => say('link.notLinked'));
      return stop('disconnected', 'pairing', (say) => say('link.unlinked'));
    case 402:
      return banned(close.expiresInMs);
    case 403:
      return stop('error', 'person', (say) => say('link.locked'));
    case 405:
      return close.versionTried
        ? stop('error', 'upgrade', (say) => say('link.outdated'))
        : {
            kind: 'reconnect',
            immediately: true,
            minimumMs: 0,
            say: (say) => say('link.newest'),
          };
    case 406:
    case 409:
    case 411:
      return stop('error', 'person', (say) => say('link.login', { code }));
    case 400:
    case 413:
    case 414:
    case 415:
    case 418:
    case 501:
      return close.consecutive > RARE_TRIES
        ? stop('error', 'person', (say) => say('link.refusals', { count, code }))
        : again((say) => say('link.refused', { code }));
    default:
      return again((say) => say('link.failed'));
  }
}

function banned(expiresInMs: number | undefined): Reaction & { say: Told } {
  if (expiresInMs === undefined || !(expiresInMs > 0)) {
    return stop('error', 'person', (say) => say('link.banned'));
  }
  const minutes = Math.ceil((expiresInMs + BAN_MARGIN_MS) / MINUTE);
  return {
    kind: 'stop',
    state: 'error',
    needs: 'person',
    say: (say) =>
      minutes < 120
        ? say('link.bannedMinutes', { count: minutes })
        : say('link.bannedHours', { count: Math.ceil(minutes / 60) }),
    untilMs: expiresInMs + BAN_MARGIN_MS,
  };
}

const BASE_MS = 2_000;
const CAP_MS = 5 * MINUTE;

/**
 * The wait before attempt number `attempt` (1 for the first): full jitter between the minimum and an exponentially
 * growing bound, so that many clients do not come back to one server at once.
 * @param random uniform in [0, 1)
 */
export function backoffMs(attempt: number, random: () => number, minimumMs = 0, mostMs = CAP_MS): number {
  const bound = Math.min(mostMs, minimumMs + BASE_MS * 2 ** (Math.max(1, attempt) - 1));
  return minimumMs + Math.floor(random() * Math.max(0, bound - minimumMs));
}
