import { english, type Say } from '../texts/say.ts';

/** Words about scripts that an agent proposes for the image of a workspace. */

/** Most scripts that one task may ask about. */
export const MOST_SCRIPTS = 5;

/** The outcome of a proposed script. `failed`: what its build said last. */
export type SetupOutcome = 'installed' | 'denied' | 'unanswered' | { failed: string };

/** An agent cannot know it otherwise. */
export const ABOUT_SETUP =
  '(About this container: you are not root in it and its system is read-only. If the work needs a system package, a compiler or a language that is missing, write a bash script that installs it on Debian as root and run `fetch-setup FILE`: the person is asked once, and the session goes on in an image that has it. A new script takes the place of the one before, which is /opt/environment/setup.sh.)';

/** The answer to the agent about its script. */
export function setupAnswer(outcome: SetupOutcome): string {
  if (outcome === 'installed')
    return 'The person agreed to your setup script, and the image of this container was built with it. Go on.';
  if (outcome === 'denied') return 'The person said no to your setup script. Go on without it, or say what that means.';
  if (outcome === 'unanswered')
    return 'Nobody answered the question about your setup script in time. Go on without it where that is safe, or say what is missing.';
  return `The person agreed to your setup script, but its build failed, and the image is as before:\n${outcome.failed}\nPropose another script with fetch-setup, or go on without it.`;
}

/** The question to the person. */
export const setupQuestion = (
  task: { harness: string; workspace: string },
  warnings: readonly string[],
  say: Say = english,
): string => [say('setup.may', { agent: task.harness, workspace: task.workspace }), ...warnings].join('\n');
