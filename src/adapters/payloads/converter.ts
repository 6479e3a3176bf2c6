import { fileURLToPath } from 'node:url';
import type { DataConverter } from '@temporalio/common';
import { CODE_EXTENSION } from '../../installation.ts';
import { createPayloadCodec } from './codec.ts';
import type { PayloadKeys } from './keys.ts';

/** Goes into the bundle of the workflows, too. */
export const FAILURE_CONVERTER = fileURLToPath(
  new URL(`../../workflows/shared/failure-converter${CODE_EXTENSION}`, import.meta.url),
);

/**
 * What every client, worker and replay uses. Workflow code knows nothing of the keys: the codec works outside of its
 * sandbox.
 */
export const dataConverter = (read: () => PayloadKeys): DataConverter => ({
  failureConverterPath: FAILURE_CONVERTER,
  payloadCodecs: [createPayloadCodec(read)],
});
