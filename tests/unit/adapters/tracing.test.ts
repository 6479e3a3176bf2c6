import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import pino from 'pino';
import protobuf from 'protobufjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { failureType, type OtlpOptions, openOtlp, parentOf, textOf } from '../../../src/adapters/tracing/otlp.ts';
import { openTracing } from '../../../src/cli/roles/metrics/tracing.ts';
import { loadConfig } from '../../../src/config.ts';
import { keyValuesOf } from '../../../src/domain/settings/tracing.ts';
import { traced } from '../../../src/telemetry/tracing.ts';
import { type OtlpReceiver, startOtlpReceiver } from '../../support/otlp.ts';

const SAMPLED = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const UNSAMPLED = `${SAMPLED.slice(0, -1)}0`;

let receiver: OtlpReceiver;
beforeEach(async () => {
  receiver = await startOtlpReceiver();
});
afterEach(() => receiver.close());

const open = (more: Partial<OtlpOptions> = {}) =>
  openOtlp({
    url: `${receiver.url}/v1/traces`,
    protocol: 'http/json',
    headers: {},
    resource: { 'service.name': 'fetch', 'fetch.role': 'worker' },
    ratio: 1,
    log: pino({ level: 'silent' }),
    ...more,
  });

describe('a trace', () => {
  it('has spans inside of spans, and goes on where a row says', async () => {
    const { close, run, current, annotate } = await open();
    const row = await run('outer', { kind: 'server' }, async () => {
      await run('inner', { kind: 'client' }, async () => annotate({ 'gen_ai.usage.input_tokens': 7 }));
      return current();
    });
    await run('later', { kind: 'consumer', parent: row }, async () => {});
    expect(current()).toBeUndefined();
    await close();
    const [inner, outer, later] = receiver.spans();
    expect([inner, outer, later].map((span) => span?.name)).toEqual(['inner', 'outer', 'later']);
    expect(outer!.parentSpanId).toBe('');
    expect([inner!.parentSpanId, later!.parentSpanId]).toEqual([outer!.spanId, outer!.spanId]);
    expect(new Set([inner, outer, later].map((span) => span!.traceId)).size).toBe(1);
    expect(inner!.attributes).toEqual({ 'gen_ai.usage.input_tokens': 7 });
  });

  it('tells a failure by its type, and nothing of its text', async () => {
    const { close, run } = await open();
    await expect(
      run('failing', { kind: 'internal' }, async () => {
        throw Object.assign(new Error('the secret word is kingfisher'), { type: 'ModelRateLimited' });
      }),
    ).rejects.toThrow('kingfisher');
    await close();
    expect(receiver.spans()[0]).toMatchObject({ failed: true, attributes: { 'error.type': 'ModelRateLimited' } });
    expect(Buffer.concat(receiver.bodies).toString()).not.toContain('kingfisher');
  });

  it('is not recorded below the share of the setting, and is where a caller has decided so', async () => {
    const { close, run, current } = await open({ ratio: 0 });
    const kept = await run('ours', { kind: 'server' }, async () => current());
    expect(kept).toMatch(/-00$/);
    await run('of our own row', { kind: 'consumer', parent: kept }, async () => {});
    await run('of a caller', { kind: 'server', parent: SAMPLED }, async () => {});
    await close();
    expect(receiver.spans().map(({ name, traceId }) => [name, traceId])).toEqual([
      ['of a caller', SAMPLED.split('-')[1]],
    ]);
  });

  it('is left out where a caller has decided so', async () => {
    const { close, run } = await open();
    await run('of a caller', { kind: 'server', parent: UNSAMPLED }, async () => {});
    await close();
    expect(receiver.bodies).toEqual([]);
  });

  it('holds up nothing while the endpoint refuses it, and says so once, without the key of the endpoint', async () => {
    receiver.answerWith(400);
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    const { close, run } = await open({ log, headers: { 'x-api-key': 'key-of-the-endpoint' } });
    for (let count = 0; count < 3; count += 1)
      expect(await run('work', { kind: 'internal' }, async () => count)).toBe(count);
    await close();
    expect(receiver.headers[0]!['x-api-key']).toBe('key-of-the-endpoint');
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('key-of-the-endpoint');
  });

  it('is sent as protocol buffers by default', async () => {
    const { close, run } = await open({ protocol: 'http/protobuf' });
    await run('work', { kind: 'client' }, async () => {});
    await close();
    expect(receiver.headers[0]!['content-type']).toBe('application/x-protobuf');
    // fields of opentelemetry.proto.trace.v1 that are read here
    const { root } = protobuf.parse(`syntax = "proto3";
      message Request { repeated ResourceSpans resource_spans = 1; }
      message ResourceSpans { repeated ScopeSpans scope_spans = 2; }
      message ScopeSpans { repeated Span spans = 2; }
      message Span { bytes trace_id = 1; string name = 5; int32 kind = 6; }`);
    const request = root.lookupType('Request').decode(receiver.bodies[0]!).toJSON();
    expect(request.resourceSpans[0].scopeSpans[0].spans).toMatchObject([{ name: 'work', kind: 3 }]);
  });
});

