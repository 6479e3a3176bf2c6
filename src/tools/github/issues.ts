import { z } from 'zod';
import { createIssue, type Issue, listIssues } from '../../adapters/github/issues.ts';
import { fullName } from '../../adapters/github/remote.ts';
import { defineTool, named, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { inWorkspace, type Opened, text, WITH_IMAGE_MS, workspaceArgument } from '../workspace/in-workspace.ts';
import { once, writeAccess } from './access.ts';
import { day, name, title } from './foreign-words.ts';
import { changedSince, type Git, gitOf, isOutcome, reading, remoteOf, writableOf } from './workspace-repository.ts';

const label = text(50).trim().min(1);
/** What is listed: the ones that changed last. */
const MOST = 30;

interface Wanted {
  title: string;
  body: string;
  labels: string[];
}

export const issueTools: Tool[] = [
  defineTool({
    name: 'github_issue_create',
    family: 'github',
    effect: 'once',
    runsIn: 'kennel',
    timeoutMs: WITH_IMAGE_MS,
    danger: 'MODERATE',
    reads: [],
    sends: ['publish'],
    description: 'Make an issue in the workspace’s repository.',
    schema: z.strictObject({
      title: text(256).trim().min(1),
      body: text(4000).default(''),
      labels: z.array(label).max(10).default([]),
      workspace: workspaceArgument,
    }),
    asks: (args, at, say) => say('ask.issue', { title: named(args.title), at }),
    preview: async ({ workspace, ...wanted }, context) =>
      (
        await inWorkspace(context, workspace, async (at) => {
          const git = await gitOf(context, at);
          return isOutcome(git) ? git : { ok: true, output: plan(context, at, git, wanted) };
        })
      ).output,
    run: ({ workspace, ...wanted }, context) =>
      once(context, 'github_issue_list', () => inWorkspace(context, workspace, (at) => create(context, at, wanted))),
  }),
  defineTool({
    name: 'github_issue_list',
    family: 'github',
    effect: 'idempotent',
    runsIn: 'kennel',
    timeoutMs: WITH_IMAGE_MS,
    danger: 'SAFE',
    reads: ['page'],
    readFrom: () => 'issues of the workspace',
    sends: [],
    description: `List issues of the workspace’s repository, the last changed first, at most ${MOST}.`,
    schema: z.strictObject({
      state: z.enum(['open', 'closed', 'all']).default('open'),
      assignee: text(39)
        .regex(/^(?:\*|[A-Za-z0-9_-]+)$/, 'must be a user name, none, or * for anybody')
        .optional(),
      labels: z
        .array(label.refine((each) => !each.includes(','), 'must not contain a comma'))
        .max(10)
        .optional(),
      workspace: workspaceArgument,
    }),
    run: ({ workspace, ...filter }, context) =>
      reading(context, { workspace }, async (access, { repository }) => {
        const found = await listIssues(access, repository, { ...filter, limit: MOST });
        const lines = found.map(line);
        const more = found.length === MOST ? '\nThere may be more: narrow it by labels or assignee.' : '';
        const none = `${fullName(repository)} has no such issues.`;
        return {
          ok: true,
          output: found.length === 0 ? none : `Issues of ${fullName(repository)}:\n${lines.join('\n')}${more}`,
          metadata: { repository: fullName(repository), issues: found },
        };
      }),
  }),
];

/** All that the person says yes to. */
function plan(context: ToolContext, at: Opened, git: Git, { title: words, body, labels }: Wanted): string {
  const repository = remoteOf(context, at, git);
  return [
    `Repository: ${isOutcome(repository) ? repository.output : fullName(repository)}`,
    ...(labels.length > 0 ? [`Labels: ${labels.join(', ')}`] : []),
    `Title: ${words}`,
    '',
    body || '(no description)',
  ].join('\n');
}

async function create(context: ToolContext, at: Opened, wanted: Wanted): Promise<ToolOutcome> {
  const git = await gitOf(context, at);
  if (isOutcome(git)) return git;
  const changed = await changedSince(context, plan(context, at, git, wanted));
  if (changed) return changed;
  const repository = await writableOf(context, at, git);
  if (isOutcome(repository)) return repository;
  const made = await createIssue(writeAccess(context), repository, wanted);
  return {
    ok: true,
    output: `Made ${line(made)}`,
    metadata: { url: made.url, number: made.number, repository: fullName(repository) },
  };
}

function line({ number, title: words, state, author, labels, assignees, comments, updatedAt, url }: Issue): string {
  const more = [
    ...(labels.length > 0 ? [`labels ${labels.slice(0, 10).map(name).join(', ')}`] : []),
    ...(assignees.length > 0 ? [`for ${assignees.map(name).join(', ')}`] : []),
    ...(comments > 0 ? [`${comments} comments`] : []),
  ];
  return [`#${number} ${title(words)} (${state}) by ${name(author)}`, ...more, `changed ${day(updatedAt)}`, url].join(
    ', ',
  );
}
