import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { z } from 'zod';
import { UserError } from '../../contracts/user-error.ts';
import { factsOfSession, movedSession, SESSION_AGENTS, SESSION_ID } from '../../domain/tasks/session-text.ts';
import { branchProblem } from '../../domain/tasks/workspace-names.ts';
import { FILE_LIMITS } from '../../domain/text/files.ts';

/**
 * A session of a coding agent as one file, with the work that belongs to it. It is JSON and names no paths to write to,
 * so nothing in it can lead to another place.
 */

/** The only ref in `work`. */
export const HANDED_OVER = 'refs/fetch/hand-over';
const MEGABYTE = 1024 * 1024;
/** The largest file that a message can have. */
const PACKED_BYTES = FILE_LIMITS.document;
/** Sessions pack to a tenth. More than this is made to fill a memory. */
const UNPACKED_BYTES = 256 * MEGABYTE;

const commit = z.string().regex(/^[0-9a-f]{40}(?:[0-9a-f]{24})?$/);
const line = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[^\p{Cc}]*$/u);

const shape = z.strictObject({
  format: z.literal('fetch-session'),
  version: z.literal(1),
  agent: z.enum(SESSION_AGENTS),
  sessionId: z.string().regex(SESSION_ID),
  title: line(200),
  /** name of the project's folder */
  project: line(200),
  /** the folder in which the agent worked, and all of the project with it */
  root: line(1_000).regex(/^(?:\/|[A-Za-z]:[\\/])./),
  branch: line(250)
    .refine((name) => branchProblem(name) === null)
    .nullable(),
  /** the commit with everything */
  tip: commit,
  /** `tip` was made for the move: it has what was not committed */
  unfinished: z.boolean(),
  /** commits that the other side must have */
  needs: z.array(commit).max(1_000),
  /** without user and password */
  remote: line(1_000).nullable(),
  session: z.string(),
  /** a git bundle, base64; null when the other side has `tip` already, if it has what is needed */
  work: z.base64().nullable(),
});

export type SessionBundle = Omit<z.output<typeof shape>, 'format' | 'version'>;

/** @throws UserError when it is too large to be sent */
export async function packSession(bundle: SessionBundle): Promise<Buffer> {
  const packed = await promisify(gzip)(JSON.stringify({ format: 'fetch-session', version: 1, ...bundle }));
  if (packed.length > PACKED_BYTES)
    throw new UserError(
      `The session and its work are ${Math.ceil(packed.length / MEGABYTE)} MB, and a message takes ${PACKED_BYTES / MEGABYTE}. Push the branch first: commits that the remote has are left out.`,
    );
  return packed;
}

const isPacked = (data: Buffer): boolean => data.subarray(0, 2).toString('hex') === '1f8b';

/** Reads a bundle that anybody can have made. @throws UserError, which says what is wrong with it */
export async function readSession(data: Buffer): Promise<SessionBundle> {
  const { format, version, ...bundle } = check(await unpacked(data));
  const facts = factsOfSession(bundle.agent, bundle.session);
  if (!facts) throw refused('what it calls the session is none of this agent');
  if (facts.id !== bundle.sessionId) throw refused('the session in it is another one than it says');
  const { secrets } = movedSession(bundle.session, { from: bundle.root, to: bundle.root });
  if (secrets > 0) throw refused('the session holds what looks like a key, which fetch hand-over would have taken out');
  return bundle;
}

const refused = (why: string): UserError => new UserError(`This is no session to go on with: ${why}.`);

async function unpacked(data: Buffer): Promise<string> {
  if (!isPacked(data)) throw refused('it was not made by fetch hand-over');
  if (data.length > PACKED_BYTES) throw refused(`it has more than ${PACKED_BYTES / MEGABYTE} MB`);
  try {
    return (await promisify(gunzip)(data, { maxOutputLength: UNPACKED_BYTES })).toString('utf8');
  } catch (error) {
    const isHuge = (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';
    throw refused(isHuge ? `unpacked it has more than ${UNPACKED_BYTES / MEGABYTE} MB` : 'it is damaged');
  }
}

function check(text: string): z.output<typeof shape> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refused('it was not made by fetch hand-over');
  }
  const read = shape.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  if ((value as { version?: unknown } | null)?.version !== 1)
    throw refused('it was not made by fetch hand-over, or by another release');
  throw refused(
    issue?.code === 'unrecognized_keys'
      ? `it holds more than a session and its work (${issue.keys.join(', ').slice(0, 100)})`
      : `its ${String(issue?.path[0] ?? 'content').slice(0, 50)} is not right`,
  );
}
