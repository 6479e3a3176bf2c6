import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  AGENT_FOLDER,
  FAILURES_OPT_IN,
  failureByError,
  type Profile,
  program,
  retries,
  sessionFailure,
} from '../../runner/profile/profile.ts';

/** Claude's own switches, as a project has them in `env` of its settings; NanoClaw's users have both on. */
const TEAMS = 'CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS';
const NO_MEMORY = 'CLAUDE_CODE_DISABLE_AUTO_MEMORY';
const SETTINGS = '.claude/settings.json';

function switchesOf(workspace: string): Record<string, unknown> {
  try {
    return JSON.parse(readFileSync(join(workspace, SETTINGS), 'utf8')).env ?? {};
  } catch {
    return {};
  }
}

/** HOME ends with its task, so the memory is a folder of the project: seen in differences, and undone with them. */
const memoryIn = (workspace: string) => ({
  autoMemoryEnabled: true,
  autoMemoryDirectory: join(workspace, '.claude/memory'),
});

/** Claude Code behind its ACP adapter, which drives the native CLI of the image. */
export const profile: Profile = {
  versionFile: `${AGENT_FOLDER}/cli/node_modules/@anthropic-ai/claude-code/package.json`,
  login: '.claude/.credentials.json',
  resume: 'resume',
  clientMeta: FAILURES_OPT_IN,

  command: (context) => ({
    argv: [process.execPath, program(context, 'claude-agent-acp')],
    env: {
      CLAUDE_CODE_EXECUTABLE: program(context, 'claude'),
      CLAUDE_CONFIG_DIR: `${context.home}/.claude`,
      ANTHROPIC_BASE_URL: context.login ? null : `${context.modelBase}/anthropic`,
      ANTHROPIC_API_KEY: context.login ? null : context.dummyKey,
      ANTHROPIC_MODEL: context.model,
      // the side questions of a model of one's own choice go to the same model: a small one that the endpoint does not
      // have would fail them
      ANTHROPIC_SMALL_FAST_MODEL: context.login ? null : context.model,
      DISABLE_AUTOUPDATER: '1',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      // tools of MCP servers are hidden behind a search otherwise, and a model that does not search never finds
      // ask_human
      ENABLE_TOOL_SEARCH: 'false',
      CLAUDE_CODE_MAX_RETRIES: String(retries(context)),
      // ms until an answer begins; the clock of the task is outside
      API_TIMEOUT_MS: '600000',
      // ms that a call of ask_human may take: the runner ends it before that
      MCP_TOOL_TIMEOUT: '86400000',
      NO_BROWSER: '1',
      [TEAMS]: switchesOf(context.workspace)[TEAMS] === '1' ? '1' : null,
      // it refuses to skip approvals as root without this
      IS_SANDBOX: context.root ? '1' : null,
    },
    // while it plans, a check by its provider would decide on commands; where there is none, it refuses them all
    files: [
      {
        path: SETTINGS,
        content: JSON.stringify({
          useAutoModeDuringPlan: false,
          ...(switchesOf(context.workspace)[NO_MEMORY] === '0' && memoryIn(context.workspace)),
        }),
        once: true,
      },
    ],
  }),

  mode: (context) => (context.permissions === 'run' ? 'bypassPermissions' : 'default'),
  planMode: { modeId: 'plan' },
  planFiles: '.claude/plans',
  failure: (turn) => sessionFailure(turn) ?? failureByError(turn),
  afterCancel: 'wait',
};
