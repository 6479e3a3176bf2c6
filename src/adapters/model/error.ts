import { type FailureType, failures } from '../../domain/failures.ts';

/** A failed model call, already classified. `message` is written for a person and holds no secret. */
export class ModelError extends Error {
  readonly type: FailureType;
  /** how long the endpoint asked to wait, in ms */
  readonly retryAfterMs?: number;
  /** HTTP status, when there was an answer */
  readonly status?: number;
  /** the endpoint accepted the request and sent nothing; a retry would take as long again */
  readonly silent: boolean;

  constructor(type: FailureType, message: string, details: { retryAfterMs?: number; status?: number; silent?: boolean; cause?: unknown } = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ModelError';
    this.type = type;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.silent = details.silent ?? false;
  }

  get retryable(): boolean {
    return failures[this.type].retry;
  }
}
