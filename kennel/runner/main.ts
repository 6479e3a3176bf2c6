/**
 * The runner: the first process of a coding container. It reads `spec.json`, drives the agent, writes `log.ndjson` and
 * follows `commands.ndjson`. It needs no process outside, so workers may restart. It exits with 0 when the last line is
 * written.
 */
import { readFileSync } from 'node:fs';
import type { RunSpec } from '../../src/contracts/kennel.ts';
import { RunLog } from './log/log.ts';
import { unsettled } from './questions/pending-questions.ts';
import { Run } from './run.ts';
import { settings as settingsOf } from './settings.ts';

// the SDK prints each fault of an agent, and an agent may cause many
console.error = () => undefined;

const settings = settingsOf();
const spec = read(settings.spec);
const log = new RunLog(settings.log, spec.step);
const run = new Run(spec, settings, log, unsettled(settings.log));

// a container is asked to stop this way: docker stop, or a host that shuts down
for (const signal of ['SIGTERM', 'SIGINT'] as const)
  process.on(signal, () => void run.cancel(`The container was stopped (${signal}).`, 1500));
process.on('uncaughtException', (error) => run.end('failed', `The runner failed: ${error.message}.`));
process.on('unhandledRejection', (error) =>
  run.end('failed', `The runner failed: ${error instanceof Error ? error.message : String(error)}.`),
);

const ended = await run.untilEnded();
try {
  log.end({ type: 'ended', ...ended });
} catch {
  // the reader of the log finds the container gone, without a last line
  process.exit(1);
}
process.exit(0);

function read(path: string): RunSpec {
  const value = JSON.parse(readFileSync(path, 'utf8')) as RunSpec;
  if (value.version !== 1 || !Number.isSafeInteger(value.step))
    throw new Error(`${path} is no specification of version 1`);
  return value;
}
