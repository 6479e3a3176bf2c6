import { fileURLToPath } from 'node:url';
import { failureByError, type Profile } from './profile.ts';
import { program } from './surroundings.ts';

/** The agent without a model (`kennel/runner/practice`): the same path as the real ones, for tests and for a first look. */
export const practice: Profile = {
  name: 'practice',
  login: '.practice/login.json',
  resume: 'load',
  command: (context) => ({
    argv: [process.execPath, context.env.FETCH_AGENT ? program(context, 'practice') : fileURLToPath(new URL('../practice/agent.ts', import.meta.url))],
    // nothing of it calls a model; commands of a goal can, which shows that the way out works
    env: { PRACTICE_MODEL_URL: context.login ? null : context.modelBase, PRACTICE_KEY: context.login ? null : context.dummyKey },
    files: [],
  }),
  mode: (context) => (context.permissions === 'run' ? 'run' : null),
  failure: failureByError,
  afterCancel: 'wait',
};
