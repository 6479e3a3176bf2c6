import { type Kysely, sql } from 'kysely';

/**
 * Which WhatsApp account (LID) the number of a person who may write belongs to, because another account is another
 * person. The code with which a chat was refused, because that decides when its messages may go out again.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table wa_number_holders (
    account text not null, pn text not null, lid text not null, disputed boolean not null default false,
    primary key (account, pn))`.execute(db);
  await sql`insert into wa_number_holders (account, pn, lid)
    select distinct on (account, pn) account, pn, lid from wa_contacts
    where pn is not null and lid is not null order by account, pn, id`.execute(db);
  await sql`alter table wa_chat_pauses add column code text not null default '463'`.execute(db);
}
