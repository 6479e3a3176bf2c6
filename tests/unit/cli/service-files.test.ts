import { homedir } from 'node:os';
import { join } from 'node:path';
import { DOMParser } from 'linkedom';
import { expect, test } from 'vitest';
import { serviceName } from '../../../src/cli/setup/background/find-service.ts';
import { plistText } from '../../../src/cli/setup/background/launchd.ts';
import { type Launch, programsAmong, ServiceError } from '../../../src/cli/setup/background/service.ts';
import { unitText } from '../../../src/cli/setup/background/systemd.ts';
import { serviceEnvironment, settingsElsewhere } from '../../../src/config.ts';

const launch: Launch = {
  ...{
    file: '/opt/a & b/node',
    args: ['/opt/<c>/fetch.js', 'start'],
    env: { PATH: '/bin', FETCH_HOME: '/home/ada/"x" & y' },
  },
  ...{ folder: '/home/ada', log: '/home/ada/.fetch/logs/fetch.log', stopSeconds: 90 },
};

test('the file for launchd says what is to be run, whatever the names are', () => {
  const dict = new DOMParser()
    .parseFromString(plistText('fetch-durable.fetch', launch), 'text/xml')
    .querySelector('plist > dict')!;
  const under = (key: string) =>
    [...dict.children].find((each) => each.tagName === 'key' && each.textContent === key)!.nextElementSibling!;
  expect([...under('ProgramArguments').children].map(({ textContent }) => textContent)).toEqual([
    launch.file,
    ...launch.args,
  ]);
  expect([...under('EnvironmentVariables').children].map(({ textContent }) => textContent)).toEqual([
    'PATH',
    '/bin',
    'FETCH_HOME',
    '/home/ada/"x" & y',
  ]);
  expect(under('ExitTimeOut').textContent).toBe('90');
});

test('a unit cannot be made to hold another line by a name', () => {
  const text = unitText(launch, false);
  expect(text).toContain('Environment="FETCH_HOME=/home/ada/\\"x\\" & y"');
  expect(() => unitText({ ...launch, folder: '/home/ada\nExecStart=/bin/evil' }, false)).toThrow(ServiceError);
});

test('flags of the runtime are no programs that must be there', () => {
  expect(programsAmong(['/usr/bin/node', '--max-semi-space-size=8', '/opt/fetch/bin/fetch.js', 'start'])).toEqual([
    '/usr/bin/node',
    '/opt/fetch/bin/fetch.js',
  ]);
});

test('two homes have two services', () => {
  expect(serviceName(join(homedir(), '.fetch'))).toBe('fetch');
  expect(serviceName('/home/ada/work')).toMatch(/^fetch-work-[0-9a-f]{8}$/);
  expect(serviceName('/home/bob/work')).not.toBe(serviceName('/home/ada/work'));
});

test('a service gets no key and no folder of npm', () => {
  const env = {
    PATH: '/a/node_modules/.bin:/usr/bin:./here:/usr/bin',
    OPENAI_API_KEY: 'key',
    HTTPS_PROXY: 'http://ada:secret@proxy',
    HTTP_PROXY: 'http://proxy',
  };
  expect(serviceEnvironment(env)).toEqual({ PATH: '/usr/bin', HTTP_PROXY: 'http://proxy' });
});

test('settings that only a flag or the shell knows are named, with the value that counts', () => {
  const env = {
    FETCH_HOME: '/nonexistent',
    OPENAI_API_KEY: 'key',
    FETCH_MAX_STEPS: ' ',
    FETCH_RUNTIME_PORT: '1',
    HOME: '/home/ada',
  };
  expect(settingsElsewhere({ FETCH_RUNTIME_PORT: '2' }, env)).toEqual({
    OPENAI_API_KEY: 'key',
    FETCH_RUNTIME_PORT: '2',
  });
});
