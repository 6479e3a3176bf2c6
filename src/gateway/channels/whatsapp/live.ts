import type { WASocket } from '@whiskeysockets/baileys';
import type { Logger } from 'pino';
import type { Config } from '../../../config.ts';
import type { Db } from '../../../store/postgres/database.ts';

/** An open connection. Everything that needs the socket gets this, while it is open. */
export interface Live {
  readonly sock: WASocket;
  readonly account: string;
  /** own identity, without device suffix */
  readonly me: { jid: string; lid: string | null };
  readonly number: 'shared' | 'dedicated';
  /** aborted when the connection closes */
  readonly closed: AbortSignal;
}

/** Called when a connection opens; the function that it returns is called when it closes. */
export type OnOpen = (live: Live) => void | (() => void | Promise<void>);

export interface WhatsAppDeps {
  db: Db;
  config: Config;
  log: Logger;
  account: string;
}

/** The open connection, or null while there is none. */
export type CurrentLive = () => Live | null;
