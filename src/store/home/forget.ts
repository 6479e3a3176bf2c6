import { sql } from 'kysely';
import type { Channel } from '../../contracts/ids.ts';
import { forgetTalk } from '../chats/groups.ts';
import { type Db, json, type Tx } from '../postgres/database.ts';
import { telegramId } from '../telegram/bots.ts';
import { appendAudit } from './audit-log.ts';
import type { Subject } from './subject.ts';

/**
 * Deletes rows, where `DELETE /api/sessions/ID` only empties them: nothing of the chat or the person is recognised
 * afterwards.
 */

type Counts = Record<string, number>;

/** Deletes in one transaction, or only counts what it would delete. */
export async function forgetRows(db: Db, subject: Subject, { dryRun }: { dryRun: boolean }): Promise<Counts> {
  const counts: Counts = {};
  const dry = new DryRun();
  await db
    .transaction()
    .execute(async (tx) => {
      await sql`set local statement_timeout = '10min'`.execute(tx);
      // what comes in meanwhile waits here, and then finds no chat
      await tx
        .selectFrom('chats')
        .select('id')
        .where('id', 'in', [...subject.chats, ''])
        .forUpdate()
        .execute();
      await forgetChats(tx, subject, counts);
      if (subject.addresses.length > 0) await forgetPerson(tx, subject, counts);
      if (subject.telegram.length > 0) await forgetOnTelegram(tx, subject, counts);
      await appendAudit(
        tx,
        'forgotten',
        { role: 'terminal' },
        { chats: subject.chats, ...(subject.phone && { phone: `…${subject.phone.slice(-4)}` }), rows: sum(counts) },
      );
      if (dryRun) throw dry;
    })
    .catch((error) => {
      if (error !== dry) throw error;
    });
  return counts;
}

/** Ends the transaction of a dry run. */
class DryRun extends Error {}
const sum = (counts: Counts): number => Object.values(counts).reduce((total, each) => total + each, 0);

/**
 * Columns that name what goes, those of the innermost rows first. Every table that has one is emptied of it, also one
 * that a later release adds.
 */
async function forgetChats(tx: Tx, { chats, threads, tasks }: Subject, counts: Counts): Promise<void> {
  const turns = await idsOf(tx, 'turns', 'thread_id', threads);
  const outbox = await idsOf(tx, 'outbox', 'chat_id', chats);
  const inbox = await idsOf(tx, 'inbox', 'chat_id', chats);
  const questions = await idsOf(tx, 'questions', 'chat_id', chats);
  const receipts = [...turns.map((id) => `turn/${id}`), ...tasks.map((id) => `task/${id}`)];
  // its hash stays, because the receipts after it have it
  const emptied = await tx
    .updateTable('receipts')
    .set({ body: null })
    .where(sql<boolean>`subject = any(${receipts})`)
    .where('body', 'is not', null)
    .executeTakeFirst();
  add(counts, 'receipts', emptied.numUpdatedRows);
  const columnsOf: ReadonlyArray<readonly [column: string, ids: readonly string[]]> = [
    ['task_id', tasks],
    ['question_id', questions],
    ['outbox_id', outbox],
    ['inbox_id', inbox],
    ['turn_id', turns],
    ['thread_id', threads],
    ['chat_id', chats],
  ];
  const { rows: columns } = await sql<{ name: string; table: string }>`
    select column_name as name, columns.table_name as table from information_schema.columns join information_schema.tables using (table_schema, table_name)
    where table_schema = current_schema() and table_type = 'BASE TABLE' and column_name in (${sql.join(columnsOf.map(([column]) => column))}) order by 2`.execute(
    tx,
  );
  for (const [column, ids] of columnsOf)
    for (const { table } of columns.filter(({ name, table }) => name === column && !OUTER.includes(table)))
      await remove(tx, table, column, ids, counts);
  await remove(tx, 'memories', 'owner', chats, counts);
  const addressesOn = async (channel: Channel) =>
    (
      await tx
        .selectFrom('chats')
        .select('address')
        .where('id', 'in', [...chats, ''])
        .where('channel', '=', channel)
        .execute()
    ).map(({ address }) => address);
  for (const table of ['tg_inbox', 'tg_sends']) await remove(tx, table, 'chat', await addressesOn('telegram'), counts);
  const addresses = await addressesOn('whatsapp');
  await remove(tx, 'wa_inbox', 'chat', addresses, counts);
  await remove(tx, 'wa_sends', 'jid', addresses, counts);
  await remove(tx, 'wa_timers', 'address', addresses, counts);
  for (const [table, ids] of [
    ['turns', turns],
    ['threads', threads],
    ['chats', chats],
  ] as const)
    await remove(tx, table, 'id', ids, counts);
}

