import { randomUUID } from 'node:crypto';
import * as acp from '@agentclientprotocol/sdk';
import { VERSION } from '../../installation.ts';
import type { ThreadDetail } from '../chat/api-client.ts';
import { ApiError, reasonOf } from '../chat/api-request.ts';
import { invalid, promptOf, readPrompt, sessionIdOf } from './prompt.ts';
import { Session, type SessionDeps } from './session.ts';
import type { ThreadApi } from './thread-api.ts';
import { MODES } from './updates.ts';

export interface AgentDeps {
  api: ThreadApi;
  workspaces: string;
  /** for the person, on standard error */
  say: (text: string) => void;
  /** the editor asked for the end */
  leave: () => void;
}

const PAGE = 50;
const CAPABILITIES: acp.AgentCapabilities = {
  loadSession: true,
  // a thread takes text only over HTTP
  promptCapabilities: { image: false, audio: false, embeddedContext: true },
  mcpCapabilities: { http: false, sse: false },
  sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
};

/** The agent that an editor talks to: each session is a thread of the running instance. */
export function agentApp(deps: AgentDeps): acp.AgentApp {
  const { api } = deps;
  const sessions = new Map<string, Session>();
  let capabilities: acp.ClientCapabilities | undefined;
  const sessionDeps = (client: acp.AgentContext): SessionDeps => ({
    api,
    client,
    capabilities,
    workspaces: deps.workspaces,
    failed: (error) => deps.say(reasonOf(error)),
  });
  const open = async (client: acp.AgentContext, detail: ThreadDetail, replay: boolean): Promise<Session> => {
    close(detail.thread.id);
    const session = await Session.follow(sessionDeps(client), detail, replay);
    sessions.set(session.threadId, session);
    return session;
  };
  const close = (id: string): void => {
    sessions.get(id)?.close();
    sessions.delete(id);
  };
  const find = (id: string): Session => {
    const session = sessions.get(id);
    if (!session) throw invalid('unknown sessionId');
    return session;
  };
  const known = async (id: string): Promise<ThreadDetail> => {
    const detail = await api.detail(id, PAGE);
    if (!detail) throw acp.RequestError.resourceNotFound(id);
    return detail;
  };
  const fields = (params: unknown) => (params ?? {}) as Record<string, unknown>;

  return (
    acp
      .agent({ name: 'fetch' })
      .onRequest('initialize', fields, ({ params }) => {
        capabilities = params.clientCapabilities as acp.ClientCapabilities | undefined;
        const wanted = typeof params.protocolVersion === 'number' ? params.protocolVersion : acp.PROTOCOL_VERSION;
        return {
          protocolVersion: Math.min(Math.max(wanted, 1), acp.PROTOCOL_VERSION),
          agentCapabilities: CAPABILITIES,
          agentInfo: { name: 'fetch', title: 'Fetch', version: VERSION },
          authMethods: [],
        } satisfies acp.InitializeResponse;
      })
      .onRequest('authenticate', fields, () => ({}))
      .onRequest('session/new', fields, async ({ params, client }) =>
        told(async () => {
          const thread = await api.createThread(newThread(params.cwd), `editor ${randomUUID()}`);
          const session = await open(client, await known(thread.id), false);
          return { sessionId: session.threadId, modes: session.modes };
        }),
      )
      .onRequest('session/load', sessionOf, async ({ params, client }) => told(async () => ({ modes: (await open(client, await known(params), true)).modes })))
      .onRequest('session/resume', sessionOf, async ({ params, client }) =>
        told(async () => ({ modes: (await open(client, await known(params), false)).modes })),
      )
      .onRequest('session/list', fields, async ({ params }) => told(() => list(api, params)))
      .onRequest('session/close', sessionOf, async ({ params }) =>
        told(async () => {
          await sessions.get(params)?.cancel();
          close(params);
          return {};
        }),
      )
      .onRequest('session/delete', sessionOf, async ({ params }) =>
        told(async () => {
          await known(params);
          close(params);
          await api.change(params, { archived: true });
          return {};
        }),
      )
      .onRequest('session/set_mode', fields, async ({ params }) =>
        told(async () => {
          const session = find(sessionIdOf(params));
          const mode = MODES.find(({ id }) => id === params.modeId);
          if (!mode) throw invalid(`there is no mode ${String(params.modeId)}: ${MODES.map(({ id }) => id).join(' or ')}`);
          await session.setMode(mode.id);
          return {};
        }),
      )
      .onRequest('session/prompt', promptOf, async ({ params }) =>
        told(async () => ({ stopReason: await find(params.sessionId).prompt(readPrompt(params.prompt)) })),
      )
      .onNotification('session/cancel', ({ params }) =>
        sessions
          .get(params.sessionId)
          ?.cancel()
          .catch((error) => deps.say(reasonOf(error))),
      )
      // some clients send it as a request
      .onRequest('session/cancel', fields, async ({ params }) => {
        await sessions.get(String(params.sessionId))?.cancel();
        return null;
      })
      .onRequest('shutdown', fields, () => {
        // the answer goes first
        setImmediate(deps.leave);
        return null;
      })
      .onRequest('*', ({ method }) => {
        throw new acp.RequestError(-32601, `method not found: ${method}`);
      })
  );
}

const sessionOf = (params: unknown): string => sessionIdOf(params);

/** What the model has to know of the folder that the editor has open. */
function newThread(cwd: unknown): Record<string, unknown> {
  const folder = typeof cwd === 'string' && cwd !== '' ? cwd : process.cwd();
  return {
    workspace: folder,
    mode: 'agent',
    // each command asks in the editor
    allow_shell: true,
    system_prompt: `The person writes from an editor that has the folder ${folder} open. To work on it, bring it in as a workspace (workspace_clone) if there is none of it yet.`,
  };
}

async function list(api: ThreadApi, { cwd, cursor }: Record<string, unknown>): Promise<acp.ListSessionsResponse> {
  const from = typeof cursor === 'string' ? Number(cursor) : 0;
  if (!Number.isSafeInteger(from) || from < 0) throw invalid('cursor is not one of this list');
  const all = (await api.threads(from + PAGE + 1)).slice(from);
  const sessions = all.slice(0, PAGE).filter(({ workspace }) => typeof cwd !== 'string' || workspace === cwd);
  return {
    sessions: sessions.map(({ id, workspace, title, updated_at }) => ({ sessionId: id, cwd: workspace, ...(title && { title }), updatedAt: updated_at })),
    ...(all.length > PAGE && { nextCursor: String(from + PAGE) }),
  };
}

/** What an editor is told when something fails: the server's own sentence. */
async function told<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof acp.RequestError) throw error;
    const code = error instanceof ApiError && error.status < 500 ? -32602 : -32603;
    throw new acp.RequestError(code, error instanceof ApiError ? error.message : reasonOf(error));
  }
}
