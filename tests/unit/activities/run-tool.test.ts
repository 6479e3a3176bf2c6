import { asyncLocalStorage, type Context } from '@temporalio/activity';
import { Client, Connection } from '@temporalio/client';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { runTool } from '../../../src/activities/run-tool.ts';
import { defineTool, type ToolContext } from '../../../src/tools/tool.ts';

/** The last attempt in which an error of a tool would become its result. */
const lastAttempt = (ask: () => Promise<unknown>) => {
  const tool = defineTool({
    name: 'asks',
    family: 'routines',
    description: 'Ask.',
    schema: z.strictObject({}),
    danger: 'SAFE',
    effect: 'idempotent',
    runsIn: 'worker',
    reads: [],
    sends: [],
    timeoutMs: 60_000,
    run: async () => ({ ok: true, output: String(await ask()) }),
  });
  const attempt = { info: { attempt: 4 }, cancellationSignal: new AbortController().signal } as unknown as Context;
  return asyncLocalStorage.run(attempt, () => runTool(tool, 'idempotent', {}, {} as ToolContext));
};

it('an outage of the Temporal server is no result of a tool that asks it, however often it was tried', async () => {
  const temporal = new Client({
    connection: Connection.lazy({ address: '127.0.0.1:1', connectTimeout: 500, interceptors: [] }),
  });
  await expect(lastAttempt(() => temporal.schedule.getHandle('cron_1').describe())).rejects.toThrow(/describe|14/i);
  expect(await lastAttempt(() => Promise.reject(new Error('it is broken')))).toEqual({
    ok: false,
    output: 'asks failed: it is broken',
  });
  await temporal.connection.close();
}, 60_000);
