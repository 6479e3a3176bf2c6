import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Puts message and stack of a failure into a payload, so that the codec encrypts them. Temporal loads this file by its
 * path: in the sandbox of workflows, and outside of it.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
