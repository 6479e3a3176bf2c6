import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { webUiLink } from '../../../src/cli/checks/web-ui.ts';
import { portNeeds, startInstance } from '../../../src/cli/instance/instance.ts';
import { loadConfig } from '../../../src/config.ts';

let home: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'fetch-web-ui-'));
});
afterEach(() => rmSync(home, { recursive: true }));

const configured = (settings: Record<string, string>) => loadConfig({ FETCH_HOME: home, ...settings }, {});
const OWN = {
  TEMPORAL_ADDRESS: 'temporal:7233',
  FETCH_TEMPORAL_UI_URL: 'http://temporal-ui:8080',
  FETCH_TEMPORAL_UI_PORT: '8299',
};

test('the link into the Web UI of a Temporal server of your own leads to the api role, with the token of this home', async () => {
  const { url } = await webUiLink(configured(OWN), '/namespaces');
  expect(url).toBe(`http://127.0.0.1:8299/namespaces?token=${readFileSync(join(home, 'ui-token'), 'utf8').trim()}`);
  expect(portNeeds(configured(OWN))).toContainEqual(
    expect.objectContaining({ port: 8299, setting: 'FETCH_TEMPORAL_UI_PORT' }),
  );
});

test('a Temporal server of your own whose Web UI is not named has no link, and the setting is said', async () => {
  const { TEMPORAL_ADDRESS } = OWN;
  expect(await webUiLink(configured({ TEMPORAL_ADDRESS }), '/')).toEqual({
    url: null,
    why: expect.stringContaining('FETCH_TEMPORAL_UI_URL'),
  });
  expect(portNeeds(configured({ TEMPORAL_ADDRESS })).map(({ setting }) => setting)).not.toContain(
    'FETCH_TEMPORAL_UI_PORT',
  );
});

test('where nothing runs there is no link', async () => {
  expect(await webUiLink(configured({}), '/')).toEqual({
    url: null,
    why: `Nothing runs for ${home}. Start it: fetch start`,
  });
});

test('a Web UI beside the embedded server is refused at the start, and so is one with a path', async () => {
  const { FETCH_TEMPORAL_UI_URL } = OWN;
  await expect(startInstance(configured({ FETCH_TEMPORAL_UI_URL }), {} as never)).rejects.toThrow(
    'FETCH_TEMPORAL_UI_URL: is for a Temporal server of your own',
  );
  expect(() => configured({ ...OWN, FETCH_TEMPORAL_UI_URL: 'http://proxy.example/temporal' })).toThrow(
    'must have no path',
  );
  expect(() => configured({ ...OWN, FETCH_TEMPORAL_UI_URL: 'temporal-ui:8080' })).toThrow('must be an http address');
});
