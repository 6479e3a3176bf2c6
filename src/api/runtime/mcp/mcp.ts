import { endpoint } from '../shared/endpoint.ts';
import { message } from './wire.ts';

/**
 * MCP over streamable HTTP. Every message is one JSON object; batches, which newer versions of the protocol have
 * dropped, are refused.
 */

const refusals = {
  400: 'The session or the event is not named, or not ours.',
  404: 'The session is over, or was never begun: begin a new one.',
};

/** The SDK and the tools are loaded when the first program comes: most instances serve none. */
const handlers = () => import('./handlers.ts');

export const postMcp = endpoint({
  method: 'POST',
  path: '/mcp',
  summary: 'A message of an MCP client',
  body: message,
  answer: {
    written: { type: 'text/event-stream', schema: message, or: 'application/json' },
    what: 'The result of a call, with what comes before it. Every other request is answered by one message as application/json.',
  },
  refusals: { 202: { what: 'A notification or a response is taken.', schema: null }, 404: refusals[404] },
  handle: async ({ ctx, body }, deps) => await (await handlers()).post(ctx, body, deps),
});

export const getMcp = endpoint({
  method: 'GET',
  path: '/mcp',
  summary: 'Go on with the stream of a call that broke',
  answer: {
    written: { type: 'text/event-stream', schema: message },
    what: 'What comes after the event that Last-Event-ID names.',
  },
  refusals: { ...refusals, 405: 'Without Last-Event-ID: this server never speaks unasked.' },
  handle: async ({ ctx }, deps) => await (await handlers()).resume(ctx, deps),
});

export const deleteMcp = endpoint({
  method: 'DELETE',
  path: '/mcp',
  summary: 'End the session of an MCP client; what it runs is stopped',
  answer: { status: 204, what: 'It is over.' },
  refusals,
  handle: async ({ ctx }, deps) => await (await handlers()).end(ctx, deps),
});
