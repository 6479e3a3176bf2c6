import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { EventEnvelope, ItemRecord, TurnRecord } from '../../../src/contracts/records.ts';

export interface PostedMessage {
  displayed?: Array<{ id: string; ms: number }>;
  text: string;
  key: string;
}

/** A small server that speaks the frames of the runtime API, with a hand on every wire. */
export async function chatServer() {
  const events: EventEnvelope[] = [];
  const streams = new Set<ServerResponse>();
  const said: PostedMessage[] = [];
  const cursors: number[] = [];
  const interrupted: string[] = [];
  const state = {
    turns: [] as TurnRecord[],
    items: [] as ItemRecord[],
    things_to_try: [] as string[],
    pending_user_inputs: [] as unknown[],
    pending_approvals: [] as unknown[],
    /** called for each message that is stored, before it is acknowledged */
    onSay: (_: PostedMessage): Record<string, unknown> => ({ kind: 'turn' }),
    /** how many messages are stored and then not acknowledged: the connection breaks */
    loseAcknowledgements: 0,
    refuse: undefined as { status: number; message: string } | undefined,
  };

  const server = createServer(async (request, response) => {
    const url = new URL(request.url!, 'http://localhost');
    const json = (status: number, body: unknown) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    if (request.headers.authorization !== 'Bearer right')
      return json(401, { error: { message: 'runtime API bearer token required', status: 401 } });
    let body = '';
    for await (const chunk of request) body += chunk;
    const route = `${request.method} ${url.pathname}`;
    if (route === 'GET /v1/console') return json(200, { id: 'thr_1', things_to_try: state.things_to_try });
    if (route === 'GET /v1/threads/thr_1') {
      const { turns, items, pending_approvals, pending_user_inputs } = state;
      return json(200, {
        thread: { id: 'thr_1' },
        turns,
        items,
        latest_seq: events.at(-1)?.seq ?? 0,
        pending_approvals,
        pending_user_inputs,
      });
    }
    if (route === 'POST /v1/threads/thr_1/messages') {
      if (state.refuse) return json(state.refuse.status, { error: state.refuse });
      const { text, displayed } = JSON.parse(body) as Pick<PostedMessage, 'text' | 'displayed'>;
      const message = { text, displayed, key: request.headers['idempotency-key'] as string };
      const known = said.some((one) => one.key === message.key);
      said.push(message);
      const answer = known ? { kind: 'turn' } : state.onSay(message);
      if (state.loseAcknowledgements > 0) {
        state.loseAcknowledgements--;
        return request.socket.destroy();
      }
      return json(202, answer);
    }
    const interrupt = /^POST \/v1\/threads\/thr_1\/turns\/(\w+)\/interrupt$/.exec(route);
    if (interrupt) {
      interrupted.push(interrupt[1]!);
      return json(200, {});
    }
    if (route === 'GET /v1/threads/thr_1/events') {
      const since = Number(url.searchParams.get('since_seq'));
      cursors.push(since);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const event of events) if (event.seq > since) response.write(frame(event));
      response.write(': keepalive\n\n');
      streams.add(response);
      response.on('close', () => streams.delete(response));
      return;
    }
    json(404, { error: { message: 'not found', status: 404 } });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const emit = (event: string, payload: Record<string, unknown>, ids: { turn?: string; item?: string } = {}) => {
    // numbers have gaps: one counter serves all threads
    const seq = (events.at(-1)?.seq ?? 0) + 3;
    const at = new Date().toISOString();
    const envelope: EventEnvelope = {
      schema_version: 1,
      seq,
      event,
      kind: event,
      thread_id: 'thr_1',
      turn_id: ids.turn ?? null,
      item_id: ids.item ?? null,
      timestamp: at,
      created_at: at,
      payload,
    };
    events.push(envelope);
    for (const stream of streams) stream.write(frame(envelope));
  };
  const turn = (id: string, status: TurnRecord['status'], error?: string): TurnRecord => ({
    schema_version: 2,
    id,
    thread_id: 'thr_1',
    status,
    input_summary: '',
    created_at: '',
    item_ids: [],
    steer_count: 0,
    error,
  });
  const item = (
    id: string,
    turnId: string,
    kind: ItemRecord['kind'],
    status: ItemRecord['status'],
    detail: string,
  ): ItemRecord => ({
    schema_version: 2,
    id,
    turn_id: turnId,
    kind,
    status,
    summary: detail.slice(0, 280),
    detail,
    artifact_refs: [],
  });

  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    said,
    cursors,
    interrupted,
    events,
    streams,
    emit,
    turn,
    item,
    startTurn: (id: string, text?: string) => {
      emit('turn.started', { turn: turn(id, 'in_progress') }, { turn: id });
      if (text !== undefined)
        emit(
          'item.completed',
          { item: item(`${id}_user`, id, 'user_message', 'completed', text) },
          { turn: id, item: `${id}_user` },
        );
    },
    answer: (turnId: string, text: string, id = `${turnId}_answer`) =>
      emit(
        'item.completed',
        { item: item(id, turnId, 'agent_message', 'completed', text) },
        { turn: turnId, item: id },
      ),
    endTurn: (id: string, status: TurnRecord['status'] = 'completed', error?: string) =>
      emit('turn.completed', { turn: turn(id, status, error) }, { turn: id }),
    ask: (turnId: string, id: string, question: string, labels: string[]) => {
      const payload = {
        id,
        request: {
          questions: [
            { header: 'Question', id, question, options: labels.map((label) => ({ label, description: '' })) },
          ],
        },
      };
      state.pending_user_inputs.push(payload);
      emit('user_input.required', payload, { turn: turnId });
    },
    /** writes raw bytes to every open stream */
    raw: (text: string) => {
      for (const stream of streams) stream.write(text);
    },
    dropStreams: () => {
      for (const stream of streams) stream.socket?.destroy();
    },
    close: () => {
      server.closeAllConnections();
      return new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

export const frame = (event: EventEnvelope): string => `event: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`;

/** Polls; fails with what was being waited for. */
export async function until(what: string, holds: () => boolean, deadlineMs = 30_000): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!holds()) {
    if (Date.now() > end) throw new Error(`waited ${deadlineMs} ms for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
