import type { IncomingMessage, ServerResponse } from 'node:http';

const MAX_BODY = 256 * 1024;

export type RpcId = string | number;

/** A request that wants a result. */
export interface RpcRequest {
  id: RpcId;
  method: string;
  params: Record<string, unknown>;
}

/**
 * One JSON-RPC request from the body of an HTTP request. Null when there is nothing more to answer: it was refused, or
 * it wants no result.
 */
export async function receiveRequest(request: IncomingMessage, response: ServerResponse): Promise<RpcRequest | null> {
  const body = await read(request);
  if (body === null) return refuse(response, 413, -32600, 'The request is too long.');
  let rpc: { id?: RpcId | null; method?: unknown; params?: Record<string, unknown> | null };
  try {
    rpc = JSON.parse(body);
  } catch {
    return refuse(response, 400, -32700, 'The request is no JSON.');
  }
  if (rpc === null || typeof rpc !== 'object' || Array.isArray(rpc))
    return refuse(response, 400, -32600, 'One request at a time.');
  const { id, method, params } = rpc;
  if (id !== undefined && id !== null && typeof method === 'string') return { id, method, params: params ?? {} };
  // notifications, and answers to nothing
  response.writeHead(202).end();
  return null;
}

/** Refuses a request whose id is not known. */
export function refuse(response: ServerResponse, status: number, code: number, message: string): null {
  send(response, status, { jsonrpc: '2.0', id: null, error: { code, message } });
  return null;
}

export function sendResult(response: ServerResponse, id: RpcId, result: object): void {
  send(response, 200, { jsonrpc: '2.0', id, result });
}

export function sendError(response: ServerResponse, id: RpcId, code: number, message: string): void {
  send(response, 200, { jsonrpc: '2.0', id, error: { code, message } });
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

/** Answers with an event stream, whose last event is the result. */
export class ResultStream {
  private readonly response: ServerResponse;

  constructor(response: ServerResponse) {
    this.response = response;
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      connection: 'keep-alive',
    });
  }

  comment(text: string): void {
    this.response.write(`: ${text}\n\n`);
  }

  notify(method: string, params: object): void {
    this.event({ jsonrpc: '2.0', method, params });
  }

  end(id: RpcId, result: object): void {
    this.event({ jsonrpc: '2.0', id, result });
    this.response.end();
  }

  private event(message: object): void {
    this.response.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
  }
}

async function read(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BODY) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
