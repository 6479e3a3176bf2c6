import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Reporter, TestModule } from 'vitest/node';

/**
 * The seconds of each long test file are kept in `durations.json`, for the order in which files begin. `npm test -- --keep-durations` writes them again. Only
 * their order matters: they need not be of this machine.
 */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url));
export const DURATIONS = fileURLToPath(new URL('durations.json', import.meta.url));
/** A file that is not kept: a short one, or one that nobody has measured yet. */
export const UNKNOWN = 8;

export default class KeepDurations implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const kept = JSON.parse(readFileSync(DURATIONS, 'utf8')) as Record<string, number>;
    for (const module of modules) {
      const { collectDuration, duration } = module.diagnostic();
      kept[relative(ROOT, module.moduleId)] = Math.round((collectDuration + duration) / 1000);
    }
    const long = Object.entries(kept).filter(([file, seconds]) => seconds > UNKNOWN && existsSync(join(ROOT, file)));
    writeFileSync(DURATIONS, `${JSON.stringify(Object.fromEntries(long.sort(([a], [b]) => a.localeCompare(b))), null, 2)}\n`);
  }
}
