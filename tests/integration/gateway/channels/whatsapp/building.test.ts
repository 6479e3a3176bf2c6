import { execFileSync, spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { containerUser } from '../../../../../src/adapters/kennel/docker/engine.ts';
import { imageBuild } from '../../../../../src/adapters/kennel/images/image-files.ts';
import { script } from '../../../../support/app.ts';
import { requireDocker } from '../../../../support/docker.ts';
import { kennelReady, workspace } from '../../../../support/kennel-app.ts';
import { until } from '../../../../support/until.ts';
import type { Contact } from '../../../../support/whatsapp/contact.ts';
import { startWhatsAppApp } from '../../../../support/whatsapp-app.ts';

/** Another name of the base makes another image, whose layers the engine has already. */
const BASE = 'fetch-test-base:building';
const image = imageBuild('tools', BASE, containerUser()).name;
const docker = (...args: string[]): string => execFileSync('docker', args, { encoding: 'utf8' }).trim();

beforeAll(async () => {
  await requireDocker();
  docker('tag', 'node:24-bookworm-slim', BASE);
}, 600_000);
afterAll(() => {
  spawnSync('docker', ['rmi', '--force', image, BASE]);
});

// the layers are there, so the build is over soon, and nobody is told of what is over: both go on for a while
test.each([
  ['a tool', ['shell_run', { command: 'ls', workspace: 'demo' }], /^Building fetch-kennel/],
  [
    'a coding task',
    ['task_create', { goal: 'wait 20; say done', agent: 'practice', workspace: 'demo' }],
    /^Working in demo(?:, \d+ min)?: Building fetch-kennel/,
  ],
] as const)(
  'a phone is told while an image is built for %s',
  async (_, call, words) => {
    spawnSync('docker', ['rmi', '--force', image]);
    let ann!: Contact;
    const { app, close } = await startWhatsAppApp((fixture) => {
      ann = fixture.contact('Ann');
      return {
        WHATSAPP_NUMBER: 'dedicated',
        OWNER_PHONE_NUMBER: ann.pn.split('@')[0]!,
        FETCH_AUTONOMY: 'autonomous',
        FETCH_KENNEL_BASE: BASE,
        // each step of the build would be another message
        FETCH_PROGRESS_SECONDS: '3600',
      };
    });
    try {
      await kennelReady(app);
      await workspace(app, 'demo');
      await ann.send(script([{ call: [[...call]] }, { say: 'gone on '.repeat(150), pace: 100 }]));
      await until(`${words} is shown`, () => ann.received.find(({ text }) => words.test(text ?? '')), 120_000);
      expect(ann.received.filter(({ text }) => words.test(text ?? ''))).toHaveLength(1);
    } finally {
      await close();
    }
  },
  600_000,
);
