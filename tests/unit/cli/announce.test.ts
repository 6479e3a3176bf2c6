import { expect, it } from 'vitest';
import { announcement, mobileLinks, weakTokenWarning } from '../../../src/cli/protocols/serve/announce.ts';
import { settingsOf } from '../../../src/cli/protocols/serve/settings.ts';
import { loadConfig } from '../../../src/config.ts';

const configOf = (settings: Record<string, string>) => loadConfig({ FETCH_HOME: '/nonexistent', ...settings }, {});

it('links the page for phones by each address that reaches it, with the token escaped', () => {
  const links = (settings: Record<string, string>) =>
    mobileLinks(configOf({ FETCH_MOBILE: 'true', ...settings }), 'a b&c', ['192.168.1.5', '10.0.0.7']);
  expect(links({ FETCH_RUNTIME_HOST: '0.0.0.0' })).toEqual([
    { what: 'Local', url: 'http://127.0.0.1:7878/mobile?token=a%20b%26c' },
    { what: 'LAN', url: 'http://192.168.1.5:7878/mobile?token=a%20b%26c' },
    { what: 'LAN', url: 'http://10.0.0.7:7878/mobile?token=a%20b%26c' },
  ]);
  expect(links({ FETCH_RUNTIME_HOST: 'fd00::5', FETCH_RUNTIME_PORT: '7000' })).toEqual([
    { what: 'URL', url: 'http://[fd00::5]:7000/mobile?token=a%20b%26c' },
  ]);
  expect(links({ FETCH_RUNTIME_INSECURE: 'true' })).toEqual([{ what: 'Local', url: 'http://127.0.0.1:7878/mobile' }]);
});

it('prints a token that was made and never one that was configured', () => {
  const made = announcement(configOf({}), 'fetch_made');
  expect(made).toContain('  Authorization: Bearer fetch_made');
  const configured = announcement(configOf({ DEEPSEEK_RUNTIME_TOKEN: 'configured' }), 'configured');
  expect(configured.join('\n')).not.toContain('Bearer configured');
  expect(announcement(configOf({ FETCH_RUNTIME_INSECURE: 'true' }), 'fetch_made').join('\n')).not.toContain(
    'fetch_made',
  );
});

it('warns of a short token only where a network reaches it', () => {
  expect(weakTokenWarning(configOf({ FETCH_RUNTIME_TOKEN: 'short', FETCH_RUNTIME_HOST: '0.0.0.0' }))).toMatch(
    /only 5 characters/,
  );
  expect(weakTokenWarning(configOf({ FETCH_RUNTIME_TOKEN: 'short' }))).toBeNull();
  expect(weakTokenWarning(configOf({ FETCH_RUNTIME_TOKEN: 'x'.repeat(16), FETCH_RUNTIME_HOST: '0.0.0.0' }))).toBeNull();
  expect(weakTokenWarning(configOf({ FETCH_RUNTIME_HOST: '0.0.0.0' }))).toBeNull();
});

it('takes the options for settings, and opens the network only for phones and only where no address was chosen', () => {
  const flags = { FETCH_HOME: '/nonexistent' };
  expect(settingsOf({ http: true }, flags)).toEqual(flags);
  expect(settingsOf({ mobile: true, authToken: ' ' }, flags)).toEqual({
    ...flags,
    FETCH_MOBILE: 'true',
    FETCH_RUNTIME_HOST: '0.0.0.0',
  });
  expect(settingsOf({ mobile: true }, { ...flags, FETCH_HOST: '127.0.0.1' })).toEqual({
    ...flags,
    FETCH_MOBILE: 'true',
    FETCH_RUNTIME_HOST: '127.0.0.1',
  });
  const origins = settingsOf(
    { http: true, corsOrigin: ['http://b', 'http://c'], workers: 3, port: 7000, insecure: true },
    { ...flags, DEEPSEEK_CORS_ORIGINS: 'http://a' },
  );
  expect(origins).toEqual({
    ...flags,
    DEEPSEEK_CORS_ORIGINS: 'http://a,http://b,http://c',
    FETCH_KENNEL_SLOTS: '3',
    FETCH_RUNTIME_PORT: '7000',
    FETCH_RUNTIME_INSECURE: 'true',
  });
  expect(() => settingsOf({ http: true, port: 0 }, flags)).toThrow('Port must be > 0');
});
