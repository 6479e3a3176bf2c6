import { cut } from '../../domain/text/storable.ts';

/** Refusals of path, query and body are plain text. Refusals of the application are `{"error":{message,status}}`. */
export class EdgeError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export class ApiError extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Refusals that clients of the runtime API already know, word for word. The recordings in tests/conformance hold most
 * of them.
 */

export const notJson = (): EdgeError => new EdgeError(415, 'Expected request with `Content-Type: application/json`');
export const bodyTooLong = (): EdgeError =>
  new EdgeError(413, 'Failed to buffer the request body: length limit exceeded');
export const bodyBrokenOff = (): EdgeError =>
  new EdgeError(400, 'Failed to buffer the request body: connection closed');
export const badJson = (what: string): EdgeError =>
  new EdgeError(400, `Failed to parse the request body as JSON: ${what}`);
export const badBody = (what: string): EdgeError =>
  new EdgeError(422, `Failed to deserialize the JSON body into the target type: ${what}`);
export const badQuery = (what: string): EdgeError => new EdgeError(400, `Failed to deserialize query string: ${what}`);
export const badSegment = (name: string): EdgeError => new EdgeError(400, `Invalid URL: Invalid UTF-8 in \`${name}\``);

export const TOKEN_REQUIRED = 'runtime API bearer token required';
export const MOBILE_IS_OFF = 'mobile control is disabled; start with `fetch serve --mobile`';
export const keyTooLong = (limit: number): ApiError =>
  new ApiError(400, `Idempotency-Key is longer than ${limit} characters`);
export const textRequired = (field: string): ApiError => new ApiError(400, `${field} is required`);
export const notBlank = (field: string): ApiError => new ApiError(400, `${field} must not be empty`);
export const NO_THREAD_FIELD = 'At least one thread field is required';
export const workspaceInUse = (id: string): ApiError =>
  new ApiError(400, `Thread ${id} has a turn that runs: its workspace can be changed when that has ended`);
export const badTime = (field: string, text: string): ApiError =>
  new ApiError(
    400,
    `Invalid ${field} (expected RFC 3339): ${text.length < 20 ? 'premature end of input' : 'input contains invalid characters'}`,
  );
export const SINCE_AFTER_UNTIL = 'since must be <= until';
export const unsupportedGroup = (text: string, groups: readonly string[]): ApiError =>
  new ApiError(400, `Unsupported group_by '${text}': expected one of ${groups.join(', ')}`);
export const threadNotFound = (id: string): ApiError => new ApiError(404, `Thread not found: ${id}`);
/** for an answer to a question, whose path names the thread */
export const attachmentNotFound = (id: string): ApiError => new ApiError(404, `attachment not found: ${id}`);
export const threadOfInputNotFound = (id: string): ApiError => new ApiError(404, `thread '${id}' not found`);
export const sessionNotFound = (id: string): ApiError => new ApiError(404, `Session '${id}' not found`);
export const badSessionId = (id: string): ApiError => new ApiError(400, `Invalid session id '${id}'`);
export const sessionInUse = (id: string): ApiError =>
  new ApiError(409, `Thread ${id} has a queued or active turn; wait for completion before saving as a session`);
export const nothingToSave = (id: string): ApiError =>
  new ApiError(400, `Thread ${id} has no user or assistant messages to save`);
export const turnNotActive = (id: string, threadId: string): ApiError =>
  new ApiError(409, `Turn ${id} is not active on thread ${threadId}`);
export const noPendingApproval = (id: string): ApiError => new ApiError(404, `no pending approval with id '${id}'`);
export const skillNotFound = (name: string, folder: string): ApiError =>
  new ApiError(404, `skill '${name}' not found in searched directories: ${folder}`);
export const skillNotAgreed = (name: string): ApiError =>
  new ApiError(
    409,
    `You have not agreed to this version of ${name}. Say \`tools show ${name}\` in the chat of the owner: it shows the whole of it, and the words of a yes`,
  );
export const noPendingInput = (id: string): ApiError => new ApiError(404, `no pending user input with id '${id}'`);
export const automationNotFound = (id: string): ApiError => new ApiError(404, `Automation not found: ${id}`);
export const automationTextRequired = (field: string): ApiError => new ApiError(400, `Automation ${field} is required`);
export const automationTextEmpty = (field: string): ApiError =>
  new ApiError(400, `Automation ${field} cannot be empty`);
export const snapshotNotFound = (id: string): ApiError => new ApiError(404, `Snapshot not found: ${id}`);
export const snapshotLimit = ({ least, most }: { least: number; most: number }, limit: number): ApiError =>
  new ApiError(400, `limit must be between ${least} and ${most}; got ${limit}`);
export const taskNotFound = (id: string): ApiError => new ApiError(404, `Task not found: ${id}`);
export const ambiguousTask = (prefix: string, count: number): ApiError =>
  new ApiError(400, `Ambiguous task prefix '${prefix}': matches ${count} tasks`);
export const goalTooLong = (limit: number): ApiError =>
  new ApiError(
    400,
    `prompt is longer than ${limit} characters, the most that a coding task takes. Put the rest into a file of its workspace and name that.`,
  );
export const unknownAgent = (name: string, names: readonly string[]): ApiError =>
  new ApiError(400, `There is no coding agent '${cut(name, 40)}'; expected one of ${names.join(', ')}`);
export const unknownWorkspace = (name: string, names: readonly string[]): ApiError =>
  new ApiError(
    400,
    `There is no workspace '${cut(name, 100)}'; ${names.length > 0 ? `there are ${names.join(', ')}` : 'there is none yet: make one with workspace_create'}`,
  );
export const invalidDecision = (decision: string): ApiError =>
  new ApiError(400, `invalid decision '${decision}'; expected "allow" or "deny"`);

export const DATABASE_AWAY = 'The database does not answer. Try again, with the same Idempotency-Key if there was one.';
export const DISK_FULL =
  'The disk of the database is full, so this was not taken. Make room and try again, with the same Idempotency-Key if there was one.';
export const INTERNAL = 'Something went wrong inside; the log says what.';
