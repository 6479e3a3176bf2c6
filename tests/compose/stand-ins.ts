import { cpSync, linkSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { providePrograms, TEMPORAL_UI_VERSION, TEMPORAL_VERSION } from './programs.ts';
import { docker } from './server.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What `scripts/kennel-images.ts` provides where no registry can be reached. */
const BASE = 'node:24-bookworm-slim';
export const IMAGE = 'fetch-test-durable:latest';
const NEXT_IMAGE = 'fetch-test-durable:next';

/** Every image that the server needs. Ours is built from the shipped Dockerfile. Returns the path of Docker Compose. */
export async function provideImages(): Promise<string> {
  const programs = await providePrograms();
  await build('postgres', 'fetch-test-postgres:15', {});
  await build('temporal', `fetch-test-temporal:${TEMPORAL_VERSION}`, {
    'temporal-server': programs.temporalServer,
    'temporal-sql-tool': programs.temporalSqlTool,
  });
  await build('temporal-ui', `fetch-test-temporal-ui:${TEMPORAL_UI_VERSION}`, {
    'ui-server': programs.temporalUi.server,
    'start-ui-server.sh': programs.temporalUi.start,
    'docker.yaml': programs.temporalUi.settings,
  });
  await build('prometheus', 'fetch-test-prometheus:2', {});
  await build('searxng', 'fetch-test-searx:1', {});
  await docker('build', '--quiet', '--build-arg', `BASE=${BASE}`, '--tag', IMAGE, ROOT);
  return programs.compose;
}

/** Another image of ours, as a release is: every role of a server that gets it is a new container. */
export async function nextImage(): Promise<string> {
  const context = mkdtempSync(join(tmpdir(), 'fetch-next-image-'));
  try {
    writeFileSync(join(context, 'Dockerfile'), `FROM ${IMAGE}\nLABEL org.opencontainers.image.version=next\n`);
    await docker('build', '--quiet', '--tag', NEXT_IMAGE, context);
  } finally {
    rmSync(context, { recursive: true });
  }
  return NEXT_IMAGE;
}

async function build(name: string, tag: string, programs: Record<string, string>): Promise<void> {
  const context = mkdtempSync(join(tmpdir(), 'fetch-stand-in-'));
  try {
    cpSync(fileURLToPath(new URL(`./stand-ins/${name}`, import.meta.url)), context, { recursive: true });
    for (const [file, program] of Object.entries(programs)) copy(program, join(context, file));
    await docker('build', '--quiet', '--build-arg', `BASE=${BASE}`, '--tag', tag, context);
  } finally {
    rmSync(context, { recursive: true });
  }
}

/** A link where both are on one disk: these programs have 100 MB and more. */
function copy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch {
    cpSync(from, to);
  }
}
