import { IntakeError } from '../../gateway/intake/intake.ts';
import { KeyReused } from '../../store/chats/request-keys.ts';
import { NoThread } from '../../store/postgres/database.ts';
import { isDatabaseAway, isDiskFull } from '../../store/postgres/health.ts';
import { ApiError, DATABASE_AWAY, DISK_FULL, INTERNAL } from './errors.ts';

const STATUS = { not_found: 404, conflict: 409, invalid: 400, reused: 422 } as const;

/** The refusal for an error that the client caused and can understand; null for our own failures. */
export function refusalOf(error: unknown): ApiError | null {
  if (error instanceof ApiError) return error;
  if (error instanceof IntakeError) return new ApiError(STATUS[error.code], error.message);
  if (error instanceof NoThread) return new ApiError(404, error.message);
  if (error instanceof KeyReused) return new ApiError(422, error.message);
  return null;
}

/** The answer to a client after a failure of this server, and the seconds until it may try again. */
export function failureOf(error: unknown): { error: ApiError; retryAfter?: number } {
  if (isDatabaseAway(error)) return { error: new ApiError(503, DATABASE_AWAY), retryAfter: 1 };
  if (isDiskFull(error)) return { error: new ApiError(503, DISK_FULL), retryAfter: 10 };
  return { error: new ApiError(500, INTERNAL) };
}
