import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** A folder as Fetch 0.0.94 leaves it. */

export interface OriginalSession {
  id: string;
  userId: string;
  messages: unknown[];
  [more: string]: unknown;
}

const T0 = Date.parse('2026-02-01T10:00:00Z');
/** `count` messages, by turns of the person and of the assistant. */
export const talk = (count: number, about = 'the heron'): unknown[] =>
  Array.from({ length: count }, (_, at) => ({
    id: `m${at}`,
    role: at % 2 === 0 ? 'user' : 'assistant',
    content: `${at} about ${about}`,
    timestamp: new Date(T0 + at * 60_000).toISOString(),
  }));

export const sessionOf = (id: string, userId: string, messages: unknown[], more: object = {}): OriginalSession => ({
  id,
  userId,
  metadata: {},
  messages,
  currentProject: null,
  preferences: { autonomyLevel: 'cautious', autoCommit: true, verboseMode: false, maxIterations: 25 },
  createdAt: new Date(T0).toISOString(),
  lastActivityAt: new Date(T0 + 3_600_000).toISOString(),
  ...more,
});

export function makeOriginal(content: {
  env?: string;
  files?: Record<string, string>;
  sessions?: OriginalSession[];
}): string {
  const folder = mkdtempSync(join(tmpdir(), 'fetch-original-'));
  mkdirSync(join(folder, 'data'));
  if (content.env !== undefined) writeFileSync(join(folder, '.env'), content.env);
  for (const [path, text] of Object.entries(content.files ?? {})) {
    mkdirSync(join(folder, path, '..'), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  if (content.sessions) writeSessions(join(folder, 'data/sessions.db'), content.sessions);
  return folder;
}

function writeSessions(file: string, sessions: readonly OriginalSession[]): void {
  const db = new DatabaseSync(file);
  db.exec(
    'pragma journal_mode=wal; create table sessions (id text primary key, user_id text unique, data text, created_at text, last_activity_at text)',
  );
  const insert = db.prepare('insert into sessions values (?, ?, ?, ?, ?)');
  db.exec('begin');
  for (const session of sessions)
    insert.run(
      session.id,
      session.userId,
      JSON.stringify(session),
      String(session.createdAt),
      String(session.lastActivityAt),
    );
  db.exec('commit');
  db.close();
}
