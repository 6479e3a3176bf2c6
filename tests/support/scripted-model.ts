import { appendFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { LedgerEntry } from '../../src/adapters/model/practice/completions.ts';
import { startPracticeServer } from '../../src/adapters/model/practice/server.ts';
import { checkRequest } from './request-rules.ts';
import { strictProvider } from './strict-provider.ts';

export interface ScriptedModel {
  baseUrl: string;
  /** every request for a completion so far, in order of arrival; entries change as they are answered */
  requests(): LedgerEntry[];
  /** how many requests of a turn have arrived */
  asked(turnId: string): number;
  /** from now on `listener` gets the body of every request */
  hear(listener: (body: string) => void): void;
  close(): Promise<void>;
}

/**
 * A model that answers `SCRIPT:[...]` messages over real HTTP and keeps a ledger. A request that breaks a rule of a
 * strict server gets 400. With `ledgerFile` each entry is appended as a line of JSON at arrival and again when its
 * state changes, so that the ledger outlives a kill; the last line of an `n` counts.
 * `strict`: it gives thoughts and signatures with each step that calls tools, and refuses a request that does not give
 * them back.
 */
export async function startScriptedModel(
  options: { ledgerFile?: string; port?: number; pace?: number; skim?: boolean; strict?: boolean } = {},
): Promise<ScriptedModel> {
  const entries = new Map<number, LedgerEntry>();
  const asked = new Map<string, number>();
  const listeners: Array<(body: string) => void> = [];
  const server = await startPracticeServer({
    scripts: true,
    port: options.port,
    pace: options.pace ?? 0,
    skim: options.skim,
    ...(options.strict && { provider: strictProvider() }),
    heard: (body) => {
      // an error here is the answer: every test shows that the product asks as all servers want it
      if (!options.skim) checkRequest(body);
      for (const listener of listeners) listener(body);
    },
    ledger: (entry) => {
      const turnId = entry.requestId.split('/')[0]!;
      if (!entries.has(entry.n)) asked.set(turnId, (asked.get(turnId) ?? 0) + 1);
      entries.set(entry.n, entry);
      if (options.ledgerFile) appendFileSync(options.ledgerFile, `${JSON.stringify(entry)}\n`);
    },
  });
  return {
    baseUrl: server.baseUrl,
    requests: () => [...entries.values()],
    asked: (turnId) => asked.get(turnId) ?? 0,
    hear: (listener) => void listeners.push(listener),
    close: () => server.close(),
  };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { port: { type: 'string' }, ledger: { type: 'string' }, pace: { type: 'string' } },
  });
  const model = await startScriptedModel({
    port: Number(values.port ?? 0),
    ledgerFile: values.ledger,
    pace: Number(values.pace ?? 0),
  });
  console.log(JSON.stringify({ baseUrl: model.baseUrl }));
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void model.close().then(() => process.exit(0)));
}
