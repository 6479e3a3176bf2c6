import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { DURATIONS, expected, ROOT } from './durations.ts';

/**
 * Files that take long begin first. By default a fresh clone begins with those that have most bytes, and a file of
 * minutes that begins last keeps one core busy while the other has nothing to do. The durations are kept, see
 * `durations.ts`.
 */
export default class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const kept = JSON.parse(readFileSync(DURATIONS, 'utf8')) as Record<string, number>;
    const seconds = ({ moduleId }: TestSpecification): number => expected(kept, relative(ROOT, moduleId));
    // a process ends, and what its files share, when the next file is of another project
    const shared = ({ project }: TestSpecification): string => (project.config.isolate ? '' : project.name);
    const group = ({ project }: TestSpecification): number => project.config.sequence.groupOrder;
    return (await super.sort(files)).sort(
      (a, b) => group(a) - group(b) || shared(a).localeCompare(shared(b)) || seconds(b) - seconds(a),
    );
  }
}
