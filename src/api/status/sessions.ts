import { z } from 'zod';
import { CHANNELS } from '../../contracts/channels.ts';
import { userIdOf } from '../../domain/whatsapp/identity.ts';
import { listSessions, readSession } from '../../store/chats/sessions/sessions.ts';
import { listWorkspaces } from '../../store/kennel/workspaces/workspaces.ts';
import { ApiError, EdgeError } from '../errors/errors.ts';
import { ID } from '../http/request.ts';
import { done, endpoint, taken } from './endpoint.ts';

/** Sessions: the threads of all channels, as clients of the status API know them. All need the admin token. */

const MOST_LISTED = 1000;
const USUALLY_LISTED = 100;

const count = z.int().nonnegative();
const time = z.iso.datetime();
const head = {
  id: z.string().describe('Id of the thread'),
  userId: z.string().describe('Who writes: number@c.us, group@g.us, or the address of the chat on another channel'),
  lastActivityAt: time,
  createdAt: time,
};

const summary = z
  .object({ ...head, messageCount: count, activeProject: z.string().nullable() })
  .meta({ id: 'SessionSummary' });

const message = z
  .object({ role: z.enum(['user', 'assistant', 'tool']), content: z.string(), timestamp: time })
  .meta({ id: 'SessionMessage' });

const project = z
  .object({
    name: z.string(),
    host: z.string().nullable(),
    path: z.string().nullable(),
    language: z.string().nullable(),
    framework: z.string().nullable(),
    packageManager: z.string().nullable(),
    gitBranch: z.string().nullable(),
  })
  .meta({ id: 'SessionProject' });

const session = z
  .object({
    ...head,
    metadata: z.object({
      channel: z.enum(Object.keys(CHANNELS) as [string, ...string[]]),
      title: z.string().nullable(),
      model: z.string(),
      mode: z.string(),
    }),
    messages: z.array(message).describe('Since the conversation was begun or cleared; of more than 16 MB the newest'),
    currentProject: project.nullable(),
    availableProjects: z.array(z.string()),
    activeFiles: z.array(z.string()).describe('Empty: no list of files is kept'),
    repoMap: z.null().describe('No map is kept'),
    repoMapUpdatedAt: z.null(),
    preferences: z.object({
      autonomyLevel: z.enum(['supervised', 'cautious', 'autonomous']),
      autoCommit: z.literal(true).describe('Every coding task ends with a commit'),
      verboseMode: z.literal(false),
    }),
    activeTaskId: z.string().nullable(),
    gitStartCommit: z.null().describe('Each task has a checkpoint of its own'),
  })
  .meta({ id: 'Session' });

const limit = z
  .string()
  .refine(
    (text) => /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= MOST_LISTED,
    `must be a whole number from 1 to ${MOST_LISTED}`,
  )
  .transform(Number)
  .meta({ type: 'integer', minimum: 1, maximum: MOST_LISTED });

export const getSessions = endpoint({
  method: 'GET',
  path: '/api/sessions',
  summary: 'Sessions, latest activity first',
  query: { limit },
  answer: {
    schema: z.object({ success: z.literal(true), sessions: z.array(summary) }),
    what: 'At most 100, or as many as asked for.',
  },
  handle: async ({ query }, { store: { db } }) => {
    const rows = await listSessions(db, query.limit ?? USUALLY_LISTED);
    const sessions = rows.map((row) => ({
      id: row.id,
      userId: userIdOf(row),
      messageCount: row.messages,
      lastActivityAt: row.updated_at.toISOString(),
      createdAt: row.created_at.toISOString(),
      activeProject: row.project,
    }));
    return { success: true as const, sessions };
  },
});

const NO_SESSION = 'Session not found';
const missing = { 404: 'There is no such session.' };

export const getSession = endpoint({
  method: 'GET',
  path: '/api/sessions/{id}',
  summary: 'One session in full',
  answer: { schema: z.object({ success: z.literal(true), session }), what: 'The session with its messages.' },
  refusals: missing,
  handle: async ({ params }, { store: { db } }) => {
    const [row, workspaces] = await Promise.all([readSession(db, sessionId(params.id)), listWorkspaces(db)]);
    if (!row) throw new ApiError(404, NO_SESSION);
    return {
      success: true as const,
      session: {
        id: row.id,
        userId: userIdOf(row),
        metadata: { channel: row.channel, title: row.title, model: row.model, mode: row.mode },
        messages: row.messages.map(({ role, content, timestamp }) => ({ role, content, timestamp })),
        currentProject: row.project === null ? null : projectOf(row.project, row),
        availableProjects: [...new Set(workspaces.map(({ name }) => name))],
        activeFiles: [],
        repoMap: null,
        repoMapUpdatedAt: null,
        preferences: { autonomyLevel: row.autonomy, autoCommit: true as const, verboseMode: false as const },
        activeTaskId: row.task,
        gitStartCommit: null,
        createdAt: row.created_at.toISOString(),
        lastActivityAt: row.updated_at.toISOString(),
      },
    };
  },
});

const projectOf = (
  name: string,
  { projectHost, projectPath, profile }: NonNullable<Awaited<ReturnType<typeof readSession>>>,
) => ({
  name,
  host: projectHost,
  path: projectPath,
  language: profile?.language ?? null,
  framework: profile?.framework ?? null,
  packageManager: profile?.packageManager ?? null,
  gitBranch: profile?.git?.branch ?? null,
});

const atWork = { 409: 'A turn is at work in it; or, for a deletion, a coding task.', ...missing };

export const deleteSession = endpoint({
  method: 'DELETE',
  path: '/api/sessions/{id}',
  summary: 'Delete a session and erase its texts; the next message in its chat begins a new conversation',
  answer: taken('The session is gone.'),
  refusals: atWork,
  handle: async ({ params }, { intake }) => {
    await intake.deleteSession(sessionId(params.id));
    return done('Session deleted');
  },
});

export const clearSession = endpoint({
  method: 'POST',
  path: '/api/sessions/{id}/clear',
  summary: 'Begin a new conversation: what was said before is left behind',
  answer: taken('The session has no messages.'),
  refusals: atWork,
  handle: async ({ params }, { intake }) => {
    await intake.clearSession(sessionId(params.id));
    return done('Session cleared');
  },
});

/** @throws EdgeError 400 */
function sessionId(id: string): string {
  if (ID.test(id)) return id;
  throw new EdgeError(400, 'Invalid session ID: it has 1 to 128 letters, digits, underscores and hyphens');
}
