/** Notices on phones, as the owner's page sets them up. */

/**
 * What a notice may be about. `questions` and `approvals` wait for the owner; `results` are those of coding tasks and
 * schedules.
 */
export const NOTICE_KINDS = ['questions', 'approvals', 'failures', 'results'] as const;
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** `GET /v1/owner/push?endpoint=` */
export interface OwnerPush {
  /** public key that a browser subscribes with, base64url */
  public_key: string;
  /** of the browser with this endpoint; null: it gets none */
  device: PushDevice | null;
  /** null: FETCH_NTFY_URL is not set */
  ntfy: PushDevice | null;
}

/** `POST /v1/owner/push` with one, and what the browser gave as `endpoint` and `keys`; `DELETE` ends it. */
export interface PushDevice {
  kinds: NoticeKind[];
  /** `22:00-07:00` by the clock of `time_zone`; null: none */
  quiet: string | null;
  time_zone: string;
  /** why the last notice was not taken */
  problem: string | null;
}

/** What a service worker is sent. `close`: the notices with these tags are over. */
export type PushMessage = { title: string; body: string; tag: string; url: string } | { close: string };
