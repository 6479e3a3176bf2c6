import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { type Selectable, sql } from 'kysely';
import { storableJson } from '../../domain/text/storable.ts';
import type { Db, Tx } from '../postgres/database.ts';
import type { ReceiptTable } from '../schema/tables/home.ts';
import { taskBodies, turnBodies } from './receipt-bodies.ts';

/**
 * Receipts of turns and tasks that have ended: what was called, allowed, reached, spent and shown. Each has the hash of
 * the one before it, and a signature of the home. `bin/verify-receipt.js` checks them without anything of this program.
 */

/** As it is handed out. The text is `JSON.stringify` of it; of any other text the verifier says that it was changed. */
export interface Receipt {
  format: 'fetch-receipt-1';
  number: number;
  /** hash of the receipt before it; empty in the first one */
  previous: string;
  body: Record<string, unknown>;
  /** SHA-256 of the body's JSON, as all hashes in hex */
  digest: string;
  /** SHA-256 of number, previous hash and digest, one a line */
  hash: string;
  /** Ed25519 of format, key and hash, one a line; base64 */
  signature: string;
  /** public key of the home: SPKI, base64 */
  key: string;
}

const FORMAT = 'fetch-receipt-1';
const AT_ONCE = 50;
/** Of our advisory locks, the one of this chain. */
const LOCK = 7162389042;
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hashOf = (number: number, previous: string, digest: string) => sha256(`${number}\n${previous}\n${digest}`);
const signedOf = (key: string, hash: string) => Buffer.from(`${FORMAT}\n${key}\n${hash}`);

interface Due {
  kind: 'turn' | 'task';
  id: string;
  ended_at: Date;
}

/**
 * Issues the receipts of what has ended since the last call, the earliest first, at most 50. Returns how many. What had
 * ended an hour before the first receipt gets none.
 */
export async function issueReceipts(db: Db, key: KeyObject): Promise<number> {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' }).toString('base64');
  return await db.transaction().execute(async (tx) => {
    await sql`select pg_advisory_xact_lock(${LOCK})`.execute(tx);
    const due = await dueReceipts(tx);
    if (due.length === 0) return 0;
    const idsOf = (kind: Due['kind']) => due.flatMap((each) => (each.kind === kind ? [each.id] : []));
    const [turns, tasks] = await Promise.all([turnBodies(tx, idsOf('turn')), taskBodies(tx, idsOf('task'))]);
    let last = await tx
      .selectFrom('receipts')
      .select(['number', 'hash'])
      .orderBy('number', 'desc')
      .limit(1)
      .executeTakeFirst();
    const rows: Selectable<ReceiptTable>[] = [];
    for (const { kind, id, ended_at } of due) {
      const body = storableJson((kind === 'turn' ? turns : tasks).get(id));
      const digest = sha256(body);
      const [number, previous]: [number, string] = [(last?.number ?? 0) + 1, last?.hash ?? ''];
      const hash = hashOf(number, previous, digest);
      const signature = sign(null, signedOf(publicKey, hash), key).toString('base64');
      rows.push({
        number,
        subject: `${kind}/${id}`,
        body,
        digest,
        previous,
        hash,
        signature,
        key: publicKey,
        ended_at,
      });
      last = { number, hash };
    }
    await tx.insertInto('receipts').values(rows).execute();
    return rows.length;
  });
}

async function dueReceipts(tx: Tx): Promise<Due[]> {
  const { rows } = await sql<Due>`
    with since as (select coalesce(max(ended_at), now()) - interval '1 hour' as at from receipts)
    (select 'turn' as kind, id, ended_at from turns where ended_at > (select at from since)
      and not exists (select from receipts where subject = 'turn/' || turns.id) order by ended_at limit ${AT_ONCE})
    union all
    (select 'task', id, ended_at from tasks where ended_at > (select at from since)
      and not exists (select from receipts where subject = 'task/' || tasks.id) order by ended_at limit ${AT_ONCE})
    order by ended_at limit ${AT_ONCE}`.execute(tx);
  return rows;
}

/** The receipt of a turn or task by its id, or the one with a number; null when there is none, or its chat was erased. */
export async function findReceipt(db: Db, named: string): Promise<Receipt | null> {
  const row = await db
    .selectFrom('receipts')
    .selectAll()
    .where((e) =>
      /^\d{1,15}$/.test(named)
        ? e('number', '=', Number(named))
        : e('subject', 'in', [`turn/${named}`, `task/${named}`]),
    )
    .executeTakeFirst();
  if (!row?.body) return null;
  const { number, previous, body, digest, hash, signature, key } = row;
  return { format: FORMAT, number, previous, body: JSON.parse(body), digest, hash, signature, key };
}

const PAGE = 500;

/**
 * Checks every receipt. What is wrong is told in sentences, one for each changed receipt and each gap; one whose chat
 * was erased is checked by its hash.
 */
export async function verifyReceipts(db: Db): Promise<{ receipts: number; findings: string[] }> {
  const findings: string[] = [];
  let [last, receipts, before]: [number, number, string] = [0, 0, ''];
  const pageAfter = (number: number) =>
    db.selectFrom('receipts').selectAll().where('number', '>', number).orderBy('number').limit(PAGE).execute();
  for (let page = await pageAfter(last); page.length > 0; page = await pageAfter(last)) {
    for (const row of page) {
      const isNext = row.number === last + 1;
      if (!isNext) findings.push(`Receipts ${last + 1} to ${row.number - 1} are missing.`);
      if (!isWhole(row) || (isNext && row.previous !== before)) findings.push(`Receipt ${row.number} was changed.`);
      [last, receipts, before] = [row.number, receipts + 1, row.hash];
    }
  }
  return { receipts, findings };
}

function isWhole({ number, previous, body, digest, hash, signature, key }: Selectable<ReceiptTable>): boolean {
  if ((body !== null && sha256(body) !== digest) || hashOf(number, previous, digest) !== hash) return false;
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), type: 'spki', format: 'der' });
    return verify(null, signedOf(key, hash), publicKey, Buffer.from(signature, 'base64'));
  } catch {
    return false;
  }
}
