import pino from 'pino';
import { Agent } from 'undici';
import { createAdmission } from '../../../src/adapters/kennel/gate/egress/admission.ts';
import { allowList } from '../../../src/adapters/kennel/gate/egress/allow-list.ts';
import { EgressProxy } from '../../../src/adapters/kennel/gate/egress/egress-proxy.ts';
import { createRefusedHosts, createTrafficCount } from '../../../src/adapters/kennel/gate/egress/traffic.ts';
import { Ledger } from '../../../src/adapters/kennel/gate/model/ledger.ts';
import { createLimits } from '../../../src/adapters/kennel/gate/model/limits.ts';
import { ModelProxy } from '../../../src/adapters/kennel/gate/model/model-proxy.ts';
import { upstreamsOf } from '../../../src/adapters/kennel/gate/model/upstreams.ts';
import { createSlots } from '../../../src/adapters/kennel/gate/slots.ts';
import { openSocketFolder } from '../../../src/adapters/kennel/gate/socket.ts';
import { isPublicAddress, systemResolver } from '../../../src/adapters/web/address-guard.ts';
import type { ModelUsage } from '../../../src/store/kennel/tasks/usage.ts';

/** Stands for the key of every provider; only the gate has it. */
export const PROVIDER_KEY = 'sk-provider-0f3c9d-never-inside';

export interface TestGate {
  /** what the gate has counted, when no call runs any more */
  used(): Promise<{ calls: number; inputTokens: number; outputTokens: number }>;
  /** `host:port` of what was refused by the egress proxy */
  refused(): Promise<string[]>;
  close(): Promise<void>;
}

/**
 * The proxies of the real gate in the folder `gate` of a run, with the scripted providers behind them and counters in
 * memory instead of a store.
 */
export async function startTestGate(folder: string, origin: string): Promise<TestGate> {
  const log = pino({ level: 'silent' });
  const rows: ModelUsage[] = [];
  const hosts: string[] = [];
  const sum = (field: 'calls' | 'inputTokens' | 'outputTokens'): number =>
    rows.reduce((total, row) => total + row[field], 0);
  const used = () => ({ calls: sum('calls'), inputTokens: sum('inputTokens'), outputTokens: sum('outputTokens') });
  const ledger = new Ledger(
    {
      usage: async () => ({
        tokens: used().inputTokens + used().outputTokens,
        microUsd: 0,
        today: { tokens: 0, microUsd: 0 },
      }),
      add: async (increments) => void rows.push(...increments),
    },
    { tokens: 100_000_000, microUsd: 1_000_000_000, dayTokens: 100_000_000, dayMicroUsd: 1_000_000_000 },
    10_000,
  );
  const upstreams = upstreamsOf({
    ANTHROPIC_BASE_URL: `${origin}/anthropic`,
    ANTHROPIC_API_KEY: PROVIDER_KEY,
    GOOGLE_GEMINI_BASE_URL: `${origin}/gemini`,
    GEMINI_API_KEY: PROVIDER_KEY,
    OPENAI_BASE_URL: `${origin}/openai/v1`,
    OPENAI_API_KEY: PROVIDER_KEY,
    OPENROUTER_API_KEY: undefined,
    AGENT_MODEL: 'scripted',
    FETCH_FALLBACK_MODEL: undefined,
  });
  const dispatcher = new Agent({ pipelining: 1 });
  const limits = createLimits({
    known: async () => null,
    mayTry: async () => true,
    refused: async () => {},
    held: async () => {},
    answered: async () => {},
  });
  const model = new ModelProxy({
    upstreams: () => upstreams,
    ledger,
    limits,
    dispatcher,
    headersMs: 600_000,
    idleMs: 300_000,
    signsMs: 600_000,
    log,
  });
  const refused = createRefusedHosts(
    async (refusals) => void hosts.push(...refusals.map(({ host, port }) => `${host}:${port}`)),
  );
  const egress = new EgressProxy({
    admission: createAdmission({ listed: () => allowList([]), store: null }),
    traffic: createTrafficCount(async () => {}),
    isPlain: () => false,
    isMirror: () => false,
    cache: null,
    allows: (address) => isPublicAddress(address),
    resolve: systemResolver,
    lookups: createSlots(1),
    refused,
    idleMs: 60_000,
    log,
  });
  const sockets = openSocketFolder(folder);
  await sockets.listen(model.server, 'model.sock');
  await sockets.listen(egress.server, 'egress.sock');
  return {
    async used() {
      await model.idle();
      await ledger.settle(5000);
      return used();
    },
    async refused() {
      await refused.settle();
      return hosts;
    },
    async close() {
      egress.cut();
      for (const { server } of [model, egress]) {
        server.close();
        server.closeAllConnections();
      }
      await dispatcher.destroy();
      sockets.close();
    },
  };
}
