import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { LedgerEntry } from '../support/whatsapp/ledger.ts';
import type { WhatsAppApp } from '../support/whatsapp-app.ts';
import type { WhatsAppKill } from './whatsapp-tally.ts';

/**
 * Writes what a defect is found by into a folder: the logs of all roles, and every stanza and kill in one list, a line
 * each, by time.
 */
export function keep({ app, fixture }: WhatsAppApp, kills: readonly WhatsAppKill[], folder: string): void {
  mkdirSync(folder, { recursive: true });
  cpSync(join(app.home, 'logs'), join(folder, 'logs'), { recursive: true });
  const lines = [
    ...fixture.ledger.entries.map((entry) => ({ at: entry.at, text: told(entry) })),
    ...kills.map(({ at, victim, point }) => ({ at, text: `KILL ${victim}: ${point}` })),
  ];
  const byTime = lines.sort((a, b) => a.at - b.at).map(({ at, text }) => `${at} ${text}`);
  writeFileSync(join(folder, 'ledger.txt'), `${byTime.join('\n')}\n`);
}

function told(entry: LedgerEntry): string {
  switch (entry.kind) {
    case 'login':
      return `LOGIN of device ${entry.device}: ${entry.outcome} ${entry.reason ?? ''}`;
    case 'problem':
      return `PROBLEM ${entry.what}`;
    case 'message': {
      const copies = entry.decrypted.map(
        ({ to, type, text, error }) =>
          `${to} ${type} ${error ? `FAILED: ${error}` : JSON.stringify(text?.slice(0, 40))}`,
      );
      return `out ${entry.id} to ${entry.to}, ack ${entry.ack}: ${copies.join(' | ')}`;
    }
    default: {
      const { tag, attrs, content } = entry.stanza;
      const children = Array.isArray(content)
        ? content.map((child) => [child.tag, child.attrs.type, child.attrs.count].filter(Boolean).join(' '))
        : [];
      return `${entry.kind}${'offline' in entry && entry.offline ? ' (offline)' : ''} ${tag} ${JSON.stringify(attrs)} ${children.join(', ')}`;
    }
  }
}
