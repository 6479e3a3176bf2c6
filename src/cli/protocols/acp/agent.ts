import * as acp from '@agentclientprotocol/sdk';
import { reasonOf } from '../../../client/api-request.ts';
import { ApiError } from '../../../domain/api-error.ts';
import { VERSION } from '../../../installation.ts';
import { promptOf, sessionIdOf } from './prompt.ts';
import { Sessions, type SessionsDeps } from './sessions.ts';

interface AgentDeps extends SessionsDeps {
  /** the editor asked for the end */
  leave: () => void;
}

const CAPABILITIES: acp.AgentCapabilities = {
  loadSession: true,
  promptCapabilities: { image: true, audio: false, embeddedContext: true },
  mcpCapabilities: { http: false, sse: false },
  sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
};

/**
 * Parameters that may be missing or of any shape: what is wrong gets the words of the reference server, which the SDK's
 * own check would replace.
 */
const fields = (params: unknown) => (params ?? {}) as Record<string, unknown>;

/** The agent that an editor talks to: each session is a thread of the running instance. */
export function agentApp(deps: AgentDeps): acp.AgentApp {
  const sessions = new Sessions(deps);
  return (
    acp
      .agent({ name: 'fetch' })
      .onRequest('initialize', fields, ({ params }) => initialize(sessions, params))
      .onRequest('authenticate', fields, () => ({}))
      .onRequest('session/new', fields, ({ params, client }) => told(() => sessions.begin(client, params.cwd)))
      .onRequest('session/load', sessionIdOf, ({ params: id, client }) => told(() => sessions.load(client, id, true)))
      .onRequest('session/resume', sessionIdOf, ({ params: id, client }) =>
        told(() => sessions.load(client, id, false)),
      )
      .onRequest('session/list', fields, ({ params }) => told(() => sessions.list(params)))
      .onRequest('session/close', sessionIdOf, ({ params: id }) => told(() => sessions.close(id).then(() => ({}))))
      .onRequest('session/delete', sessionIdOf, ({ params: id }) => told(() => sessions.remove(id).then(() => ({}))))
      .onRequest('session/set_mode', fields, ({ params }) =>
        told(() => sessions.setMode(sessionIdOf(params), params.modeId).then(() => ({}))),
      )
      .onRequest('session/prompt', promptOf, ({ params: { sessionId, prompt } }) =>
        told(() => sessions.prompt(sessionId, prompt)),
      )
      .onNotification(
        'session/cancel',
        fields,
        ({ params }) => void sessions.cancel(String(params.sessionId)).catch((error) => deps.say(reasonOf(error))),
      )
      // some clients send it as a request
      .onRequest('session/cancel', fields, ({ params }) =>
        told(() => sessions.cancel(String(params.sessionId)).then(() => null)),
      )
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

function initialize(sessions: Sessions, params: Record<string, unknown>): acp.InitializeResponse {
  sessions.capabilities = params.clientCapabilities as acp.ClientCapabilities | undefined;
  const wanted = typeof params.protocolVersion === 'number' ? params.protocolVersion : acp.PROTOCOL_VERSION;
  return {
    protocolVersion: Math.min(Math.max(wanted, 1), acp.PROTOCOL_VERSION),
    agentCapabilities: CAPABILITIES,
    agentInfo: { name: 'fetch', title: 'Fetch', version: VERSION },
    authMethods: [],
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
