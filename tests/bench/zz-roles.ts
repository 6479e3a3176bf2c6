import { openBench, warmUp } from './bench.ts';
import { usageByRole } from './processes.ts';
import { steps } from './turns.ts';
const bench = await openBench('small');
await warmUp(bench, 8);
const { app, taker } = bench;
const N = Number(process.argv[2] ?? 10), R = 15;
const thread = await app.thread();
for (let i = 0; i < 4; i++) await taker.take(thread, steps(N));
const a: any = usageByRole(app);
for (let i = 0; i < R; i++) await taker.take(thread, steps(N));
const b: any = usageByRole(app);
const out: any = {};
for (const [k, v] of b instanceof Map ? b : Object.entries(b)) { const w = a instanceof Map ? a.get(k) : a[k]; out[k] = Math.round(((v as any).cpuMs - (w?.cpuMs ?? 0)) / R); }
console.log('ROLES', JSON.stringify(out));
await bench.close();
process.exit(0);
