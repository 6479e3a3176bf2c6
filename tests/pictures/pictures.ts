import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Each picture in `docs/images`, and the files and folders that it shows. */
export const PICTURES = {
  'conversation.svg': ['src/domain/chat/words', 'src/domain/tasks/report.ts', 'src/adapters/model/practice'],
  'telegram.svg': ['src/domain/chat/words', 'src/domain/tasks/report.ts', 'src/adapters/model/practice'],
  'kill.svg': ['src/cli/chat'],
  'page-now.png': ['src/page/now', 'src/page/shared', 'src/page/styles'],
  'page-chats.png': ['src/page/chats', 'src/page/styles'],
  'page-tasks.png': ['src/page/tasks', 'src/page/styles'],
  'page-schedules.png': ['src/page/schedules', 'src/page/styles'],
  'page-spend.png': ['src/page/spend', 'src/page/styles'],
  'page-settings.png': ['src/page/settings', 'src/page/styles'],
} as const satisfies Record<string, readonly string[]>;

/** Seconds of the last commit that changed one of these paths; 0 where git knows none. */
function changedAt(paths: readonly string[]): number {
  try {
    const found = execFileSync('git', ['log', '-1', '--format=%ct', '--', ...paths], { cwd: root, encoding: 'utf8' });
    return Number(found.trim());
  } catch {
    return 0;
  }
}

/** Pictures that were made before the last change of what they show. "npm run pictures -- NAME" makes one again. */
export const oldPictures = (): string[] =>
  Object.entries(PICTURES).flatMap(([picture, of]) =>
    changedAt([`docs/images/${picture}`]) < changedAt(of) ? [picture] : [],
  );
