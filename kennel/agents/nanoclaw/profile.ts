import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { failureByError, type Profile, program } from '../../runner/profile/profile.ts';

/** The agent of NanoClaw's image, which speaks NanoClaw's own protocol, behind an ACP adapter (`agent.ts`). */
export const profile: Profile = {
  version: 'of its image',
  login: '.claude/.credentials.json',
  resume: 'load',
  command: (context) => ({
    argv: [
      process.execPath,
      context.env.FETCH_AGENT ? program(context, 'nanoclaw') : fileURLToPath(new URL('agent.ts', import.meta.url)),
    ],
    env: {
      ANTHROPIC_BASE_URL: context.login ? null : `${context.modelBase}/anthropic`,
      ANTHROPIC_API_KEY: context.login ? null : context.dummyKey,
      ANTHROPIC_MODEL: context.model,
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      FETCH_CHAT: JSON.stringify(context.chat),
    },
    // as NanoClaw writes it for each group
    files: [
      {
        path: '.claude/settings.json',
        content: JSON.stringify({
          env: {
            CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS: '1',
            CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD: '1',
            CLAUDE_CODE_DISABLE_AUTO_MEMORY: '0',
          },
          // HOME ends with its task
          autoMemoryDirectory: join(context.workspace, '.claude/memory'),
        }),
        once: true,
      },
    ],
  }),
  mode: (context) => (context.permissions === 'run' ? 'run' : null),
  failure: failureByError,
  afterCancel: 'wait',
};
