import { ActivityFailure, ApplicationFailure, TimeoutFailure } from '@temporalio/workflow';
import { type FailureType, failures, isFailureType } from '../../domain/failures.ts';

/** Type and sentence of what ended a turn, a send or a task, in the closed vocabulary. */
export function failureOf(error: unknown): { type: FailureType; message: string } {
  const cause = error instanceof ActivityFailure ? error.cause : error;
  if (cause instanceof ApplicationFailure) {
    const type = cause.type && isFailureType(cause.type) ? cause.type : 'Internal';
    return { type, message: cause.message || failures[type].tell };
  }
  if (cause instanceof TimeoutFailure) return { type: 'Internal', message: 'A step took too long and was given up.' };
  return {
    type: 'Internal',
    message: `${failures.Internal.tell} (${cause instanceof Error ? cause.message : String(cause)})`,
  };
}

/** No worker of the host took the work: the host is off, or has no container engine. */
export const hostIsAway = (error: unknown): boolean =>
  error instanceof ActivityFailure &&
  error.cause instanceof TimeoutFailure &&
  error.cause.timeoutType === 'SCHEDULE_TO_START';
