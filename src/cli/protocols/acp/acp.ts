import { createInterface } from 'node:readline';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import * as acp from '@agentclientprotocol/sdk';
import { workspacesFolder } from '../../../activities/task/task-workspace.ts';
import { reasonOf } from '../../../client/api-client.ts';
import { ApiError } from '../../../domain/api-error.ts';
import { VERSION } from '../../../installation.ts';
import type { Call } from '../../setup/background/background.ts';
import { FoundServer } from '../../setup/background/server.ts';
import { promptOf, sessionIdOf } from './prompt.ts';
import { Sessions, type SessionsDeps } from './sessions.ts';
import { ThreadApi } from './thread-api.ts';

/**
 * `fetch acp`: an agent for editors that speak the Agent Client Protocol, on standard input and output. The running
 * instance does the work, so a session outlives this process. Returns when the editor has left.
 */
export async function runAcp(call: Call): Promise<void> {
  const left = new AbortController();
  const app = agentApp({
    api: new ThreadApi(new FoundServer(call, left.signal)),
    workspaces: workspacesFolder(call.config),
    say: (text) => void process.stderr.write(`${text}\n`),
    leave: () => connection.close(),
  });
  const connection = app.connect(stdio(process.stdin, process.stdout));
  await connection.closed;
  left.abort(new Error('The editor has left.'));
  // followers of threads and the channel to a parent would keep this process alive
  process.exit();
}

/** A line is one message. A longer one is refused, because a message is held in memory whole. */
const LONGEST = 32 * 1024 * 1024;

interface Refusal {
  id: string | number | null;
  error: { code: number; message: string };
}

/**
 * Messages on standard input and output, one JSON object a line. What is no request gets the error of the reference
 * server.
 */
function stdio(input: NodeJS.ReadableStream, output: NodeJS.WritableStream): Stream {
  const write = (message: unknown): Promise<void> =>
    new Promise((resolve, reject) =>
      output.write(`${JSON.stringify(message)}\n`, (error) => (error ? reject(error) : resolve())),
    );
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  const readable = new ReadableStream<AnyMessage>({
    start(controller) {
      lines.on('line', (line) => {
        if (line.trim() === '') return;
        const read = readLine(line);
        if ('message' in read) controller.enqueue(read.message);
        else write({ jsonrpc: '2.0', ...read }).catch(() => {});
      });
      lines.on('close', () => controller.close());
    },
    cancel: () => lines.close(),
  });
  return { readable, writable: new WritableStream({ write }) };
}

/** One line as a message, or what its sender is told. */
export function readLine(line: string): { message: AnyMessage } | Refusal {
  if (line.length > LONGEST) return refusal(null, -32600, `message is longer than ${LONGEST} characters`);
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch (error) {
    return refusal(null, -32700, `invalid json: ${(error as Error).message}`);
  }
  const { jsonrpc, id, method } = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>;
  const from = typeof id === 'string' || typeof id === 'number' ? id : null;
  if (jsonrpc !== '2.0') return refusal(from, -32600, 'jsonrpc version must be 2.0');
  const answers = Object.hasOwn(value as object, 'result') || Object.hasOwn(value as object, 'error');
  if (typeof method !== 'string' && !answers) return refusal(from, -32600, 'missing method');
  return { message: value as AnyMessage };
}

const refusal = (id: Refusal['id'], code: number, message: string): Refusal => ({ id, error: { code, message } });

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
function agentApp(deps: AgentDeps): acp.AgentApp {
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
