import { Client, Connection } from '@temporalio/client';
import { startTestApp } from '/work/main/tests/support/app.ts';
import { openTaker, steps } from '/work/main/tests/bench/turns.ts';
import { startBare } from '/work/main/tests/bench/bare.ts';
import { figures } from '/work/main/tests/bench/figures.ts';
import { stretches, historyCost } from '/work/main/tests/bench/history.ts';
import { sql } from 'kysely';
import { readFileSync } from 'node:fs';
const app = await startTestApp();
try {
const connection = await Connection.connect({ address: app.temporalAddress });
const temporal = new Client({ connection });
const bare = await startBare(temporal, app.temporalAddress);
const taker = await openTaker(app);
const th = await app.thread();
const chat = await app.store.db.selectFrom('chats').innerJoin('threads','threads.chat_id','chats.id').select('chats.workflow_id').where('threads.id','=',th).executeTakeFirstOrThrow();
for (let i=0;i<15;i++) { await taker.take(th, steps(1)); await bare.run(4); }
for (const k of [0,1,3]) {
  const t=[],s=[],a=[],b=[]; const before=await historyCost(temporal, chat.workflow_id);
  for (let i=0;i<12;i++){ const r=await taker.take(th, steps(k)); t.push(r.seen); s.push(r.sent); a.push(r.ack); b.push(await bare.run(2*k+2)); }
  const after=await historyCost(temporal, chat.workflow_id);
  console.log(k,'ack',figures(a),'seen',figures(t),'sent',figures(s),'bare',figures(b),'events/turn',(after.events-before.events)/12,'bare',await bare.cost(2*k+2));
  const g=Map.groupBy(await stretches(temporal, chat.workflow_id, before.events), x=>x.name);
  for (const [n,v] of g) console.log('   ',n,figures(v.map(x=>x.ms)));
}
await sql`alter system set log_min_duration_statement = 0`.execute(app.store.db);
await sql`alter system set log_line_prefix = '%m [%p] %a '`.execute(app.store.db);
await sql`select pg_reload_conf()`.execute(app.store.db);
await new Promise(r=>setTimeout(r,2500));
const mark=readFileSync(app.home+'/logs/postgres.log','utf8').length;
await taker.take(th, steps(1));
await new Promise(r=>setTimeout(r,300));
console.log(readFileSync(app.home+'/logs/postgres.log','utf8').slice(mark).split('\n').filter(l=>/duration/.test(l)).map(l=>l.slice(11,240)).join('\n'));
await taker.close(); await bare.close(); await connection.close();
} finally { await app.close(); }
