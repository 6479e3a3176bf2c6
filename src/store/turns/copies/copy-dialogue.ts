import { sql } from 'kysely';
import { derivedId } from '../../chats/ids.ts';
import { idInCopy } from '../../chats/threads/copied-ids.ts';
import type { Tx } from '../../postgres/database.ts';
import { UNFINISHED } from '../finish.ts';

/** A thread and its copy, which is there and empty. The caller holds the lock of the first. */
interface Copying {
  from: string;
  to: string;
}

/**
 * Copies what was said and done: it stays in the database, so that the size of a thread makes no difference to this
 * process.
 */
export async function copyDialogue(tx: Tx, copying: Copying): Promise<void> {
  // rows first that others name
  for (const copy of [copyTurns, copyItems, copyAttachments, copyCalls, copyTranscript, copySummaries])
    await copy(tx, copying);
}

/** Takes a turn of the source, and all that came after it, out of the copy. */
export async function dropFrom(tx: Tx, { to, turnId }: { to: string; turnId: string }): Promise<void> {
  const dropped = sql`select id from turns where thread_id = ${to}
    and created_at >= (select created_at from turns where id = ${derivedId('turn_', to, turnId)})`;
  // a summary that has read what is dropped would tell of it
  await sql`delete from summaries where thread_id = ${to}
    and upto >= (select min(ord) from transcript where turn_id in (${dropped}))`.execute(tx);
  await sql`delete from turns where id in (${dropped})`.execute(tx);
}

/** What the turns cost stays with the source. */
const copyTurns = (tx: Tx, { from, to }: Copying) =>
  sql`insert into turns (id, thread_id, status, input_summary, usage, error, steer_count, auto_approve, model, mode, allow_shell, extensions, delay_told,
      compaction, created_at, started_at, ended_at)
    select ${idInCopy('turn_', to, 'id')}, ${to}, case status when 'in_progress' then 'interrupted' else status end, input_summary, usage, error, steer_count,
      auto_approve, model, mode, allow_shell, extensions, delay_told, compaction, created_at, started_at, coalesce(ended_at, now())
    from turns where thread_id = ${from}`.execute(tx);

const copyItems = (tx: Tx, { from, to }: Copying) =>
  sql`insert into items (id, turn_id, thread_id, kind, status, summary, detail, metadata, started_at, ended_at)
    select ${idInCopy('item_', to, 'id')}, ${idInCopy('turn_', to, 'turn_id')}, ${to}, kind,
      case status when 'in_progress' then 'interrupted' else status end, summary, detail, metadata, started_at, coalesce(ended_at, now())
    from items where thread_id = ${from} order by ord`.execute(tx);

const copyAttachments = (tx: Tx, { from, to }: Copying) =>
  sql`insert into attachments (id, thread_id, kind, mime, name, size, sha256, data, preview, text, created_at, copied_from)
    select ${idInCopy('att_', to, 'id')}, ${to}, kind, mime, name, size, sha256, data, preview, text, created_at, coalesce(copied_from, id)
    from attachments where thread_id = ${from}`.execute(tx);

/**
 * A call that has no result has none here either. The id of the picture that a call made is that of the copy, because a
 * request reads pictures by it. An app that a call started belongs to the source.
 */
const copyCalls = (tx: Tx, { from, to }: Copying) =>
  sql`insert into calls (id, provider_id, turn_id, thread_id, item_id, step, position, name, args, danger, effect, policy, state, ok, output, metadata, sources,
      taint, started_at, ended_at, copied_from)
    select ${idInCopy('call_', to, 'id')}, provider_id, ${idInCopy('turn_', to, 'turn_id')}, ${to}, ${idInCopy('item_', to, 'item_id')}, step, position, name,
      args, danger, effect, policy, 'done', state = 'done' and ok,
      case state when 'done' then output when 'running' then ${UNFINISHED.running}::text else ${UNFINISHED.pending}::text end,
      case when picture is null then metadata - 'app' else jsonb_set(metadata, '{attachment}', to_jsonb(${idInCopy('att_', to, 'picture')})) end,
      sources, taint, started_at, coalesce(ended_at, now()), coalesce(copied_from, id)
    from (select *, metadata ->> 'attachment' as picture from calls where turn_id in (select id from turns where thread_id = ${from})) as call`.execute(
    tx,
  );

/** The ids of a list in the copy, in their order. */
const idsInCopy = (prefix: 'call_' | 'att_', to: string, column: string) =>
  sql`(select coalesce(jsonb_agg(${idInCopy(prefix, to, 'each.id')} order by each.place), '[]')
    from jsonb_array_elements_text(${sql.ref(column)}) with ordinality as each (id, place))`;

const copyTranscript = (tx: Tx, { from, to }: Copying) =>
  sql`insert into transcript (id, thread_id, turn_id, role, content, call_ids, attachment_ids, sources, words, tokens, step_state, created_at, copied_from)
    select ${idInCopy('msg_', to, 'id')}, ${to}, ${idInCopy('turn_', to, 'turn_id')}, role, content, ${idsInCopy('call_', to, 'call_ids')},
      ${idsInCopy('att_', to, 'attachment_ids')}, sources, words, tokens, step_state, created_at, coalesce(copied_from, id)
    from transcript where thread_id = ${from} order by ord`.execute(tx);

/** A summary, or the beginning of a conversation, stands at the copy of the message that it stands at. */
const copySummaries = (tx: Tx, { from, to }: Copying) =>
  sql`insert into summaries (id, thread_id, upto, body, sources, created_at)
    select ${to}::text || '/' || place.upto, ${to}, place.upto, body, sources, created_at
    from summaries cross join lateral (
      select copy.ord as upto
      from (select id from transcript where thread_id = ${from} and ord <= summaries.upto order by ord desc limit 1) as said
        join transcript as copy on copy.id = ${idInCopy('msg_', to, 'said.id')}) as place
    where summaries.thread_id = ${from}
    order by summaries.upto on conflict (id) do nothing`.execute(tx);
