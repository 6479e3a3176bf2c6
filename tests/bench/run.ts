import { writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { parseArgs } from 'node:util';
import { anatomy } from './anatomy.ts';
import { background } from './background.ts';
import { openBench, type Part, type Size, warmUp } from './bench.ts';
import { browserSnapshot } from './browser-snapshot.ts';
import { coldStart } from './cold-start.ts';
import { crowd } from './crowd.ts';
import { printTable, type Row } from './figures.ts';
import { footprint } from './footprint.ts';
import { historyContext } from './history-context.ts';
import { kennelMemory } from './kennel-memory.ts';
import { kennelReattach } from './kennel-reattach.ts';
import { kennelSize } from './kennel-size.ts';
import { kennelStart } from './kennel-start.ts';
import { kills } from './kills.ts';
import { longChat } from './long-chat.ts';
import { manyChats } from './many-chats.ts';
import { manyRows } from './many-rows.ts';
import { ownerPage } from './owner-page.ts';
import { recovery } from './recovery.ts';
import { statusLoad } from './status-load.ts';
import { toolOverhead } from './tool-overhead.ts';
import { turnCost } from './turn-cost.ts';
import { sleeping, waiting } from './waiting.ts';
import { whatsappInbound } from './whatsapp-inbound.ts';
import { whatsappMemory } from './whatsapp-memory.ts';
import { whatsappTurn } from './whatsapp-turn.ts';

/**
 * Memory is measured first, while the instance is fresh; kills come last. Those of WhatsApp have an instance of their
 * own, which is linked; those of the kennel need a Docker engine.
 */
const parts: Part[] = [
  ...[coldStart, footprint, turnCost, anatomy, toolOverhead, longChat, historyContext, manyChats, crowd, background],
  ...[statusLoad, ownerPage, manyRows, sleeping, waiting, recovery, kills],
  ...[whatsappTurn, whatsappInbound, whatsappMemory],
  ...[kennelStart, kennelMemory, kennelSize, browserSnapshot, kennelReattach],
];
const sizes: Size[] = ['small', 'medium', 'full'];

const { values } = parseArgs({
  options: {
    only: { type: 'string', default: parts.map((part) => part.name).join(',') },
    size: { type: 'string', default: 'medium' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
});
const chosen = parts.filter((part) => values.only.split(',').includes(part.name));
const size = sizes.find((each) => each === values.size);
if (values.help || !size || chosen.length === 0) {
  console.log(`npm run bench -- [--only ${parts.map((part) => part.name).join(',')}] [--size ${sizes.join('|')}] [--json results.json]

Measures an instance of its own, with a model that answers at once. Tables go to the terminal, everything to the JSON file.
Example: npm run bench -- --only turn,many --size small`);
  process.exit(values.help ? 0 : 2);
}

const machine = {
  cpu: cpus()[0]?.model ?? 'unknown',
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 2 ** 30),
  kernel: release(),
  node: process.version,
};
const results: Record<string, Row[]> = {};
const errors: Record<string, string> = {};
console.log(`${machine.cores} cores (${machine.cpu}), ${machine.memoryGb} GB, Node ${machine.node}, size ${size}`);
const bench = await openBench(size);
try {
  await warmUp(bench);
  for (const part of chosen) {
    try {
      const rows = await part.run(bench);
      results[part.name] = rows;
      printTable(part.title, rows);
    } catch (error) {
      // one part that fails must not cost the figures of the others
      errors[part.name] = String(error);
      console.error(error);
    }
  }
} finally {
  await bench.close();
}
if (values.json)
  writeFileSync(
    values.json,
    `${JSON.stringify({ at: new Date().toISOString(), size, machine, results, errors }, null, 2)}\n`,
  );
process.exitCode = Object.keys(errors).length > 0 ? 1 : 0;
