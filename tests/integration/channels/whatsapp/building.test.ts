import { execFileSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { containerUser } from '../../../../src/adapters/kennel/docker/engine.ts';
import { imageBuild } from '../../../../src/adapters/kennel/images/image-files.ts';
import { script } from '../../../support/app.ts';
import { requireDocker } from '../../../support/docker.ts';
import { inState, kennelReady, workspace } from '../../../support/kennel-app.ts';
import { until } from '../../../support/until.ts';
import type { Contact } from '../../../support/whatsapp/contact.ts';
import { startWhatsAppApp, type WhatsAppApp } from '../../../support/whatsapp-app.ts';

/** Another name of the base makes another image, whose layers the engine has already. */
const BASE = 'fetch-test-base:building';
const docker = (...args: string[]): string => execFileSync('docker', args, { encoding: 'utf8' }).trim();

let world: WhatsAppApp;
let ann: Contact;

beforeAll(async () => {
  await requireDocker();
  docker('tag', 'node:24-bookworm-slim', BASE);
  world = await startWhatsAppApp((fixture) => {
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
  await kennelReady(world.app);
}, 600_000);

afterAll(async () => {
  await world?.close();
  docker('rmi', '--force', imageBuild('tools', BASE, containerUser()).name, BASE);
});

it('a phone is told while an image is built, for a tool and for a coding task', async () => {
  const { app } = world;
  await workspace(app, 'demo');
  const task = ['task_create', { goal: 'write a.txt a', agent: 'practice', workspace: 'demo' }] as const;
  await ann.send(script([{ call: [['shell_run', { command: 'ls', workspace: 'demo' }], [...task]] }, { say: 'both' }]));
  const told = (what: RegExp) => until(`${what} is shown`, () => ann.received.find(({ text }) => what.test(text ?? '')), 300_000);
  await told(/^Building fetch-kennel/);
  await told(/^Task tsk_\w+ \(practice in demo\), 0 min: (Building|Another process|Fetching)/);
  const { id } = await app.store.db.selectFrom('tasks').select('id').executeTakeFirstOrThrow();
  await inState(app, id, 'completed', 300_000);
  expect(ann.received.filter(({ text }) => /^Building fetch-kennel/.test(text ?? ''))).toHaveLength(1);
}, 600_000);
