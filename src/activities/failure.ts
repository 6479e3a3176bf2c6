import { ApplicationFailure } from '@temporalio/common';
import { KennelFull, KennelUnavailable } from '../adapters/kennel/kennel.ts';
import { ModelError } from '../adapters/model/model.ts';
import { type FailureType, failures } from '../domain/failures.ts';
import { storableText } from '../domain/text/storable.ts';
import { ChannelAway } from '../gateway/channels/channel.ts';
import { isGone } from '../store/postgres/database.ts';

/** A failure of the closed vocabulary, as Temporal shows it: type, one sentence, cause. */
export const fail = (
  type: FailureType,
  message: string,
  options: {
    nextRetryDelayMs?: number;
    cause?: Error /** not tried again, whatever its type is */;
    final?: boolean;
  } = {},
): ApplicationFailure =>
  ApplicationFailure.create({
    type,
    // Temporal refuses a failure whose text is not well-formed, and the attempt would end as a time-out
    message: storableText(message),
    nonRetryable: options.final ?? !failures[type].retry,
    ...(options.nextRetryDelayMs !== undefined && { nextRetryDelay: options.nextRetryDelayMs }),
    ...(options.cause && { cause: options.cause }),
  });

/** The same failure, without a retry. */
export function finalOf(error: Error): ApplicationFailure {
  const failed = ApplicationFailure.fromError(error);
  return ApplicationFailure.create({
    type: failed.type ?? 'Internal',
    message: failed.message,
    nonRetryable: true,
    ...(failed.cause && { cause: failed.cause }),
  });
}

/** Gives any error of an activity a type of the vocabulary. */
export function asFailure(error: unknown): Error {
  if (error instanceof ApplicationFailure) return error;
  if (error instanceof ModelError)
    return fail(error.type, error.message, {
      ...(error.retryAfterMs !== undefined && { nextRetryDelayMs: error.retryAfterMs }),
    });
  if (error instanceof ChannelAway)
    return fail('ChannelUnavailable', error.message, { nextRetryDelayMs: error.retryAfterMs });
  if (error instanceof KennelFull) return fail('KennelFull', error.message, { nextRetryDelayMs: 2_000 });
  if (error instanceof KennelUnavailable) return fail('KennelUnavailable', error.message);
  if (isGone(error)) return fail('NotFound', `A record that this step needs is gone: ${(error as Error).message}`);
  if (isStoreAway(error))
    return fail('StoreUnavailable', `The database does not answer: ${(error as Error).message}`, {
      cause: error as Error,
    });
  const thrown = error instanceof Error ? error : new Error(String(error));
  const message = storableText(thrown.message);
  return message === thrown.message
    ? thrown
    : Object.assign(new Error(message, { cause: thrown.cause }), { name: thrown.name });
}

/**
 * SQLSTATE class 08 (connection), 57P (shutdown), 53 (resources, such as a full disk), and the errors of the socket and
 * the pool.
 */
export function isStoreAway(error: unknown): boolean {
  const code = (error as { code?: string } | null)?.code;
  if (typeof code === 'string' && /^(08|57P|53|ECONN|ETIMEDOUT|EPIPE)/.test(code)) return true;
  return (
    error instanceof Error &&
    /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error/.test(
      error.message,
    )
  );
}
