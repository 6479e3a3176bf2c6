import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { WorkspaceOp } from '../../contracts/workspace-ops.ts';
import { prefix } from '../../domain/text/storable.ts';
import { intentOf, noteIntent } from '../../store/kennel/workspaces/call-output.ts';
import { untold } from '../declarations.ts';
import { defineTool, shown, type Tool, type ToolContext, type ToolOutcome } from '../tool.ts';
import { commandOf, editOf } from './direct-edit.ts';
import {
  AUTHOR,
  changeWorkspace,
  confirmArgument,
  inWorkspace,
  operate,
  outcomeOf,
  pathArgument,
  previewOf,
  text,
  WITH_IMAGE_MS,
  workspaceArgument,
} from './in-workspace.ts';
import type { Extent } from './own-content.ts';

/** Reads and changes files of a workspace, in a container that holds nothing else. */

const common = { effect: 'idempotent', runsIn: 'kennel', timeoutMs: WITH_IMAGE_MS } as const;
const MAX_CONTENT = 1_000_000;

/** One operation on the workspace that is meant. */
const run = (
  context: ToolContext,
  workspace: string | undefined,
  op: WorkspaceOp,
  extent: Extent = {},
): Promise<ToolOutcome> =>
  inWorkspace(context, workspace, async (at) => outcomeOf(await operate(at, op, context), at), extent);

export const fileTools: Tool[] = [
  defineTool({
    ...common,
    name: 'file_list',
    family: 'core',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description: 'List a folder.',
    danger: 'SAFE',
    schema: z.strictObject({
      path: pathArgument(false).default('.'),
      depth: z.int().min(1).max(10).default(1),
      limit: z.int().min(1).max(2000).default(300).meta(untold('Most entries')),
      workspace: workspaceArgument,
    }),
    run: ({ workspace, ...args }, context) => run(context, workspace, { op: 'list', ...args }),
  }),
  defineTool({
    ...common,
    name: 'file_read',
    family: 'core',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description: 'Read lines of a text file.',
    danger: 'SAFE',
    schema: z.strictObject({
      path: pathArgument(false),
      from: z.int().min(1).default(1).describe('First line'),
      lines: z.int().min(1).max(5000).default(400),
      workspace: workspaceArgument,
    }),
    run: ({ workspace, ...args }, context) => run(context, workspace, { op: 'read', ...args }, { file: args.path }),
  }),
  defineTool({
    ...common,
    name: 'file_search',
    family: 'core',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description: 'Search text files, except those in .gitignore.',
    danger: 'SAFE',
    schema: z.strictObject({
      pattern: text(1000).min(1),
      regex: z.boolean().default(false),
      path: pathArgument(false).default('.').describe('Folder or file'),
      glob: text(200).min(1).optional().describe('Like *.ts'),
      symbol: z.boolean().default(false).describe('Where a name is defined'),
      limit: z.int().min(1).max(1000).default(100).meta(untold('Most lines')),
      workspace: workspaceArgument,
    }),
    run: ({ workspace, ...args }, context) => run(context, workspace, { op: 'search', ...args }),
  }),
  defineTool({
    ...common,
    name: 'file_write',
    family: 'core',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description: 'Write a whole text file; missing folders are made.',
    danger: 'MODERATE',
    schema: z.strictObject({ path: pathArgument(true), content: text(MAX_CONTENT), workspace: workspaceArgument }),
    summarise: (args) => `${args.content.length} characters`,
    preview: ({ workspace, ...args }, context) =>
      previewOf(context, workspace, { op: 'write', ...args, preview: true }),
    item: 'file_change',
    asks: (args, at, say) => say('ask.write', { path: shown(args.path), at }),
    run: ({ workspace, ...args }, context) =>
      changeWorkspace(
        context,
        workspace,
        async (at) => outcomeOf(await operate(at, { op: 'write', ...args, edit: editOf(context) }, context), at),
        { file: args.path, changes: { writes: args.content } },
      ),
  }),
  defineTool({
    ...common,
    name: 'file_edit',
    family: 'core',
    reads: ['file'],
    readFrom: (args) => args.path,
    sends: [],
    description:
      'Replace a text in a file. It must stand there exactly so, and only once unless all is set: include lines around it.',
    danger: 'MODERATE',
    schema: z.strictObject({
      path: pathArgument(true),
      find: text(MAX_CONTENT).min(1),
      replace: text(MAX_CONTENT),
      all: z.boolean().default(false),
      workspace: workspaceArgument,
    }),
    preview: ({ workspace, ...args }, context) => previewOf(context, workspace, { op: 'edit', ...args, preview: true }),
    item: 'file_change',
    asks: (args, at, say) => say('ask.change', { path: shown(args.path), at }),
    run: ({ workspace, ...args }, context) => edit(context, workspace, { op: 'edit', ...args }),
  }),
  defineTool({
    ...common,
    name: 'file_delete',
    family: 'core',
    reads: [],
    sends: ['delete'],
    description: 'Delete one file.',
    danger: 'DANGEROUS',
    schema: z.strictObject({
      path: pathArgument(true).refine((path) => path !== '.', 'must name a file'),
      workspace: workspaceArgument,
      confirm: confirmArgument,
    }),
    preview: ({ workspace, path }, context) =>
      previewOf(context, workspace, { op: 'delete', path, kind: 'file', preview: true }),
    item: 'file_change',
    asks: (args, at, say) => say('ask.delete', { path: shown(args.path), at }),
    run: ({ workspace, path }, context) => remove(context, workspace, path, 'file'),
  }),
  defineTool({
    ...common,
    name: 'folder_delete',
    family: 'workspaces',
    reads: [],
    sends: ['delete'],
    description: 'Delete a folder with everything in it.',
    danger: 'DANGEROUS',
    schema: z.strictObject({
      path: pathArgument(true).refine((path) => path !== '.', 'the workspace itself is deleted with workspace_delete'),
      workspace: workspaceArgument,
      confirm: confirmArgument,
    }),
    preview: ({ workspace, path }, context) =>
      previewOf(context, workspace, { op: 'delete', path, kind: 'folder', preview: true }),
    item: 'file_change',
    asks: (args, at, say) => say('ask.deleteFolder', { path: shown(args.path), at }),
    run: ({ workspace, path }, context) => remove(context, workspace, path, 'folder'),
  }),
];

