import { expect, it } from 'vitest';
import {
  type Cause,
  causeOf,
  isLasting,
  postgresNames,
  sentenceOf,
  TEMPORAL_NAMES,
  type Tried,
} from '../../../src/domain/connections/sentences.ts';

const tried = (more: Partial<Tried> = {}): Tried => ({
  names: TEMPORAL_NAMES,
  address: 'cluster:7233',
  expects: 'cluster',
  set: { authority: false, certificate: false, apiKey: false },
  shown: null,
  ...more,
});
const CAUSES: readonly Cause[] = [
  'refused',
  'unknown host',
  'silent',
  'server expired',
  'server not yet valid',
  'unknown authority',
  'wrong name',
  'server speaks TLS',
  'server speaks no TLS',
  'client certificate missing',
  'client certificate refused',
  'client certificate expired',
  'API key refused',
  'password refused',
  'no database',
];

it('every cause has a sentence that names the address and what to do, for both servers, whatever was seen', () => {
  const shown = { subject: 'a', issuer: 'b', names: [], from: new Date(0), until: new Date(1) };
  for (const cause of CAUSES)
    for (const names of [TEMPORAL_NAMES, postgresNames('DATABASE_DIRECT_URL')])
      for (const each of [
        tried({ names }),
        tried({ names, shown }),
        tried({ names, set: { authority: true, certificate: true, apiKey: true } }),
      ]) {
        const text = sentenceOf(cause, each);
        expect(text, cause).toContain('cluster:7233');
        expect(text, cause).toMatch(/\. [A-Z].*\.$/);
        expect(text, cause).not.toMatch(/undefined|null|NaN/);
      }
});

it('says the cause of an error by its code, by its words, and by the errors within it', () => {
  const coded = (code: string | number, message = '') => Object.assign(new Error(message), { code });
  expect(causeOf(coded('CERT_HAS_EXPIRED'))).toBe('server expired');
  expect(causeOf(coded(16, 'Request unauthorized'))).toBe('API key refused');
  expect(causeOf(new Error('The server does not support SSL connections'))).toBe('server speaks no TLS');
  expect(causeOf(coded('28000', 'connection requires a valid client certificate'))).toBe('client certificate missing');
  expect(
    causeOf(coded('28000', 'no pg_hba.conf entry for host "10.0.0.1", user "fetch", database "fetch", no encryption')),
  ).toBe('server speaks TLS');
  expect(causeOf(new AggregateError([coded('ECONNREFUSED'), coded('ECONNREFUSED')]))).toBe('refused');
  expect(causeOf(new Error('it failed', { cause: coded('ENOTFOUND') }))).toBe('unknown host');
  expect(causeOf(coded('constructor'))).toBeNull();
  expect(causeOf(undefined)).toBeNull();
  expect(causeOf(new Error('Failed to connect before the deadline'))).toBeNull();
});

it('waiting helps only where the server is away', () => {
  expect(CAUSES.filter((cause) => !isLasting(cause))).toEqual(['refused', 'unknown host', 'silent']);
});
