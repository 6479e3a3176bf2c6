import Koa, { type Context, type Next } from 'koa';
import { z } from 'zod';
import type { ApiDeps } from './api-deps.ts';
import { EdgeError, TOKEN_REQUIRED } from './errors/errors.ts';
import { failureOf, refusalOf } from './errors/runtime-errors.ts';
import { asksForToken, authoriser, mobileGate } from './http/access/auth.ts';
import { forbidEmbedding, originList, setCors } from './http/access/cors.ts';
import { requireKnownHost } from './http/access/host.ts';
import { type Port, withDocument } from './http/openapi.ts';
import { sendEmpty, sendError, sendText } from './http/reply.ts';
import { routerOf, routesAt } from './http/router.ts';
import { ownerEndpoints } from './owner/owner-api.ts';
import {
  deleteAutomation,
  getAutomation,
  getAutomationRuns,
  getAutomations,
  patchAutomation,
  postAutomation,
  postAutomationPause,
  postAutomationResume,
  postAutomationRun,
} from './runtime/automations.ts';
import { getEvents } from './runtime/events/events.ts';
import { postStream } from './runtime/events/stream.ts';
import { getHealth, getRuntimeInfo } from './runtime/instance/info.ts';
import { getMcpServers, getMcpTools } from './runtime/instance/mcp-servers.ts';
import { getSkills, postSkill } from './runtime/instance/skills.ts';
import { getUsage } from './runtime/instance/usage.ts';
import { deleteMcp, getMcp, postMcp } from './runtime/mcp/mcp.ts';
import type { RuntimeDeps } from './runtime/shared/endpoint.ts';
import { Wakeups } from './runtime/shared/wakeups.ts';
import { getTask, getTasks, postTask, postTaskCancel } from './runtime/tasks/tasks.ts';
import { postFork, postResume } from './runtime/threads/copies.ts';
import { deleteSession, getSession, getSessions, postResumeThread, postSession } from './runtime/threads/sessions.ts';
import { getThreadsSummary } from './runtime/threads/summary.ts';
import {
  getConsole,
  getRunningThreads,
  getThreadDetail,
  getThreads,
  patchThread,
  postCompact,
  postThread,
} from './runtime/threads/threads.ts';
import { postApproval, postUserInput } from './runtime/turns/answers.ts';
import { getAttachment, postAttachment } from './runtime/turns/files.ts';
import { getTurnReceipt, postInterrupt, postMessage, postSteer, postTurn } from './runtime/turns/turns.ts';
import { postPatchUndo, postRetry, postUndo } from './runtime/undo.ts';
import { getSnapshots, getWorkspaceStatus, postShip, postSnapshotRestore } from './runtime/workspaces.ts';
import { ownersPage } from './web-page.ts';

/** The description of the runtime API in its OpenAPI document. */
export const runtimePort: Port = {
  title: 'Fetch runtime API',
  description:
    'Threads, turns and their events. `/health` and `/v1/runtime/info` need no token. What is wrong with a path, a query or a body is told as plain text, everything else as JSON. The same Idempotency-Key (or `operation_key` in a JSON body) within an operation and its target has one effect and gives the same answer; with another body it is refused with 422.',
  security: {
    bearer: { type: 'http', scheme: 'bearer', description: 'The runtime token' },
    query: { type: 'apiKey', in: 'query', name: 'token', description: 'For clients that cannot set headers' },
  },
  refusal: z.object({ error: z.object({ message: z.string(), status: z.int() }) }).meta({ id: 'Refusal' }),
  plainTextRefusals: true,
  idempotencyKeys: true,
};

export const runtimeEndpoints = withDocument<RuntimeDeps>(runtimePort, [
  getHealth,
  getRuntimeInfo,
  getThreads,
  getRunningThreads,
  postThread,
  getThreadDetail,
  patchThread,
  postTurn,
  postSteer,
  postInterrupt,
  getTurnReceipt,
  postMessage,
  getEvents,
  postApproval,
  postUserInput,
  getConsole,
  getAttachment,
  postAttachment,
  getUsage,
  getWorkspaceStatus,
  getSkills,
  postSkill,
  getMcpServers,
  getMcpTools,
  getThreadsSummary,
  postResume,
  postFork,
  postUndo,
  postRetry,
  postPatchUndo,
  postCompact,
  getSessions,
  postSession,
  getSession,
  deleteSession,
  postResumeThread,
  postStream,
  getTasks,
  postTask,
  getTask,
  postTaskCancel,
  getAutomations,
  postAutomation,
  getAutomation,
  patchAutomation,
  deleteAutomation,
  postAutomationRun,
  postAutomationPause,
  postAutomationResume,
  getAutomationRuns,
  getSnapshots,
  postSnapshotRestore,
  postShip,
  ...ownerEndpoints,
  postMcp,
  getMcp,
  deleteMcp,
]);
const OPEN: ReadonlySet<string> = new Set(runtimeEndpoints.filter(({ open }) => open).map(({ path }) => path));

/**
 * The runtime API: `/health` and `/v1`. The order of refusals is part of the contract: 404, then 401, then 405, then
 * the endpoint's own.
 */
export function createRuntimeApi(deps: ApiDeps): Koa {
  const app = new Koa();
  const wakeups = new Wakeups(deps.store);
  deps.stopping?.addEventListener('abort', () => void wakeups.stop());
  const router = routerOf(runtimeEndpoints, { ...deps, wakeups });
  app.silent = true;
  app.on('error', (error: NodeJS.ErrnoException) => {
    // a client that leaves during a stream is not our error
    if (!['ECONNRESET', 'EPIPE', 'ERR_STREAM_PREMATURE_CLOSE'].includes(error.code ?? ''))
      deps.log?.error({ err: error }, 'response failed');
  });
  const { config, token } = deps;
  const allowedOrigin = originList(config.DEEPSEEK_CORS_ORIGINS);
  const isAllowed = authoriser(deps);
  app.use(requireKnownHost(config));
  app.use((ctx, next) => {
    setCors(ctx, allowedOrigin);
    forbidEmbedding(ctx);
    return next();
  });
  app.use(mobileGate({ isOn: () => config.FETCH_MOBILE, token: asksForToken(config) ? token : null }));
  app.use(ownersPage(deps));
  app.use(async (ctx, next) => {
    const { known, served, methods } = routesAt(router, ctx.path, ctx.method);
    if (known && !served) ctx.set('Allow', methods.sort(byCustom).join(','));
    if (ctx.method === 'OPTIONS') return sendEmpty(ctx, 200);
    if (!known) return sendEmpty(ctx, 404);
    if (!OPEN.has(ctx.path) && !isAllowed(ctx.req)) return sendError(ctx, 401, TOKEN_REQUIRED);
    if (!served) return sendEmpty(ctx, 405);
    await answering(ctx, next, deps);
  });
  app.use(router.routes());
  return app;
}

async function answering(ctx: Context, next: Next, deps: ApiDeps): Promise<void> {
  try {
    await next();
  } catch (error) {
    if (error instanceof EdgeError) return sendText(ctx, error.status, error.message);
    const refusal = refusalOf(error);
    if (refusal) return sendError(ctx, refusal.status, refusal.message);
    deps.log?.error({ err: error, method: ctx.method, route: ctx._matchedRoute }, 'request failed');
    const failure = failureOf(error);
    if (failure.retryAfter) ctx.set('Retry-After', String(failure.retryAfter));
    sendError(ctx, failure.error.status, failure.error.message);
  }
}

const METHODS = ['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE'];
const byCustom = (a: string, b: string): number => METHODS.indexOf(a) - METHODS.indexOf(b);
