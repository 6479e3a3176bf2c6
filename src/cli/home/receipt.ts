import { createPublicKey } from 'node:crypto';
import type { Config } from '../../config.ts';
import { UserError } from '../../contracts/user-error.ts';
import { findReceipt, issueReceipts, type Receipt } from '../../store/home/receipts.ts';
import { fingerprintOf, receiptKey } from '../instance/home/receipt-key.ts';
import { withStore } from '../instance/servers/with-store.ts';

/** `fetch receipt ID`: what a turn or task did, signed. */
export const show = (config: Config, id: string, { json }: { json?: boolean }): Promise<void> =>
  withStore(config, 'fetch-receipt', async ({ db }) => {
    const key = receiptKey(config.FETCH_HOME);
    // what has ended a moment ago
    while ((await issueReceipts(db, key)) > 0);
    const receipt = await findReceipt(db, id);
    if (!receipt)
      throw new UserError(
        `There is no receipt of ${id}. A turn or task gets one when it ends, and loses it when its chat is erased.`,
      );
    const own = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
    process.stdout.write(json ? `${JSON.stringify(receipt, null, 2)}\n` : `${textOf(receipt, own)}\n`);
  });

interface Shown {
  kind: string;
  id: string;
  status: string;
  created_at: string | null;
  ended_at: string | null;
  calls?: Array<{ name: string; outcome: string }>;
  approvals: Array<{
    shown: string;
    decision: string | null;
    decided_at: string | null;
    decided_by: { role: string } | null;
  }>;
  commit?: string | null;
  checks?: Array<{ command: string; passed: boolean; last_line: string }>;
  verdict?: { level: string; reasons: string[] } | null;
}

/** For people: the main facts, a line each. `own`: the public key of this home. */
function textOf({ number, body, key }: Receipt, own: string): string {
  const { kind, id, status, created_at, ended_at, ...facts } = body as unknown as Shown;
  const lines = [
    `Receipt ${number}: ${kind} ${id}, ${status}, ${created_at} to ${ended_at}`,
    ...(facts.calls ?? []).map(({ name, outcome }) => `  call: ${name}, ${outcome}`),
    ...facts.approvals.map(
      ({ shown, decision, decided_at, decided_by }) =>
        `  approval: ${JSON.stringify(shown.split('\n')[0])}, ${decision ?? 'no decision'}${decided_by ? ` by ${decided_by.role}` : ''}${decided_at ? ` at ${decided_at}` : ''}`,
    ),
    ...(facts.commit ? [`  commit: ${facts.commit}`] : []),
    ...(facts.checks ?? []).map(
      ({ command, passed, last_line }) => `  check: ${command} ${passed ? 'passed' : 'failed'}: ${last_line}`,
    ),
    ...(facts.verdict ? [`  verdict: ${[facts.verdict.level, ...facts.verdict.reasons].join('. ')}`] : []),
    `Signed by ${key === own ? 'this home' : 'another home'}: ${fingerprintOf(key)}`,
    'To check it anywhere: fetch receipt ID --json > receipt.json, then node bin/verify-receipt.js receipt.json',
  ];
  return lines.join('\n');
}
