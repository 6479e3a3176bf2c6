import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { Client, Connection } from '@temporalio/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isServerAway } from '../../../../src/gateway/intake/signal.ts';

/** The real client, and two ports on which there is no Temporal server: one refuses, one accepts and says nothing. */

let silent: Server;
const connections: Connection[] = [];
beforeAll(async () => {
  silent = createServer((socket) => socket.on('error', () => {})).listen(0, '127.0.0.1');
  await once(silent, 'listening');
});
afterAll(async () => {
  await Promise.all(connections.map((connection) => connection.close()));
  silent.close();
});

const clientAt = (port: number): Client => {
  const connection = Connection.lazy({ address: `127.0.0.1:${port}` });
  connections.push(connection);
  return new Client({ connection });
};
const failure = (client: Client, call: (client: Client) => Promise<unknown>): Promise<unknown> =>
  client
    .withDeadline(Date.now() + 200, () => call(client))
    .then(
      () => 'it was answered',
      (error: unknown) => error,
    );

const CALLS: Record<string, (client: Client) => Promise<unknown>> = {
  'a signal': ({ workflow }) => workflow.getHandle('chat').signal('arrival'),
  'a signal with a start': ({ workflow }) =>
    workflow.signalWithStart('conversation', { workflowId: 'chat', taskQueue: 'agent', signal: 'arrival' }),
  'a look at a workflow': ({ workflow }) => workflow.getHandle('chat').describe(),
  'a look at a schedule': ({ schedule }) => schedule.getHandle('cron').describe(),
  'a list of workflows': ({ workflow }) => Array.fromAsync(workflow.list()),
  'a call without the client': ({ workflowService }) => workflowService.getSystemInfo({}),
};

describe('a Temporal server that is away', () => {
  for (const [name, call] of Object.entries(CALLS))
    it(`is known as such by ${name}, whether its port refuses or says nothing`, async () => {
      const { port } = silent.address() as AddressInfo;
      for (const client of [clientAt(1), clientAt(port)]) {
        const error = await failure(client, call);
        expect(isServerAway(error), String(error)).toBe(true);
      }
    });

  it('is not concluded from other failures, nor from a failure that has it only as a deeper cause', async () => {
    const away = await failure(clientAt(1), CALLS['a signal']!);
    expect(isServerAway(new Error('a worker did not answer', { cause: away }))).toBe(false);
    expect(isServerAway(new Error('invalid'))).toBe(false);
    const invalid = await failure(clientAt(1), ({ workflow }) => workflow.getHandle('chat').signal('arrival', 1n));
    expect(isServerAway(invalid), String(invalid)).toBe(false);
  });
});
