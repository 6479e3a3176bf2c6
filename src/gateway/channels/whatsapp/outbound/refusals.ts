import { HOUR, MINUTE } from '../../../../domain/time.ts';

/** How long nothing is sent to a chat whose recipient was refused, at most. */
const CHAT_PAUSE_MS = HOUR;
/** When this many chats refuse within that time, the account is the problem and not one person. */
export const REFUSED_CHATS = 3;

/** How soon a message that waits notices that its chat goes on. */
export const CHECK_MS = 5_000;

/** The reaction to a refused message. `say` is one sentence for people. */
type Refusal =
  /** the recipient's device list is outdated: fetch it and send the same message again */
  | { kind: 'devices' }
  /** the same message later; before it, nothing else with `pauseMs`, and nothing else to this chat with `chatPauseMs` */
  | { kind: 'later'; afterMs: number; pauseMs?: number; chatPauseMs?: number; say: string }
  /** this message will not be sent; with `chatPauseMs`, nothing else to this chat for so long */
  | { kind: 'failed'; chatPauseMs?: number; say: string };

/**
 * The reaction to the `error` of a message's ack, at this attempt (1 is the first). Repeating a 463 counts as another
 * attempt to contact a stranger.
 */
export function refusalOf(code: string, attempt: number): Refusal {
  switch (code) {
    case '463':
      return {
        kind: 'failed',
        chatPauseMs: CHAT_PAUSE_MS,
        say: 'WhatsApp refused a message (463): it restricts this account from writing to somebody it does not know well. Messages to this chat wait for an hour; look into WhatsApp on the phone.',
      };
    case '402':
    case '403':
    case '406':
      return {
        kind: 'later',
        afterMs: CHECK_MS,
        // a chat may refuse for a moment, or until somebody changes it; what concerns the account ends the connection
        chatPauseMs: Math.min(CHAT_PAUSE_MS, MINUTE * 4 ** (attempt - 1)),
        say: `WhatsApp refused a message (${code}): this account may not write there at the moment. Messages to this chat wait and are tried again; other chats go on.`,
      };
    case '429':
      return {
        kind: 'later',
        afterMs: 5 * MINUTE,
        pauseMs: 5 * MINUTE,
        say: 'WhatsApp asks to slow down (429). Messages wait for five minutes.',
      };
    case '479':
      return attempt < 3
        ? { kind: 'devices' }
        : { kind: 'failed', say: 'WhatsApp refused a message as malformed (479), also with a fresh list of devices.' };
    default:
      return attempt < 4
        ? { kind: 'later', afterMs: 5_000 * attempt, say: `WhatsApp refused a message (${code}).` }
        : { kind: 'failed', say: `WhatsApp refused a message ${attempt} times (${code}).` };
  }
}