/**
 * An edit done twice is not the same edit: `x` by `xx`. So what it would change is recorded first. If an attempt would
 * change something else, or nothing, the attempt before it has made the edit.
 */
const edit = (
  context: ToolContext,
  workspace: string | undefined,
  op: Extract<WorkspaceOp, { op: 'edit' }>,
): Promise<ToolOutcome> =>
  changeWorkspace(
    context,
    workspace,
    async (at) => {
      const planned = await operate(at, { ...op, preview: true }, context);
      const change = createHash('sha256').update(`${planned.ok}\n${planned.output}`).digest('hex');
      const before = await intentOf(context.db, context.callId);
      if (before?.change !== undefined && before.change !== change)
        return outcomeOf(
          { ok: true, output: `Edited ${op.path}.\n${String(before.shown ?? '')}`.trim(), data: { path: op.path } },
          at,
        );
      if (!planned.ok) return outcomeOf(planned, at);
      await noteIntent(context.db, context.callId, { change, shown: prefix(planned.output, 20_000) });
      return outcomeOf(await operate(at, { ...op, edit: editOf(context) }, context), at);
    },
    { file: op.path, changes: 'edits' },
  );

/** Deletes. If nothing is there and an earlier attempt recorded that it would delete, that attempt has done it. */
const remove = (
  context: ToolContext,
  workspace: string | undefined,
  path: string,
  kind: 'file' | 'folder',
): Promise<ToolOutcome> =>
  changeWorkspace(
    context,
    workspace,
    async (at) => {
      const before = await intentOf(context.db, context.callId);
      const planned = before ? null : await operate(at, { op: 'delete', path, kind, preview: true }, context);
      if (planned && !planned.ok) return outcomeOf(planned, at);
      await noteIntent(context.db, context.callId, { deletes: path });
      const edit = kind === 'folder' ? commandOf(context) : editOf(context);
      const answer = await operate(at, { op: 'delete', path, kind, edit }, context);
      // the attempt before may have been killed between the deletion and the state after it
      if (!answer.ok && before && kind === 'folder')
        await operate(at, { op: 'settle', key: edit.key, author: AUTHOR }, context);
      if (!answer.ok && !(before && /is not there/.test(answer.output))) return outcomeOf(answer, at);
      return outcomeOf(
        {
          ok: true,
          output: [`Deleted ${kind} ${path}`, answer.data?.unkept].filter(Boolean).join('. '),
          data: { ...answer.data, path },
        },
        at,
      );
    },
    { changes: 'all' },
  );
