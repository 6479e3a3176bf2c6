import type { Context } from 'koa';
import { answerCodec, codecAction } from '../../adapters/payloads/codec-server.ts';
import { membersOf } from '../../domain/settings/shapes.ts';
import { sendText } from '../http/reply.ts';
import { adminProblem } from './admin.ts';
import type { StatusDeps } from './endpoint.ts';

/**
 * The headers of Temporal's Web UI. They are listed one by one, because browsers do not let `*` cover `Authorization`.
 */
const PREFLIGHT = {
  'Access-Control-Allow-Methods': 'POST',
  'Access-Control-Allow-Headers': 'authorization,content-type,x-namespace,authorization-extras',
};

/**
 * The codec server of a Temporal Web UI of one's own, and of the `temporal` program: for who has the admin token. False
 * for every other request.
 */
export async function servesCodec(
  ctx: Context,
  { codec, config, adminToken }: Pick<StatusDeps, 'codec' | 'config' | 'adminToken'>,
): Promise<boolean> {
  const action = codecAction(ctx.path);
  if (!action) return false;
  const origin = ctx.get('origin');
  const allowed = membersOf(config.FETCH_CODEC_ORIGINS).includes(origin);
  ctx.set('Vary', 'origin');
  if (origin && allowed) ctx.set('Access-Control-Allow-Origin', origin);
  if (ctx.method === 'OPTIONS') {
    if (allowed) ctx.set(PREFLIGHT);
    ctx.status = 204;
    return true;
  }
  const problem = adminProblem(ctx, adminToken);
  if (problem) {
    sendText(
      ctx,
      problem,
      problem === 401
        ? 'The codec server needs the admin token: Authorization: Bearer …\n'
        : 'This is not the admin token.\n',
    );
    return true;
  }
  const { status, type, body } = await answerCodec(codec, action, ctx.req);
  ctx.status = status;
  ctx.set('Content-Type', type);
  ctx.body = body;
  return true;
}
