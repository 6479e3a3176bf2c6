import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../../../src/config.ts';
import { FETCH_SETTING } from '../app.ts';
import { until } from '../until.ts';

const ENTRY = fileURLToPath(new URL('../../../bin/fetch.js', import.meta.url));

export interface Command {
  child: ChildProcess;
  output(): string;
  /** its exit code */
  ended(): Promise<number | null>;
}

/** `fetch …` as a person runs it, for this home and database. */
export function fetchCommand(args: readonly string[], home: string, databaseUrl: string): Command {
  const clean = Object.fromEntries(Object.entries(childEnvironment({})).filter(([name]) => !FETCH_SETTING.test(name)));
  const child = spawn(process.execPath, [ENTRY, ...args, '--home', home, '--database-url', databaseUrl], {
    env: clean,
    stdio: 'pipe',
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const closed = new Promise<number | null>((resolve) => child.once('close', (code) => resolve(code)));
  return { child, output: () => said, ended: () => closed };
}

/** The address that a login says to open. */
export const addressOf = (command: Command): Promise<string> =>
  until('the login says what to open', () => {
    if (command.child.exitCode !== null) throw new Error(command.output());
    return /^https?:\/\/\S+\/authorize\S+$/m.exec(command.output())?.[0];
  });

/** Where the browser of somebody who says yes would go next. */
export async function answerOf(address: string): Promise<string> {
  const response = await fetch(address, { redirect: 'manual' });
  return response.headers.get('location') ?? `${response.status} ${await response.text()}`;
}
