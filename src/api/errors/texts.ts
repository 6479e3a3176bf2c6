import { ApiError, EdgeError } from './errors.ts';

/** Refusals that clients of the runtime API already know, word for word. The recordings in tests/conformance hold most of them. */

export const notJson = (): EdgeError => new EdgeError(415, 'Expected request with `Content-Type: application/json`');
export const bodyTooLong = (): EdgeError => new EdgeError(413, 'Failed to buffer the request body: length limit exceeded');
export const bodyBrokenOff = (): EdgeError => new EdgeError(400, 'Failed to buffer the request body: connection closed');
export const badJson = (what: string): EdgeError => new EdgeError(400, `Failed to parse the request body as JSON: ${what}`);
export const badBody = (what: string): EdgeError => new EdgeError(422, `Failed to deserialize the JSON body into the target type: ${what}`);
export const badQuery = (what: string): EdgeError => new EdgeError(400, `Failed to deserialize query string: ${what}`);
export const badSegment = (name: string): EdgeError => new EdgeError(400, `Invalid URL: Invalid UTF-8 in \`${name}\``);

export const TOKEN_REQUIRED = 'runtime API bearer token required';
export const MOBILE_IS_OFF = 'mobile control is disabled; start with `fetch serve --mobile`';
export const keyTooLong = (limit: number): ApiError => new ApiError(400, `Idempotency-Key is longer than ${limit} characters`);
export const textRequired = (field: string): ApiError => new ApiError(400, `${field} is required`);
export const notBlank = (field: string): ApiError => new ApiError(400, `${field} must not be empty`);
export const NO_THREAD_FIELD = 'At least one thread field is required';
export const workspaceInUse = (id: string): ApiError =>
  new ApiError(400, `Thread ${id} has a turn that runs: its workspace can be changed when that has ended`);
export const badTime = (field: string, text: string): ApiError =>
  new ApiError(400, `Invalid ${field} (expected RFC 3339): ${text.length < 20 ? 'premature end of input' : 'input contains invalid characters'}`);
export const SINCE_AFTER_UNTIL = 'since must be <= until';
export const unsupportedGroup = (text: string, groups: readonly string[]): ApiError =>
  new ApiError(400, `Unsupported group_by '${text}': expected one of ${groups.join(', ')}`);
export const threadNotFound = (id: string): ApiError => new ApiError(404, `Thread not found: ${id}`);
/** for an answer to a question, whose path names the thread */
export const attachmentNotFound = (id: string): ApiError => new ApiError(404, `attachment not found: ${id}`);
export const threadOfInputNotFound = (id: string): ApiError => new ApiError(404, `thread '${id}' not found`);
export const turnNotActive = (id: string, threadId: string): ApiError => new ApiError(409, `Turn ${id} is not active on thread ${threadId}`);
export const noPendingApproval = (id: string): ApiError => new ApiError(404, `no pending approval with id '${id}'`);
export const skillNotFound = (name: string, folder: string): ApiError => new ApiError(404, `skill '${name}' not found in searched directories: ${folder}`);
export const skillNotAgreed = (name: string): ApiError =>
  new ApiError(
    409,
    `You have not agreed to this version of ${name}. Say \`tools show ${name}\` in the chat of the owner: it shows the whole of it, and the words of a yes`,
  );
export const noPendingInput = (id: string): ApiError => new ApiError(404, `no pending user input with id '${id}'`);
export const invalidDecision = (decision: string): ApiError => new ApiError(400, `invalid decision '${decision}'; expected "allow" or "deny"`);

export const DATABASE_AWAY = 'The database does not answer. Try again, with the same Idempotency-Key if there was one.';
export const DISK_FULL = 'The disk of the database is full, so this was not taken. Make room and try again, with the same Idempotency-Key if there was one.';
export const INTERNAL = 'Something went wrong inside; the log says what.';
