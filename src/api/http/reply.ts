import type { Context } from 'koa';

/** Koa would add a charset to the content type, and clients compare the bare type. */
export function sendJson(ctx: Context, status: number, value: unknown): void {
  ctx.status = status;
  ctx.set('Content-Type', 'application/json');
  ctx.body = JSON.stringify(value);
}

export function sendError(ctx: Context, status: number, message: string): void {
  sendJson(ctx, status, { error: { message, status } });
}

export function sendText(ctx: Context, status: number, text: string): void {
  ctx.status = status;
  ctx.set('Content-Type', 'text/plain; charset=utf-8');
  ctx.body = text;
}

/** A status without body or content type. */
export function sendEmpty(ctx: Context, status: number): void {
  ctx.body = null;
  ctx.status = status;
}
