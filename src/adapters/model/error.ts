import { type FailureType, failures } from '../../domain/failures.ts';

interface ModelErrorDetails {
  retryAfterMs?: number | undefined;
  status?: number | undefined;
  silent?: boolean;
  param?: string | undefined;
  code?: string | undefined;
  cause?: unknown;
}

/** A failed model call, already classified. `message` is written for a person and holds no secret. */
export class ModelError extends Error {
  readonly type: FailureType;
  /** how long the endpoint asked to wait, in ms */
  readonly retryAfterMs?: number;
  /** HTTP status, when there was an answer */
  readonly status?: number;
  /** the endpoint accepted the request and sent nothing; a retry would take as long again */
  readonly silent: boolean;
  /** the field of the request that the endpoint names, as it writes it */
  readonly param?: string;
  /** the endpoint's own code, as it writes it */
  readonly code?: string;

  constructor(type: FailureType, message: string, details: ModelErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'ModelError';
    this.type = type;
    this.retryAfterMs = details.retryAfterMs;
    this.status = details.status;
    this.silent = details.silent ?? false;
    this.param = details.param;
    this.code = details.code;
  }

  get retryable(): boolean {
    return failures[this.type].retry;
  }
}
