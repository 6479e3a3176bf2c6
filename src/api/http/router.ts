import Router from '@koa/router';
import type { Context } from 'koa';
import { annotate, traced } from '../../telemetry/tracing.ts';
import { jsonBody, optionalBody } from './body.ts';
import { type Endpoint, paramsOf, Reply } from './endpoint.ts';
import { sendJson } from './reply.ts';
import { decodeSegment, readQuery } from './request.ts';

const REGISTER = { GET: 'get', POST: 'post', PATCH: 'patch', DELETE: 'delete' } as const;

/** Routes requests to their endpoints. A request is checked in this order: path, query, body, handler. */
export function routerOf<Deps>(endpoints: ReadonlyArray<Endpoint<Deps>>, deps: Deps): Router {
  const router = new Router({ strict: true, sensitive: true });
  // the first match answers, so a fixed path comes before one that would take its last part for an id
  for (const endpoint of endpoints.toSorted((a, b) => paramsOf(a.path).length - paramsOf(b.path).length)) {
    const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
    router[REGISTER[endpoint.method]](path, (ctx: Context) => answerTraced(ctx, endpoint, deps));
  }
  return router;
}

/**
 * Whether a path is known, whether this method is served there, and which are. A fixed path hides those that would take
 * its last part for an id.
 */
export function routesAt(
  router: Router,
  path: string,
  method: string,
): { known: boolean; served: boolean; methods: string[] } {
  const all = router.match(path, method).path;
  const fixed = all.filter((layer) => layer.path === path);
  const methods = [...new Set((fixed.length > 0 ? fixed : all).flatMap((layer) => layer.methods))];
  return { known: all.length > 0, served: methods.includes(method), methods };
}

/** Requests that change something are traced; screens read all the time. A caller's own trace goes on. */
async function answerTraced<Deps>(ctx: Context, endpoint: Endpoint<Deps>, deps: Deps): Promise<void> {
  const { method, path } = endpoint;
  if (method === 'GET') return await answer(ctx, endpoint, deps);
  const attributes = { 'http.request.method': method, 'http.route': path };
  await traced(`${method} ${path}`, { kind: 'server', parent: ctx.get('traceparent'), attributes }, async () => {
    await answer(ctx, endpoint, deps);
    annotate({ 'http.response.status_code': ctx.status });
  });
}

async function answer<Deps>(ctx: Context, endpoint: Endpoint<Deps>, deps: Deps): Promise<void> {
  const params = readParams(ctx, endpoint.path);
  const query = readQuery(ctx.querystring, endpoint.query ?? {});
  const body =
    endpoint.body && (await (endpoint.bodyOptional ? optionalBody(ctx, endpoint.body) : jsonBody(ctx, endpoint.body)));
  const value = await endpoint.handle({ ctx, params, query, body }, deps);
  if (value instanceof Reply) sendJson(ctx, value.status, value.value);
  else if (endpoint.answer.schema) sendJson(ctx, endpoint.answer.status ?? 200, value);
}

/**
 * The router's own decoding treats a broken escape like bytes that are not UTF-8, so the path is read still encoded.
 */
function readParams(ctx: Context, path: string): Record<string, string> {
  const captures = ctx.captures as string[];
  return Object.fromEntries(paramsOf(path).map((name, index) => [name, decodeSegment(captures[index] ?? '', name)]));
}
