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

const unreachedWords: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'its name is not known, which usually means that there is no network',
  EAI_AGAIN: 'its name cannot be looked up, which usually means that there is no network',
  ETIMEDOUT: 'there was no answer',
  ENETUNREACH: 'there is no network',
  EHOSTUNREACH: 'there is no way to it',
  ECONNRESET: 'the connection was cut',
};

const unreachedBecause = (code: string): string => unreachedWords[code] ?? `the system says ${code}`;

const again = (say: string, minimumMs = 0, mostMs?: number): Reaction & { say: string } => ({
  kind: 'reconnect',
  immediately: false,
  minimumMs,
  ...(mostMs && { mostMs }),
  say,
});
const stop = (
  state: 'disconnected' | 'error',
  needs: 'pairing' | 'person' | 'lease' | 'upgrade',
  say: string,
): Reaction & { say: string } => ({
  kind: 'stop',
  state,
  needs,
  say,
});

/** The reaction to each disconnect code, and one sentence for a person: what happened and what to do. */
export function reactionTo(close: Close): Reaction & { say: string } {
  // when the network is back, somebody must try soon; a refused attempt costs nothing
  if (close.unreached)
    return again(
      `WhatsApp cannot be reached from this machine: ${unreachedBecause(close.unreached)}. Trying again by itself.`,
      0,
      UNREACHED_MS,
    );
  if (close.foreign)
    return again(
      `${close.foreign} Nothing was sent to it. Is there a proxy or a captive portal? Trying again by itself.`,
    );
  switch (close.code) {
    case 515: {
      // every pairing has one restart; a server that keeps asking must not get a tight loop
      const immediately = close.consecutive <= QUICK_RESTARTS;
      return {
        kind: 'reconnect',
        immediately,
        minimumMs: 0,
        say: 'WhatsApp asked for a restart of the connection, which is under way; nothing to do.',
      };
    }
    case 408:
      return close.paired
        ? again('The connection to WhatsApp went silent; reconnecting by itself.')
        : stop(
            'disconnected',
            'pairing',
            close.unscanned
              ? 'The code was not scanned (or typed) in time. Ask for a new one on my page, under Settings, WhatsApp.'
              : 'WhatsApp did not answer in time: a firewall or a proxy may hold the connection back, or the network is slow. Nothing was linked: try again on my page, under Settings, WhatsApp.',
          );
    case 428:
      return again('The connection to WhatsApp was closed; reconnecting by itself.');
    case 503:
      return again('WhatsApp is unavailable at the moment; trying again by itself, slowly.', UNAVAILABLE_MS);
    case 500:
      return again(
        close.consecutive >= BAD_SESSION_ALERT
          ? `WhatsApp has refused this session ${close.consecutive} times in a row; trying on by itself, but if it stays so, remove the linked device on the phone, and link it again on my page, under Settings, WhatsApp.`
          : 'WhatsApp ended the session with an error; reconnecting by itself.',
      );
    case 440:
      return stop(
        'disconnected',
        'lease',
        'The same linked device connected from somewhere else; stop the other Fetch, and this one goes on as soon as it holds the account again.',
      );
    case 401:
      if (!close.paired)
        return stop(
          'disconnected',
          'pairing',
          'WhatsApp refused to link this device (401). Wait some minutes, then try again on my page, under Settings, WhatsApp.',
        );
      return stop(
        'disconnected',
        'pairing',
        'WhatsApp has unlinked this device (removed on the phone, or the phone unused for 14 days); link it again on my page, under Settings, WhatsApp.',
      );
    case 402:
      return banned(close.expiresInMs);
    case 403:
      return stop(
        'error',
        'person',
        'WhatsApp has locked the account or logged out its phone; open WhatsApp on the phone and follow what it says, then restart the channel.',
      );
    case 405:
      return close.versionTried
        ? stop(
            'error',
            'upgrade',
            'WhatsApp no longer accepts this version of the client; upgrade Fetch or set a newer WhatsApp version in the configuration (no new pairing is needed).',
          )
        : {
            kind: 'reconnect',
            immediately: true,
            minimumMs: 0,
            say: 'WhatsApp refused the version of the client; trying once with the newest version.',
          };
    case 406:
    case 409:
    case 411:
      return stop(
        'error',
        'person',
        `WhatsApp refused the login (code ${close.code}); look at WhatsApp on the phone and restart the channel when it works there.`,
      );
    case 400:
    case 413:
    case 414:
    case 415:
    case 418:
    case 501:
      return close.consecutive > RARE_TRIES
        ? stop(
            'error',
            'person',
            `WhatsApp refused the connection ${close.consecutive} times (code ${close.code}); look at WhatsApp on the phone and restart the channel when it works there.`,
          )
        : again(`WhatsApp refused the connection (code ${close.code}); trying again by itself.`);
    default:
      return again('The connection to WhatsApp failed; reconnecting by itself.');
  }
}

function banned(expiresInMs: number | undefined): Reaction & { say: string } {
  if (expiresInMs === undefined || !(expiresInMs > 0)) {
    return stop(
      'error',
      'person',
      'WhatsApp has banned the account for a while without saying for how long; look at WhatsApp on the phone and restart the channel when it works there.',
    );
  }
  const minutes = Math.ceil((expiresInMs + BAN_MARGIN_MS) / MINUTE);
  const wait = minutes < 120 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
  return {
    kind: 'stop',
    state: 'error',
    needs: 'person',
    say: `WhatsApp has banned the account for a while; nothing is sent for ${wait}, and WhatsApp on the phone says why.`,
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
