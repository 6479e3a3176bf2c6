import { type Kysely, sql } from 'kysely';

/**
 * An append-only log of what people allowed, changed and deleted. Each entry has the hash of the entry before it.
 * Triggers write it, so no way to a deed goes past it, those of an older release neither. They run at the commit: an
 * entry waits for the one before it, and by then its transaction waits for nothing else.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table audit_log (seq bigint primary key, body text not null, hash bytea not null);

    create function audit_append(what text, who jsonb, about jsonb) returns void language plpgsql as $$
    declare
      last record;
      line text;
      next bigint;
    begin
      perform pg_advisory_xact_lock(7162389041);
      select seq, hash into last from audit_log order by seq desc limit 1;
      next := coalesce(last.seq, 0) + 1;
      line := jsonb_strip_nulls(jsonb_build_object(
        'at', to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
        'what', what, 'by', who, 'about', about, 'through', current_setting('application_name')))::text;
      insert into audit_log (seq, body, hash)
        values (next, line, sha256(coalesce(last.hash, ''::bytea) || convert_to(next || chr(10) || line, 'UTF8')));
    end $$;

    create function audit_refuse() returns trigger language plpgsql as $$
    begin
      raise exception 'The audit log is only appended to.';
    end $$;
    create trigger audit_append_only before update or delete or truncate on audit_log for each statement execute function audit_refuse();

    -- of a number or an address, its end: enough to tell people apart
    create function audit_person(who text) returns text language sql immutable as $$
      select '…' || right(regexp_replace(split_part(who, '@', 1), '\\D', '', 'g'), 4)
    $$;
    create function audit_by(who jsonb) returns jsonb language sql immutable as $$
      select case when who ? 'id' then who || jsonb_build_object('id', audit_person(who ->> 'id')) else who end
    $$;

    create function audit_decision() returns trigger language plpgsql as $$
    begin
      perform audit_append(new.kind || ' ' || new.decision, audit_by(new.decided_by), jsonb_build_object('question', new.id, 'thread', new.thread_id,
        'tool', (select name from calls where id = new.call_id), 'task', new.task_id, 'remember', nullif(new.remember, false)));
      return null;
    end $$;
    create constraint trigger audit_decision after update of decided_at on questions deferrable initially deferred for each row
      when (new.kind <> 'question' and old.decided_at is null and new.decided_at is not null and new.decision is not null) execute function audit_decision();

    -- a "yes to all" allows a call in the moment in which it asks
    create constraint trigger audit_decided_at_once after insert on questions deferrable initially deferred for each row
      when (new.kind <> 'question' and new.decided_at is not null and new.decision is not null) execute function audit_decision();

    -- a row that comes, goes or changes: its first argument says what that means, the others name the columns that say about what
    create function audit_row() returns trigger language plpgsql as $$
    declare
      it jsonb := to_jsonb(case when tg_op = 'DELETE' then old else new end);
      about jsonb := '{}';
      name text;
    begin
      foreach name in array tg_argv[1:] loop
        about := about || jsonb_build_object(name, case when name in ('phone', 'person', 'jid') then to_jsonb(audit_person(it ->> name)) else it -> name end);
      end loop;
      perform audit_append(tg_argv[0], audit_by(nullif(it -> 'decided_by', 'null')), about);
      return null;
    end $$;
  `.execute(db);
  for (const [name, on, what, columns] of DEEDS) {
    const given = [what, ...columns].map((each) => `'${each}'`).join(', ');
    await sql
      .raw(`create constraint trigger audit_${name} after ${on.replace(' when ', ' deferrable initially deferred for each row when ')}
        ${on.includes(' when ') ? '' : 'deferrable initially deferred for each row'} execute function audit_row(${given})`)
      .execute(db);
  }
}

/** Trigger, what it fires at, what is written, and the columns that say about what. */
const DEEDS: ReadonlyArray<readonly [name: string, on: string, what: string, columns: readonly string[]]> = [
  ['trusted', 'insert on wa_trusted', 'person trusted', ['phone']],
  ['distrusted', 'delete on wa_trusted', 'person trusted no more', ['phone']],
  ['shared', 'insert on workspace_shares', 'workspace shared', ['workspace', 'person']],
  ['unshared', 'delete on workspace_shares', 'workspace shared no more', ['workspace', 'person']],
  ['granted', 'insert on sink_grants', 'permanent permission given', ['chat_id', 'sink', 'question_id']],
  ['ungranted', 'delete on sink_grants', 'permanent permission taken back', ['chat_id', 'sink']],
  [
    'autonomy',
    'update of autonomy on chats when (old.autonomy <> new.autonomy)',
    'autonomy changed',
    ['id', 'autonomy'],
  ],
  [
    'approves',
    'update of auto_approve on threads when (old.auto_approve <> new.auto_approve)',
    'yes to all changed',
    ['id', 'auto_approve'],
  ],
  [
    'erased',
    'update of deleted_at on threads when (old.deleted_at is null and new.deleted_at is not null)',
    'session deleted',
    ['id'],
  ],
  [
    'extension',
    'update of agreed on extension_versions when (old.agreed is distinct from new.agreed)',
    'extension decided',
    ['kind', 'name', 'hash', 'agreed'],
  ],
  ['login', 'insert on mcp_logins', 'login at an MCP server', ['server', 'issuer']],
  [
    'relogin',
    'update of logged_in_at on mcp_logins when (old.logged_in_at <> new.logged_in_at)',
    'login at an MCP server',
    ['server', 'issuer'],
  ],
  ['logout', 'delete on mcp_logins', 'login at an MCP server removed', ['server', 'issuer']],
  [
    'linked',
    'update of jid on wa_accounts when (old.jid is distinct from new.jid)',
    'WhatsApp account linked or unlinked',
    ['account', 'jid'],
  ],
  [
    'wanted',
    'update of wanted on wa_accounts when (old.wanted <> new.wanted)',
    'WhatsApp asked for',
    ['account', 'wanted'],
  ],
  [
    'egress',
    'insert on egress_rules',
    'host of a workspace decided',
    ['workspace', 'task_id', 'host', 'port', 'allowed'],
  ],
  [
    'revoked',
    'update of revoked_at on egress_rules when (old.revoked_at is null and new.revoked_at is not null)',
    'host of a workspace taken back',
    ['workspace', 'host'],
  ],
  ['forgotten', 'delete on memories', 'memory deleted', ['id']],
];
