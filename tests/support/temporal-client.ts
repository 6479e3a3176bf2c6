import { Client, type Connection } from '@temporalio/client';
import { dataConverter } from '../../src/adapters/payloads/codec.ts';
import { readPayloadKeys } from '../../src/cli/instance/home/payload-keys.ts';

/** A client that reads and writes payloads as the roles of this home do. */
export const clientOf = ({ home }: { home: string }, connection: Connection): Client =>
  new Client({
    connection,
    dataConverter: dataConverter(() => readPayloadKeys({ FETCH_HOME: home, FETCH_PAYLOAD_KEYS: undefined })),
  });
