import { Client, Connection } from '@temporalio/client';
import { script, startTestApp } from '../support/app.ts';
import { Chat, STATEFUL, type Expected } from './chats.ts';
import { createClient } from './client.ts';
import { killAtRandom } from './killer.ts';
import { seeded } from './random.ts';

const kills = Number(process.argv[2] ?? 25);
const app = await startTestApp({ FETCH_SEPARATE_PROCESSES: 'false' }, { strict: true });
const random = seeded(4711);
const client = createClient(app);
const newChat = async () => new Chat(await app.thread(), client, seeded(random.between(0, 2 ** 31)), () => {});
const [probe, ...talking] = await Promise.all(Array.from({ length: 6 }, newChat));
let over = false;
const loops = talking.map(async (chat) => {
  while (!over) await chat.message(random.pick(STATEFUL)).catch((e: Error) => { over = true; console.log('PROBLEM', new Date().toISOString(), e.message); });
});
const state: string[] = [];
let lastState = '';
const timer = setInterval(() => {
  try {
    const s = app.state().roles.filter((r) => r.name === 'worker' || r.name === 'postgres').map((r) => `${r.name}:${r.state}:${r.pid ?? '-'}:${r.restarts}`).join(' ');
    if (s !== lastState) { state.push(`${new Date().toISOString()} ${s}`); lastState = s; }
  } catch {}
}, 100);
const connection = await Connection.connect({ address: app.temporalAddress });
const temporal = new Client({ connection });
const dump = async (threadId: string, since: number) => {
  for await (const wf of temporal.workflow.list({ query: 'ExecutionStatus="Running"' })) {
    if (!wf.workflowId.includes(threadId)) continue;
    const h = await temporal.workflow.getHandle(wf.workflowId).fetchHistory();
    for (const e of h.events ?? []) {
      const t = Number(e.eventTime!.seconds) * 1000 + (e.eventTime!.nanos ?? 0) / 1e6;
      if (t < since - 3000) continue;
      const kind = Object.keys(e).find((k) => k.endsWith('Attributes') && (e as any)[k]);
      const a: any = (e as any)[kind!];
      console.log('   ', new Date(t).toISOString(), e.eventId?.toString(), kind?.replace('EventAttributes', ''), a?.attempt ?? '', a?.timeoutType ?? '', a?.taskQueue?.kind ?? '', a?.identity ?? '', a?.activityType?.name ?? '', a?.markerName ?? '');
    }
  }
};
let shown = 0;
await killAtRandom(app, random, { kills, victims: ['worker', 'postgres'], onKill: (k) => {
  console.log(new Date(k.at).toISOString(), k.victim, k.recoveryMs, k.together);
  if (k.recoveryMs > 15000 && k.victim === 'worker') { shown = k.at; }
} }, async () => {
  const begun = Date.now();
  await probe!.message('plain').catch((e: Error) => console.log('PROBE', e.message));
  if (Date.now() - begun > 12000) {
    console.log('slow', new Date(begun).toISOString(), Date.now() - begun);
    console.log(state.splice(0).map((s) => `  ${s}`).join('\n'));
    await dump(probe!.threadId, begun).catch((e) => console.log(e.message));
  } else state.splice(0, state.length - 6);
});
over = true;
clearInterval(timer);
await Promise.all(loops);
await app.close();
