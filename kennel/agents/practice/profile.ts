import { fileURLToPath } from 'node:url';
import { failureByError, type Profile, program } from '../../runner/profile/profile.ts';

/** The agent without a model (`agent.ts`): the same path as the real ones, for tests and for a first look. */
export const profile: Profile = {
  version: '1',
  login: '.practice/login.json',
  resume: 'load',
  command: (context) => ({
    argv: [
      process.execPath,
      context.env.FETCH_AGENT ? program(context, 'practice') : fileURLToPath(new URL('agent.ts', import.meta.url)),
    ],
    // nothing of it calls a model; commands of a goal can, which shows that the way out works
    env: {
      PRACTICE_MODEL_URL: context.login ? null : context.modelBase,
      PRACTICE_KEY: context.login ? null : context.dummyKey,
    },
    files: [],
  }),
  mode: (context) => (context.permissions === 'run' ? 'run' : null),
  planMode: { modeId: 'plan' },
  failure: failureByError,
  afterCancel: 'wait',
};