/** Others refer to them, so they go last. */
const OUTER = ['turns', 'threads', 'chats'];

const idsOf = async (
  tx: Tx,
  table: 'turns' | 'outbox' | 'inbox' | 'questions',
  column: string,
  ids: readonly string[],
): Promise<string[]> =>
  (
    await sql<{ id: string }>`select id from ${sql.table(table)} where ${sql.ref(column)} = any(${[...ids]})`.execute(
      tx,
    )
  ).rows.map(({ id }) => id);

async function remove(tx: Tx, table: string, column: string, ids: readonly string[], counts: Counts): Promise<void> {
  if (ids.length === 0) return;
  const { numAffectedRows = 0n } =
    await sql`delete from ${sql.table(table)} where ${sql.ref(column)} = any(${[...ids]})`.execute(tx);
  add(counts, table, numAffectedRows);
}

function add(counts: Counts, table: string, rows: bigint): void {
  if (rows > 0n) counts[table] = (counts[table] ?? 0) + Number(rows);
}

/** What WhatsApp and the owner's permissions have of a person, in the chats of others too. */
async function forgetPerson(tx: Tx, { addresses, phone }: Subject, counts: Counts): Promise<void> {
  const people = [...addresses, ...(phone ? [phone] : [])];
  if (phone) await remove(tx, 'wa_trusted', 'phone', [phone], counts);
  await remove(tx, 'workspace_shares', 'person', people, counts);
  for (const column of ['chat', 'participant']) await remove(tx, 'wa_inbox', column, addresses, counts);
  for (const table of ['wa_sends', 'wa_chat_pauses']) await remove(tx, table, 'jid', addresses, counts);
  await remove(tx, 'wa_timers', 'address', addresses, counts);
  for (const column of ['pn', 'lid', 'chat_address']) await remove(tx, 'wa_contacts', column, addresses, counts);
  for (const column of ['pn', 'lid']) await remove(tx, 'wa_number_holders', column, addresses, counts);
  const users = addresses.map((address) => address.split('@', 1)[0]!);
  // ids of keys: `<user>.<device>`, `<user>_<agent>.<device>`, `<group>::<user>::<device>`, `<user>_reverse`,
  // `<user>@<server>`
  const keys = await sql`delete from wa_keys where id ~ ${`(^|::)(${users.join('|')})([._:@]|$)`}`.execute(tx);
  add(counts, 'wa_keys', keys.numAffectedRows ?? 0n);
  // the list of members is asked for again when it is needed
  const groups = await sql`delete from wa_groups where metadata::text ~ ${`"(${users.join('|')})@`}`.execute(tx);
  add(counts, 'wa_groups', groups.numAffectedRows ?? 0n);
  await forgetInOthers(tx, people, counts);
}

/** What Telegram and the owner's permissions have of a person. The person may not write any more. */
async function forgetOnTelegram(tx: Tx, { telegram }: Subject, counts: Counts): Promise<void> {
  const people = telegram.map(telegramId);
  for (const table of ['tg_people', 'tg_inbox']) await remove(tx, table, 'user_id', telegram.map(String), counts);
  await remove(tx, 'workspace_shares', 'person', people, counts);
  await forgetInOthers(tx, people, counts);
}

/** Their messages in groups lose their words, and decisions in chats of others their name. */
async function forgetInOthers(tx: Tx, people: readonly string[], counts: Counts): Promise<void> {
  add(counts, 'group_talk', BigInt(await forgetTalk(tx, people)));
  const by = sql<boolean>`exists (select from jsonb_array_elements(written_by) as writer where writer ->> 'id' = any(${[...people]}))`;
  const written = await tx
    .updateTable('inbox')
    .set({ body: '', written_by: json([]) })
    .where('written_by', 'is not', null)
    .where(by)
    .executeTakeFirst();
  add(counts, 'inbox', written.numUpdatedRows);
  const decided =
    await sql`update questions set decided_by = decided_by - 'id' where decided_by ->> 'id' = any(${[...people]})`.execute(
      tx,
    );
  add(counts, 'questions', decided.numAffectedRows ?? 0n);
}
