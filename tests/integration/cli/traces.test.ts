import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callsThen, script, type TestApp } from '../../support/app.ts';
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../../support/otlp.ts';
import { until } from '../../support/until.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../support/whatsapp-app.ts';

let world: WhatsAppApp;
let app: TestApp;
let receiver: OtlpReceiver;

beforeAll(async () => {
  receiver = await startOtlpReceiver();
  world = await startWhatsAppApp({
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=key-of-the-endpoint',
    FETCH_SEPARATE_PROCESSES: 'true',
  });
  app = world.app;
});
afterAll(async () => {
  await world?.close();
  await receiver?.close();
});

/** The spans of the trace of a turn, once the turn itself and its last delivery are among them. */
const traceOfTurn = (turnId: string): Promise<ReceivedSpan[]> =>
  until(`the trace of ${turnId}`, () => {
    const all = receiver.spans();
    const { traceId } = all.find((span) => span.name === 'intake' && span.attributes['fetch.turn_id'] === turnId) ?? {};
    const trace = all.filter((span) => span.traceId === traceId);
    return ['turn', 'deliver'].every((name) => trace.some((span) => span.name === name)) && trace;
  });
const named = (trace: ReceivedSpan[], name: string): ReceivedSpan[] => trace.filter((span) => span.name === name);
const only = (trace: ReceivedSpan[], name: string): ReceivedSpan => {
  expect(named(trace, name)).toHaveLength(1);
  return named(trace, name)[0]!;
};
const POST_TURN = 'POST /v1/threads/{id}/turns';

describe('one trace', () => {
  it('leads from the request through the conversation and its activities to the model, the tool and the delivery', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, callsThen([['web_fetch', { url: 'http://127.0.0.1:1/' }]], 'done'));
    await app.ended(thread, turn);
    const trace = await traceOfTurn(turn);
    const root = only(trace, POST_TURN);
    const intake = only(trace, 'intake');
    expect([root.parentSpanId, intake.parentSpanId, only(trace, 'signal').parentSpanId]).toEqual([
      '',
      root.spanId,
      intake.spanId,
    ]);
    // where the row of the message was written
    for (const name of ['think', 'act', 'deliver', 'turn'])
      expect(named(trace, name).map((span) => span.parentSpanId)).toContain(intake.spanId);
    const thoughts = named(trace, 'think');
    expect(
      named(trace, 'chat')
        .map((span) => span.parentSpanId)
        .sort(),
    ).toEqual(thoughts.map((span) => span.spanId).sort());
    expect(thoughts).toHaveLength(2);
    expect(new Set(trace.map((span) => span.role))).toEqual(new Set(['api', 'worker', 'gateway']));
    expect(only(trace, 'act').attributes).toMatchObject({
      'fetch.tool': 'web_fetch',
      'fetch.outcome': 'failed',
      'fetch.turn_id': turn,
      'fetch.attempt': 1,
    });
    expect(only(trace, 'deliver').attributes).toMatchObject({ 'fetch.outcome': 'sent', 'fetch.channel': 'api' });
    expect(only(trace, 'turn').attributes).toMatchObject({
      'fetch.outcome': 'completed',
      'fetch.steps': 2,
      'fetch.calls': 1,
    });
    expect(named(trace, 'chat')[0]!.attributes['gen_ai.usage.input_tokens']).toBeGreaterThan(0);
    expect(root.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/threads/{id}/turns',
      'http.response.status_code': 201,
    });
  });

  it('is a trace of each message, not of the conversation, which is one workflow for ever', async () => {
    const thread = await app.thread();
    const traces: string[] = [];
    for (const words of ['first', 'second']) {
      const turn = await app.turn(thread, script([{ say: words }]));
      await app.ended(thread, turn);
      const trace = await traceOfTurn(turn);
      expect(only(trace, 'think').attributes['fetch.turn_id']).toBe(turn);
      traces.push(trace[0]!.traceId);
    }
    expect(new Set(traces).size).toBe(2);
  });

  it("goes on with a caller's own", async () => {
    const thread = await app.thread();
    const [traceId, spanId] = ['0af7651916cd43dd8448eb211c80319c', 'b7ad6b7169203331'];
    const answer = await app.request(
      'POST',
      `/v1/threads/${thread}/turns`,
      { prompt: script([{ say: 'ok' }]) },
      { traceparent: `00-${traceId}-${spanId}-01` },
    );
    const { turn } = answer.body as { turn: { id: string } };
    await app.ended(thread, turn.id);
    const trace = await traceOfTurn(turn.id);
    expect(trace[0]!.traceId).toBe(traceId);
    expect(only(trace, POST_TURN).parentSpanId).toBe(spanId);
    expect(only(trace, 'think').traceId).toBe(traceId);
  });

  it('has the reply of a command, which asks no model', async () => {
    const thread = await app.thread();
    await app.say(thread, 'version');
    const reply = await until('the reply is in a trace', () => {
      const trace = receiver.spans();
      const deliver = trace.find(
        (span) =>
          span.name === 'deliver' &&
          trace.some((other) => other.traceId === span.traceId && other.name.endsWith('/messages')),
      );
      return deliver && trace.filter((span) => span.traceId === deliver.traceId);
    });
    expect(only(reply, 'intake').attributes['fetch.meant']).toBe('reply');
    expect(named(reply, 'chat')).toEqual([]);
  });
});