describe('the header traceparent', () => {
  it('is read as it was written', () => {
    expect(textOf(parentOf(SAMPLED)!)).toBe(SAMPLED);
    expect(textOf(parentOf(UNSAMPLED)!)).toBe(UNSAMPLED);
    expect(parentOf(`01${SAMPLED.slice(2)}-of-a-later-version`)?.traceId).toBe(SAMPLED.split('-')[1]);
  });

  it.each([
    '',
    'nonsense',
    SAMPLED.toUpperCase(),
    `ff${SAMPLED.slice(2)}`,
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `${SAMPLED}1`,
    `x${SAMPLED}`,
  ])('is ignored where it is none: %j', (text) => expect(parentOf(text)).toBeNull());
});

it('names a failure by a word', () => {
  expect(failureType(new TypeError('text'))).toBe('TypeError');
  expect(failureType(Object.assign(new Error('text'), { code: 'ECONNREFUSED' }))).toBe('ECONNREFUSED');
  expect(failureType(Object.assign(new Error('text'), { type: 'a whole sentence', name: 'and another' }))).toBe(
    'Error',
  );
  expect(failureType(null)).toBe('Error');
});

it('reads lists of names and values as OpenTelemetry writes them', () => {
  expect(keyValuesOf('x-api-key=a%20b, other = c=d,')).toEqual({ 'x-api-key': 'a b', other: 'c=d' });
  expect(keyValuesOf('')).toEqual({});
  for (const wrong of ['key', 'two words=x', 'key=%zz']) expect(keyValuesOf(wrong)).toBeNull();
});

it('goes to the endpoint of the settings, with what they say of the process', async () => {
  const config = loadConfig(
    { FETCH_HOME: '/nonexistent' },
    {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${receiver.url}/`,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_SERVICE_NAME: 'at home',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=one%20of%20two',
    },
  );
  const close = await openTracing(config, ['gateway', 'api']);
  await traced('work', { kind: 'internal' }, async () => {});
  await close!();
  expect(receiver.spans()).toMatchObject([{ name: 'work', role: 'gateway,api' }]);
  const { resource } = JSON.parse(receiver.bodies[0]!.toString()).resourceSpans[0];
  expect(JSON.stringify(resource)).toMatch(/"one of two".*"at home"/);
});

it.each([
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'collector:4318', /must be an http or https address/],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'http://key@collector:4318', /must have no password/],
  ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', /http\/protobuf/],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'just-a-key', /must be name=value pairs/],
  ['OTEL_TRACES_SAMPLER_ARG', '2', /from 0 to 1/],
])('the setting %s does not take %j, and says why', (name, value, why) => {
  expect(() => loadConfig({ FETCH_HOME: '/nonexistent' }, { [name]: value })).toThrow(why);
});

describe('without an endpoint', () => {
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  /** What a process loads of the library that has the code of these roles and opens its traces. */
  const loaded = (roles: string[], env: Record<string, string> = {}): string[] => {
    const program = `
      import { registerHooks } from 'node:module';
      const found = new Set();
      registerHooks({ resolve: (name, context, next) => { const resolved = next(name, context); if (resolved.url.includes('@opentelemetry/')) found.add(resolved.url); return resolved; } });
      for (const role of ${JSON.stringify(roles)}) await import(${JSON.stringify(`${root}src/cli/roles/`)} + role + '.ts');
      const { openTracing } = await import(${JSON.stringify(`${root}src/cli/roles/metrics/tracing.ts`)});
      const { loadConfig } = await import(${JSON.stringify(`${root}src/config.ts`)});
      const close = await openTracing(loadConfig({ FETCH_HOME: '/nonexistent' }), ['worker']);
      process.stdout.write(JSON.stringify([...found]));
      process.exit(0);`;
    return JSON.parse(
      execFileSync(process.execPath, ['--input-type=module', '-e', program], {
        env: { PATH: process.env.PATH, ...env },
        encoding: 'utf8',
      }),
    );
  };

  it('no library for traces is loaded', () => {
    expect(loaded(['worker', 'gateway', 'api', 'kennel-worker'])).toEqual([]);
    expect(loaded([], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' }).length).toBeGreaterThan(10);
  }, 120_000);
});
