import { sql } from 'kysely';
import { reminderWorkflowId } from '../../contracts/ids.ts';
import { canonicalUser, phoneOf } from '../../domain/whatsapp/identity.ts';
import type { Db, Tx } from '../postgres/database.ts';

/** The person or record to forget, and the ids by which it is found everywhere. */
export interface Subject {
  chats: string[];
  threads: string[];
  tasks: string[];
  /** addresses of the person on WhatsApp; empty when only a chat was named */
  addresses: string[];
  /** ids of the person on Telegram, where a name was given */
  telegram: number[];
  /** its digits, where a number was named */
  phone: string | null;
  /** ids in Temporal */
  workflows: string[];
  crons: string[];
  /** folders of coding tasks */
  workspaces: string[];
  /** groups in which this person wrote */
  groups: string[];
}

/** The work that runs in it now, or null. */
export async function atWork(db: Db, { threads, tasks }: Subject): Promise<string | null> {
  const turn = await db
    .selectFrom('turns')
    .select('id')
    .where('thread_id', 'in', [...threads, ''])
    .where('status', '=', 'in_progress')
    .executeTakeFirst();
  if (turn) return `Turn ${turn.id}`;
  const task = await db
    .selectFrom('tasks')
    .select('id')
    .where('id', 'in', [...tasks, ''])
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return task ? `Coding task ${task.id}` : null;
}

/** A chat by its id or that of its thread, or a person by number or by the name on Telegram. Null: nothing is stored under that name. */
export async function findSubject(db: Db | Tx, named: string): Promise<Subject | null> {
  const phone = named.includes('/') ? null : phoneOf(named);
  const addresses = phone ? await addressesOf(db, phone) : [];
  const telegram = phone === null ? await telegramNamed(db, named) : [];
  const chats = await chatsOf(db, named, addresses, telegram);
  const groups =
    addresses.length > 0
      ? await groupsOf(db, addresses, chats)
      : telegram.length > 0
        ? await telegramGroupsOf(db, telegram, chats)
        : [];
  const known = telegram.length > 0 || (phone !== null && (groups.length > 0 || (await isKnown(db, phone, addresses))));
  if (chats.length === 0 && !known) return null;
  const of = [...chats, ''];
  const threads = await db.selectFrom('threads').select('id').where('chat_id', 'in', of).execute();
  const tasks = await db
    .selectFrom('tasks')
    .select(['id', 'workflow_id', 'workspace'])
    .where('chat_id', 'in', of)
    .execute();
  const runs = await db.selectFrom('routine_runs').select('workflow_id').where('chat_id', 'in', of).execute();
  const shipments = await db.selectFrom('shipments').select('workflow_id').where('chat_id', 'in', of).execute();
  const reminders = await db.selectFrom('reminders').select('id').where('chat_id', 'in', of).execute();
  const crons = await db.selectFrom('crons').select('id').where('chat_id', 'in', of).execute();
  const rows = await db.selectFrom('chats').select(['workflow_id', 'workspace']).where('id', 'in', of).execute();
  return {
    chats,
    threads: threads.map(({ id }) => id),
    tasks: tasks.map(({ id }) => id),
    addresses,
    telegram,
    phone,
    workflows: [...rows, ...tasks, ...runs, ...shipments]
      .map(({ workflow_id }) => workflow_id)
      .concat(reminders.map(({ id }) => reminderWorkflowId(id))),
    crons: crons.map(({ id }) => id),
    workspaces: [...new Set([...rows, ...tasks].flatMap(({ workspace }) => workspace ?? []))].sort(),
    groups,
  };
}

/** A person has two addresses; each may be known alone. */
async function addressesOf(db: Db | Tx, phone: string): Promise<string[]> {
  const pn = `${phone}@s.whatsapp.net`;
  const contacts = await db
    .selectFrom('wa_contacts')
    .select(['pn', 'lid', 'chat_address', 'reply_jid'])
    .where((w) =>
      w.or([
        w('pn', '=', pn),
        // the number may have passed to somebody else
        w('lid', 'in', w.selectFrom('wa_number_holders').select('lid').where('wa_number_holders.pn', '=', pn)),
      ]),
    )
    .execute();
  const forms = contacts
    .flatMap((row) => [row.pn, row.lid, row.chat_address, row.reply_jid])
    .flatMap((form) => (form ? [canonicalUser(form)] : []));
  return [...new Set([pn, ...forms])];
}

async function chatsOf(
  db: Db | Tx,
  named: string,
  addresses: readonly string[],
  telegram: readonly number[],
): Promise<string[]> {
  const found = await db
    .selectFrom('chats')
    .select('id')
    .distinct()
    .where((w) =>
      w.or([
        w('id', '=', named),
        w('id', 'in', w.selectFrom('threads').select('chat_id').where('threads.id', '=', named)),
        w.and([w('channel', '=', 'whatsapp'), w('address', 'in', [...addresses, ''])]),
        // a chat with topics has one address for each
        w.and([
          w('channel', '=', 'telegram'),
          w(sql<string>`split_part(address, '/', 1)`, 'in', [...telegram.map(String), '']),
        ]),
      ]),
    )
    .execute();
  return found.map(({ id }) => id);
}

const telegramNamed = async (db: Db | Tx, name: string): Promise<number[]> =>
  (
    await db
      .selectFrom('tg_people')
      .select('user_id')
      .where(sql<boolean>`lower(name) = ${name.toLowerCase()}`)
      .execute()
  ).map(({ user_id }) => user_id);

async function telegramGroupsOf(db: Db | Tx, people: readonly number[], own: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('tg_inbox')
    .innerJoin('inbox', 'inbox.id', 'tg_inbox.inbox_id')
    .select('inbox.chat_id')
    .distinct()
    .where('tg_inbox.user_id', 'in', [...people])
    .where('inbox.chat_id', 'not in', [...own, ''])
    .execute();
  return rows.map(({ chat_id }) => chat_id);
}

async function groupsOf(db: Db | Tx, addresses: readonly string[], own: readonly string[]): Promise<string[]> {
  const rows = await db
    .selectFrom('wa_inbox')
    .innerJoin('inbox', 'inbox.id', 'wa_inbox.inbox_id')
    .select('inbox.chat_id')
    .distinct()
    .where('wa_inbox.participant', 'in', [...addresses])
    .where('inbox.chat_id', 'not in', [...own, ''])
    .execute();
  return rows.map(({ chat_id }) => chat_id);
}

async function isKnown(db: Db | Tx, phone: string, addresses: readonly string[]): Promise<boolean> {
  const [trusted, shares, contacts, received] = await Promise.all([
    db.selectFrom('wa_trusted').select('phone').where('phone', '=', phone).executeTakeFirst(),
    db
      .selectFrom('workspace_shares')
      .select('person')
      .where('person', 'in', [phone, ...addresses])
      .executeTakeFirst(),
    db
      .selectFrom('wa_contacts')
      .select('id')
      .where('pn', 'in', [...addresses])
      .executeTakeFirst(),
    db
      .selectFrom('wa_inbox')
      .select('seq')
      .where((w) => w.or([w('chat', 'in', [...addresses]), w('participant', 'in', [...addresses])]))
      .executeTakeFirst(),
  ]);
  return [trusted, shares, contacts, received].some((row) => row !== undefined);
}
