import type { Story } from './story.ts';
import { night } from './told/night.ts';
import { pullRequest } from './told/pull-request.ts';
import { push } from './told/push.ts';
import { undo } from './told/undo.ts';

/**
 * A new story is one file in `told` and its line here: it is told plain in `npm run test-system`, and with kills by
 * `npm run chaos -- --stories`.
 */
export const STORIES: readonly Story[] = [pullRequest, push, undo, night];
