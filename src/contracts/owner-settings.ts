import type { OwnerChat } from './owner-parts.ts';
import type { WhatsAppReport } from './whatsapp.ts';

/** Settings, people, WhatsApp and the state of the instance, as the owner's page shows them. */

/** `GET /v1/owner/settings` */
export interface OwnerSettings {
  /** in the order of the docs */
  settings: SettingView[];
  /** settings that were changed and have another value after a restart */
  restart: string[];
  /** `POST /v1/owner/restart` starts the roles again; false where nothing supervises them */
  restartable: boolean;
  /** the file that `PATCH` writes */
  file: string;
  /** what is wrong in the file, so that no change of it takes effect */
  problem: string | null;
}

export interface SettingView {
  name: string;
  /** subject of the setting, such as `model` */
  group: string;
  description: string;
  /** as the next start has it; null: it has none. A secret is `********`. */
  value: string | null;
  default: string | null;
  source: 'flag' | 'environment' | 'file' | 'default';
  secret: boolean;
  /** a change holds within a second; else after a restart */
  live: boolean;
  /** a restart of the roles is not enough: Fetch is stopped and started on its machine */
  needs_stop: boolean;
  /** what it may be, where that is a list */
  choices: string[] | null;
  /** flag or environment win over the file, so it cannot be changed here */
  fixed: boolean;
}

/**
 * `PATCH /v1/owner/settings` with `{ settings: { NAME: "value" | null } }`; null or an empty text gives back the
 * default. All or nothing: 400 names each mistake.
 */
export interface SettingsChanged {
  /** hold now */
  updated: string[];
  /** hold after a restart */
  restart: string[];
  settings: SettingView[];
}

/**
 * `POST /v1/owner/settings/model/check` with `{ api_key?, base_url?, model? }`: one real call. What is left out is as
 * now.
 */
export interface ModelCheck {
  ok: boolean;
  base_url: string;
  model: string | null;
  /** what it costs, in words */
  price: string | null;
  /** what its refusals and its list of models have shown of the model, in words */
  learned: string | null;
  /** models that the endpoint offers, as far as it says so; at most 200 */
  models: string[];
  took_ms: number;
  /** what is wrong and what to do */
  problem: string | null;
}

/**
 * `GET /v1/owner/chats`: the latest active first, at most 200. Change one: `PATCH /v1/owner/chats/{thread_id}` with `{
 * autonomy }`.
 */
export interface OwnerChats {
  chats: ChatTrust[];
}

export interface ChatTrust {
  chat: OwnerChat;
  autonomy: 'supervised' | 'cautious' | 'judged' | 'autonomous';
  /** somebody said `yes all` */
  auto_approve: boolean;
  /**
   * what is allowed for good: sinks (`yes always for …`), and kinds of actions in a project; `POST /v1/owner/chats/{thread_id}/ask-again` takes them back
   */
  grants: string[];
  last_active_at: string;
}

/** `GET /v1/owner/people`. Add: `POST` with `{ phone }`; remove: `DELETE /v1/owner/people/{phone}` (digits). */
export interface OwnerPeople {
  owner: string | null;
  /** what the owner is called */
  owner_name: string | null;
  trusted: Array<{
    phone: string;
    /** `+49170…` where no name is known */
    name: string;
    /** in TRUSTED_PHONE_NUMBERS, so it is removed there */
    by_setting: boolean;
    shares: string[];
  }>;
  /**
   * groups that the account is in; `POST /v1/owner/groups` with `{ group, answered }` asks in the terminal's chat whether
   * one is answered
   */
  groups: Array<{
    name: string;
    channel: string;
    members: number | null;
    thread_id: string | null;
    answered: boolean;
  }>;
}

/** `GET /v1/owner/telegram`. `POST …/pair` makes the link that opens the owner's chat there. */
export interface OwnerTelegram {
  /** a token is set */
  token: boolean;
  /** null: no bot has been reached yet */
  bot: { username: string; problem: string | null } | null;
  people: Array<{ name: string; role: 'owner' | 'trusted' }>;
}

/**
 * `GET /v1/owner/whatsapp`. `POST …/pair` with `{ phone?, number? }` (as `/api/whatsapp/start`), `POST …/unlink` and
 * `POST …/stop` without a body.
 */
export interface OwnerWhatsApp extends WhatsAppReport {
  /** picture of the QR, for `<img src>`; null when there is none */
  qr_image: string | null;
}

/** What was asked for is under way; `GET` shows how it goes. */
export interface OwnerDone {
  message: string;
}

/** `GET /v1/owner/agents` */
export interface OwnerAgents {
  hosts: Array<{
    host: string;
    ready: boolean;
    problem: string | null;
    slots: number;
    /** its worker was there in the last seconds */
    alive: boolean;
    seen_at: string;
    agents: Array<{ name: string; label: string; ready: boolean; why: string | null }>;
  }>;
}

/** `GET /v1/owner/backups` */
export interface OwnerBackups {
  /** null: no nightly backup is wanted */
  folder: string | null;
  /** the nightly backup is on */
  nightly: boolean;
  /** the latest first */
  backups: Array<{ name: string; at: string; bytes: number }>;
  /** what is wrong with them */
  problem: string | null;
}

/**
 * `GET /v1/owner/logs?after=&role=&limit=`: the end of the logs (`limit` lines: 200, at most 1,000), or what follows
 * `after`, as much of it as fits.
 */
export interface OwnerLogs {
  /** by time */
  lines: Array<{ at: string; role: string; level: string; text: string }>;
  /** value of `after` for what follows */
  next: string;
  roles: string[];
}

/** `GET /v1/owner/doctor`: takes some seconds, because everything is tried. */
export interface OwnerDoctor {
  ok: boolean;
  findings: Array<{
    name: string;
    state: 'ok' | 'warning' | 'missing';
    version: string | null;
    detail: string /** what to do */;
    mend: string | null;
  }>;
}

/** `GET /v1/owner/temporal?workflow=` */
export interface OwnerTemporal {
  /** opens the Web UI, and lets the browser in; null: see `why` */
  url: string | null;
  why: string | null;
}

/**
 * `POST /v1/threads/{id}/attachments?name=`: the file itself is the body, with its content type. Its id goes into
 * `attachment_ids` of `POST …/messages`, whose text may be empty then.
 */
export interface Uploaded {
  id: string;
  kind: 'image' | 'document' | 'audio' | 'video';
  mime: string;
  name: string | null;
  size: number;
}
