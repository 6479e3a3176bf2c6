import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadConfig } from '../../src/config.ts';
import { listRoutines } from '../../src/store/routines/routines.ts';
import { tools } from '../../src/tools/registry.ts';
import { toolBench } from '../support/tool-bench.ts';
import type { Bench, Part } from './bench.ts';
import { median, type Row, round } from './figures.ts';

const PAGE = `<title>Page</title><article><h1>Page</h1>${'<p>Bread and butter, every day of the week.</p>'.repeat(40)}</article>`;

/**
 * What a tool costs beside its effect: the effect alone, the tool's own code, and the same call in a turn from its
 * start until its result is stored.
 */
export const toolOverhead: Part = {
  name: 'tools',
  title: 'A tool over its bare effect (medians, ms)',
  async run(bench) {
    const server = createServer((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const { db } = bench.app.store;
    const config = loadConfig({ FETCH_ALLOW_PRIVATE_URLS: 'true' }, {});
    const direct = await toolBench({
      db,
      config,
      kennel: undefined as never,
      host: 'local',
      workspacesFolder: '/',
      tools: [...tools.values()],
    });
    try {
      const read = await comparison(bench, {
        effect: 'read a page of 2 KB',
        bare: async () => void (await (await fetch(url)).text()),
        tool: ['web_fetch', { url }],
        run: direct.call,
      });
      const listed = await comparison(bench, {
        effect: 'one query of the store',
        bare: async () => void (await listRoutines(db, direct.chatId)),
        tool: ['workflow_list', {}],
        run: direct.call,
      });
      return [read, listed];
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },
};

interface Comparison {
  effect: string;
  bare: () => Promise<void>;
  tool: [name: string, args: Record<string, unknown>];
  run: (name: string, args: unknown) => Promise<unknown>;
}

async function comparison(
  { app, taker, pick }: Bench,
  { effect, bare, tool: [name, args], run }: Comparison,
): Promise<Row> {
  const times = pick(5, 30, 100);
  const alone = await timed(times, bare);
  const code = await timed(times, async () => void (await run(name, args)));
  const thread = await app.thread();
  const without = await timed(times, async () => void (await taker.take(thread, [{ say: 'done' }])));
  const within = await timed(
    times,
    async () => void (await taker.take(thread, [{ call: [[name, args]] }, { say: 'done' }])),
  );
  return {
    effect,
    tool: name,
    bare: alone,
    'tool with its row': code,
    'turn without': without,
    'turn with it and the step after it': within,
    times,
  };
}

async function timed(times: number, act: () => Promise<void>): Promise<number> {
  const taken: number[] = [];
  for (let at = 0; at < times; at++) {
    const began = performance.now();
    await act();
    taken.push(performance.now() - began);
  }
  return round(median(taken));
}
