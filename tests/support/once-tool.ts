import { appendFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { z } from 'zod';
import type { ModelTool } from '../../src/tools/declarations.ts';
import { declarations, tools } from '../../src/tools/registry.ts';
import { defineTool, type Tool } from '../../src/tools/tool.ts';

/**
 * Loaded before the roles of a test instance (`NODE_OPTIONS=--import`): adds a tool of effect class `once` to the
 * registry of this process. Its effect is a line in a ledger; then it holds on for as long as it is told, so that its
 * worker can be killed between the effect and the result. A bundle has a registry of its own, which nothing reaches
 * from outside, so these roles run from their sources.
 */
registerHooks({
  load: (url, context, next) =>
    url.endsWith('/bin/bundle.js')
      ? { format: 'module', source: 'export const freshBundle = () => undefined;', shortCircuit: true }
      : next(url, context),
});

const strike = defineTool({
  name: 'strike',
  family: 'core',
  description: 'Writes a line into the ledger of the test.',
  schema: z.strictObject({ ledger: z.string(), holdMs: z.int().min(0).default(0) }),
  reads: [],
  sends: [],
  danger: 'SAFE',
  effect: 'once',
  runsIn: 'worker',
  timeoutMs: 60_000,
  run: async ({ ledger, holdMs }, { callId, signal }) => {
    appendFileSync(ledger, `${callId}\n`);
    await new Promise<void>((resolve, reject) => {
      setTimeout(resolve, holdMs);
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    return { ok: true, output: 'Struck.' };
  },
});

const { $schema: _, ...parameters } = z.toJSONSchema(strike.schema, { io: 'input' });
(tools as Map<string, Tool>).set(strike.name, strike);
(declarations as Map<string, ModelTool>).set(strike.name, {
  name: strike.name,
  description: strike.description,
  parameters,
});
