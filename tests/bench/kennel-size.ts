import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { IMAGE_KINDS } from '../../src/adapters/kennel/images/image-files.ts';
import { openKennel } from '../../src/adapters/kennel/open-kennel.ts';
import { loadConfig } from '../../src/config.ts';
import { requireDocker } from '../support/docker.ts';
import { inState, kennelReady, linesOf, startTask, workspace } from '../support/kennel-app.ts';
import type { Bench, Part } from './bench.ts';
import { type Row, round } from './figures.ts';

/** Images that are there, layers that they share counted once, and what a run leaves on the disk. */
export const kennelSize: Part = {
  name: 'kennel-size',
  title: 'Sizes of images and of run folders',
  async run(bench) {
    await requireDocker();
    await kennelReady(bench.app);
    await workspace(bench.app, 'size');
    return [
      ...(await images()),
      await folderOf(bench, 'a task of one file', 'write one.txt one'),
      await folderOf(
        bench,
        'a task of 100 commands',
        Array.from({ length: 100 }, (_, at) => `run echo ${at}`).join(';'),
      ),
    ];
  },
};

async function images(): Promise<Row[]> {
  const kennel = openKennel(loadConfig());
  const { docker } = kennel.engine;
  const seen = new Set<string>();
  const rows: Row[] = [];
  let all = 0;
  for (const kind of IMAGE_KINDS) {
    const image = await kennel.images.state(kind);
    if (!image) {
      rows.push({ what: `image ${kind}`, MB: 'not built' });
      continue;
    }
    let added = 0;
    for (const { key, bytes } of await layersOf(docker, image.name)) {
      if (seen.has(key)) continue;
      seen.add(key);
      added += bytes;
    }
    all += added;
    rows.push({
      what: `image ${kind}`,
      MB: round(image.bytes / 1e6, 0),
      'MB beside the images above': round(added / 1e6, 0),
    });
  }
  return [...rows, { what: 'all images together', MB: round(all / 1e6, 0) }];
}

/** Layers of an image from the lowest on. A layer is the same one only where all below it are the same too. */
async function layersOf(
  docker: ReturnType<typeof openKennel>['engine']['docker'],
  name: string,
): Promise<Array<{ key: string; bytes: number }>> {
  const image = docker.getImage(name);
  const { RootFS } = await image.inspect();
  const digests = RootFS.Layers ?? [];
  const sizes = ((await image.history()) as Array<{ Size: number }>)
    .map(({ Size }) => Size)
    .filter((bytes) => bytes > 0)
    .reverse();
  if (sizes.length !== digests.length)
    throw new Error(`${name} has ${digests.length} layers, and its history tells the size of ${sizes.length}`);
  return digests.map((_, at) => ({ key: digests.slice(0, at + 1).join(), bytes: sizes[at]! }));
}

async function folderOf({ app }: Bench, what: string, goal: string): Promise<Row> {
  const { id } = await startTask(app, goal, { workspace: 'size' });
  await inState(app, id, 'completed', 120_000);
  const folder = join(app.home, 'kennel', 'runs', id);
  let bytes = 0;
  let blocks = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const { size, blocks: taken } = statSync(join(entry.parentPath, entry.name));
    if (entry.isFile()) bytes += size;
    blocks += taken;
  }
  return {
    what: `run folder: ${what}`,
    'lines of the log': (await linesOf(app, id)).length,
    'KB of files': round(bytes / 1024, 1),
    'KB on the disk': round(blocks / 2, 0),
  };
}