describe('a trace of WhatsApp', () => {
  it('leads from the message to the answer on the phone, and has no number', async () => {
    const { phone, account } = world.fixture;
    await phone.selfChat(script([{ say: 'answer on the phone' }]));
    await until('the phone shows the answer', () =>
      phone.received.some(({ shown }) => shown.text.includes('answer on the phone')),
    );
    const row = await app.store.db
      .selectFrom('inbox')
      .innerJoin('chats', 'chats.id', 'inbox.chat_id')
      .select('inbox.turn_id')
      .where('chats.channel', '=', 'whatsapp')
      .executeTakeFirstOrThrow();
    const trace = await traceOfTurn(row.turn_id!);
    const intake = only(trace, 'intake');
    expect([intake.parentSpanId, intake.role, intake.attributes['fetch.channel']]).toEqual(['', 'gateway', 'whatsapp']);
    for (const name of ['signal', 'think', 'deliver', 'turn'])
      expect(only(trace, name).parentSpanId).toBe(intake.spanId);
    expect(only(trace, 'deliver').attributes['fetch.outcome']).toBe('sent');
    for (const address of [account.pn, account.lid])
      expect(JSON.stringify(trace)).not.toContain(address.replace(/[:@].*$/, ''));
  });
});

describe('a trace over a kill', () => {
  it('of the worker has the attempt that took over', async () => {
    const thread = await app.thread();
    const turn = await app.turn(thread, script([{ say: 'after the kill', pace: 1_000 }]));
    await until('the model is asked', () => app.model.asked(turn) > 0);
    app.kill('worker');
    await app.ended(thread, turn);
    const trace = await traceOfTurn(turn);
    const [thought] = named(trace, 'think').filter((span) => !span.failed);
    expect(thought!.attributes['fetch.attempt']).toBeGreaterThan(1);
    expect(thought!.parentSpanId).toBe(only(trace, 'intake').spanId);
    expect(named(trace, 'chat').map((span) => span.parentSpanId)).toContain(thought!.spanId);
  });

  it('of the process that took the message goes on from its row, where the signal was lost', async () => {
    const thread = await app.thread();
    const temporal = app.state().roles.find((role) => role.name === 'temporal')!.pid!;
    process.kill(temporal, 'SIGSTOP');
    let turn: string;
    let heard: ReceivedSpan;
    try {
      turn = await app.turn(thread, script([{ say: 'found again' }]));
      // what is not sent yet dies with the process
      heard = await until('the request is in a trace', () =>
        receiver.spans().find((span) => span.name === 'intake' && span.attributes['fetch.turn_id'] === turn),
      );
      app.kill('api');
    } finally {
      process.kill(temporal, 'SIGCONT');
    }
    await app.whenReady();
    await app.ended(thread, turn);
    const trace = await traceOfTurn(turn);
    const again = named(trace, 'signal').find((span) => span.role === 'gateway')!;
    expect(again.traceId).toBe(heard.traceId);
    expect(again.parentSpanId).toBe(heard.spanId);
    expect(only(trace, 'think').parentSpanId).toBe(heard.spanId);
  });
});

describe('what is sent', () => {
  const CANARY = 'kingfisher above the emerald lagoon';

  it('has no words of anybody, no names of people and no keys', async () => {
    const thread = await app.thread({ system_prompt: `${CANARY} in the prompt` });
    for (const steps of [
      [{ call: [['report_progress', { message: CANARY }]] }, { say: CANARY }, { say: CANARY }],
      // the endpoint of the model refuses with these words
      [{ fail: 400, say: CANARY }],
    ]) {
      const turn = await app.turn(thread, [{ say: CANARY }, ...steps]);
      await app.ended(thread, turn);
      await traceOfTurn(turn);
    }
    const sent = Buffer.concat(receiver.bodies).toString();
    for (const word of [
      ...CANARY.split(' ').filter((each) => each.length > 5),
      'scripted 400',
      'test-key',
      'test-token',
      'key-of-the-endpoint',
    ])
      expect(sent).not.toContain(word);
    expect(receiver.headers.every((headers) => headers['x-api-key'] === 'key-of-the-endpoint')).toBe(true);
  });

  it('is lost while the endpoint is away, and no message is', async () => {
    receiver.answerWith(503);
    const thread = await app.thread();
    expect((await app.ended(thread, await app.turn(thread, script([{ say: 'untraced' }])))).status).toBe('completed');
    receiver.answerWith(200);
    const next = await app.turn(thread, script([{ say: 'traced' }]));
    await app.ended(thread, next);
    await traceOfTurn(next);
  });
});
