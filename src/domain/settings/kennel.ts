import { z } from 'zod';
import { AGENT_NAMES } from '../../contracts/kennel.ts';
import { agentSettings, loginsProblem } from '../tasks/agents/agent-settings.ts';
import { mirrorsProblem } from '../tasks/registries/mirrors.ts';
import { egressHost, httpUrl, live, meantBy, membersOf, positive, secret, whole } from './shapes.ts';

/** Workspaces, containers and coding tasks. */
export const kennelSettings = {
  FETCH_WORKSPACES: z
    .string()
    .min(1)
    .optional()
    .describe('Folder of the workspaces that coding tasks work in; FETCH_HOME/workspaces by default'),
  FETCH_KENNEL_HOST: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,40}$/, 'must be lower-case letters, digits and hyphens')
    .default('local')
    .describe('Name of this host among the hosts with containers; part of its task queue'),
  FETCH_KENNEL_SLOTS: whole(4, 1_000).describe('Coding tasks that this host runs at once; more wait'),
  FETCH_BROWSER_SLOTS: z.coerce
    .number()
    .int()
    .min(0)
    .max(1_000)
    .default(4)
    .describe('Browsers that this host runs at once; 0 turns the browser tools and pictures in reports off'),
  FETCH_BROWSER_IDLE_MINUTES: positive(15, 20_000).describe('A browser that no tool used for this long ends'),
  FETCH_KENNEL_BASE: z
    .string()
    .trim()
    .min(1)
    .default('node:24-bookworm-slim')
    .describe('Image that the kennel image is built on'),
  FETCH_KENNEL_MEMORY_MB: z.coerce
    .number()
    .int()
    .min(256)
    .max(16_777_216)
    .default(4096)
    .describe('Memory of a container, and of a step of a build'),
  FETCH_KENNEL_CPUS: positive(2, 1_024).describe('Processors of a container, and of a build'),
  FETCH_KENNEL_PIDS: z.coerce.number().int().min(32).max(4_194_304).default(512).describe('Processes of a container'),
  FETCH_KENNEL_BUILD_MINUTES: z.coerce
    .number()
    .positive()
    .max(25)
    .default(20)
    .describe("Longest time for a build of a repository's environment; finished steps are kept"),
  FETCH_KENNEL_DISK_MB: live(whole(4096).describe('Disk space for the run folder of a task; more ends it')),
  FETCH_KENNEL_FREE_MB: live(
    whole(1024).describe('Coding tasks are ended when their host has less free disk space than this'),
  ),
  FETCH_KENNEL_AGENTS: live(
    z
      .string()
      .default(AGENT_NAMES.join(','))
      .describe('Coding agents that may be used, comma separated, the preferred one first'),
  ),
  FETCH_KENNEL_EGRESS: z
    .string()
    .superRefine((text, context) => {
      for (const wrong of membersOf(text).flatMap((member) => egressHost(member) ?? []))
        context.addIssue(`${wrong.problem}${meantBy(wrong)}`);
    })
    .default('')
    .describe(
      'Hosts that containers may reach without a question, comma separated; *.example.com includes every name below it',
    ),
  FETCH_KENNEL_MIRRORS: z
    .string()
    .superRefine((text, context) => {
      const problem = mirrorsProblem(text);
      if (problem) context.addIssue(problem);
    })
    .default('')
    .describe(
      'Registries of yours for package managers in containers: npm=http://10.0.0.5:4873,pip=https://pypi.example.com/simple,go=...,cargo=...,maven=... They may be private and without TLS',
    ),
  FETCH_REGISTRY_CACHE_MB: z.coerce
    .number()
    .int()
    .min(0)
    .max(100_000_000)
    .default(2000)
    .describe('Disk space for packages that tasks have loaded, for later tasks; 0 keeps none'),
  FETCH_KENNEL_LOGINS: z
    .string()
    .superRefine((text, context) => {
      const problem = loginsProblem(text);
      if (problem) context.addIssue(problem);
    })
    .default('')
    .describe(
      "Log-in files of agents on the kennel's host, used instead of a key: claude=/home/ada/.claude/.credentials.json, comma separated. The agent can read them, and no budget limits it: read docs/coding-tasks.md first",
    ),
  FETCH_KENNEL_AWAY_SECONDS: positive(60).describe(
    'People are told when a host takes no work for this long; after ten times as long its tasks may move',
  ),
  FETCH_TASK_MAX_TOKENS: live(whole(20_000_000).describe('Tokens of a coding task')),
  FETCH_TASK_MAX_USD: live(positive(10).describe('Money of a coding task, US dollars')),
  FETCH_TASK_MAX_DAY_TOKENS: live(
    whole(100_000_000).describe('Tokens of all coding tasks of a chat in a day of FETCH_TIME_ZONE'),
  ),
  FETCH_TASK_MAX_DAY_USD: live(
    positive(50).describe('Money of all coding tasks of a chat in a day of FETCH_TIME_ZONE, US dollars'),
  ),
  FETCH_TASK_MAX_LOG_LINES: live(whole(100_000).describe('Most lines in the log of a coding task; more end it')),
  FETCH_TASK_MAX_LOG_MB: live(whole(64).describe('Size of the log of a coding task; more ends it')),
  FETCH_TASK_HOURS: live(
    positive(4, 8_784).describe('Working time of a coding task, without waits for a person or a slot'),
  ),
  FETCH_PLAN_ABOVE_CHARS: live(whole(2_000).describe('A coding task with a longer goal begins with a plan')),
  FETCH_TASK_SILENCE_MINUTES: positive(15, 20_000).describe('A coding agent that is silent for this long is ended'),
  FETCH_TASK_WAIT_DAYS: positive(8, 366).describe(
    'Longest time in all that a coding task waits for usage limits of its model',
  ),
  FETCH_TASK_HOLD_MINUTES: positive(30, 20_000).describe(
    'How long a question of a coding agent keeps its container; later the session resumes with the answer',
  ),
  FETCH_SHIP_PASSES: live(
    whole(5, 1_000).describe('How often a coding agent works on a pull request before the person is asked'),
  ),
  FETCH_SHIP_USD: live(
    positive(20).describe('Money of all work on a pull request before the person is asked, US dollars'),
  ),
  FETCH_SHIP_DAYS: live(positive(60, 366).describe('How long a pull request is watched')),
  FETCH_SHIP_LOOK_SECONDS: live(
    positive(60, 3_600).describe('Time between two looks at a pull request while its checks run; later it is longer'),
  ),
  FETCH_PROGRESS_SECONDS: live(
    z.coerce
      .number()
      .min(0)
      .max(86_400)
      .default(60)
      .describe('Shortest time between two progress messages of a task, where a message cannot be edited'),
  ),
  ANTHROPIC_API_KEY: live(secret().describe('Key for Claude Code; never enters a container')),
  ANTHROPIC_BASE_URL: httpUrl('https://api.anthropic.com')
    .default('https://api.anthropic.com')
    .describe('Endpoint for Claude Code'),
  GEMINI_API_KEY: live(secret().describe('Key for Gemini CLI; never enters a container')),
  GOOGLE_GEMINI_BASE_URL: httpUrl('https://generativelanguage.googleapis.com')
    .default('https://generativelanguage.googleapis.com')
    .describe('Endpoint for Gemini CLI'),
  ...agentSettings,
  GH_TOKEN: live(
    secret().describe('GitHub token: pushes, pull requests, issues, private repositories; never enters a container'),
  ),
  GITHUB_API_URL: live(
    httpUrl('https://api.github.com')
      .default('https://api.github.com')
      .describe('GitHub API; of GitHub Enterprise Server https://HOST/api/v3'),
  ),
  DOCKER_HOST: z.string().trim().min(1).optional().describe('Docker engine; the local socket by default'),
} as const;
